"""A scene graph as a drawing: objects, the attributes that hang on them, labelled arrows for relations."""

from collections import defaultdict
from math import cos, pi, sin
from typing import TYPE_CHECKING

import plotly.graph_objects as go

from .labels import label
from .pictures import canvas
from .theme import BLUE, GREEN, INK, MUTED, PAPER, WIDTH

if TYPE_CHECKING:
    from ..text.graph import SceneGraph

Point = tuple[float, float]


def scene_graph(graph: "SceneGraph", *, title: str, subtitle: str = "", height: int = 380) -> go.Figure:
    """Objects on an ellipse, their attributes outside it, each relation an arrow from subject to object."""
    figure = canvas(title, subtitle, height=height)
    centre, radii = (WIDTH / 2, height / 2), (WIDTH * 0.27, height * 0.29)
    count = len(graph.objects)
    angles = [pi - 2 * pi * index / max(count, 1) for index in range(count)]
    places = [_around(centre, radii, angle) for angle in angles] if count > 1 else [centre]
    for (subject, target), words in _arrows(graph).items():
        _arrow(figure, places[subject], places[target], words)
    for thing, place, angle in zip(graph.objects, places, angles, strict=True):
        for index, attribute in enumerate(thing.attributes):
            turn = angle + (index - (len(thing.attributes) - 1) / 2) * 0.42
            outside = _around(centre, (WIDTH * 0.42, height * 0.44), turn)
            figure.add_shape(type="line", x0=place[0], y0=place[1], x1=outside[0], y1=outside[1], line_color="#C5CCD4")
            _pill(figure, attribute.lemma, outside, GREEN, 14)
        number = f"{thing.count} × " if thing.count and thing.count > 1 else ""
        _pill(figure, number + thing.lemma, place, BLUE, 16)
    return figure


def _around(centre: Point, radii: Point, angle: float) -> Point:
    return centre[0] + radii[0] * cos(angle), centre[1] - radii[1] * sin(angle)


def _arrows(graph: "SceneGraph") -> dict[tuple[int, int], str]:
    """One arrow for each ordered pair of objects, with all that is said of the pair."""
    words: dict[tuple[int, int], list[str]] = defaultdict(list)
    for relation in graph.relations:
        words[relation.subject, relation.object].append(relation.lemma)
    return {pair: ", ".join(lemmas) for pair, lemmas in words.items()}


def _arrow(figure: go.Figure, start: Point, end: Point, words: str) -> None:
    figure.add_annotation(
        x=end[0],
        y=end[1],
        ax=start[0],
        ay=start[1],
        xref="x",
        yref="y",
        axref="x",
        ayref="y",
        text="",
        showarrow=True,
        arrowhead=2,
        arrowsize=1.1,
        arrowwidth=2,
        arrowcolor=MUTED,
        standoff=34,
        startstandoff=20,
    )
    # Nearer the subject than the object, so that the words of two opposite arrows do not meet.
    middle = (start[0] * 0.54 + end[0] * 0.46, start[1] * 0.54 + end[1] * 0.46)
    figure.add_annotation(
        x=middle[0],
        y=middle[1],
        text=f"<i>{label(words)}</i>",
        showarrow=False,
        font={"size": 14, "color": INK},
        bgcolor=PAPER,
        borderpad=3,
    )


def _pill(figure: go.Figure, text: str, place: Point, background: str, size: int) -> None:
    figure.add_annotation(
        x=place[0],
        y=place[1],
        text=f"<b>{label(text)}</b>",
        showarrow=False,
        font={"size": size, "color": PAPER},
        bgcolor=background,
        borderpad=7 if size > 14 else 4,
    )
