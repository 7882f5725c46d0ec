"""A scene graph as a drawing: objects, the attributes that hang on them, labelled arrows for relations."""

from collections import defaultdict
from math import cos, hypot, pi, sin
from typing import TYPE_CHECKING

import plotly.graph_objects as go

from .labels import label
from .pictures import Canvas
from .theme import BLUE, GREEN, INK, MUTED, PAPER, WIDTH

if TYPE_CHECKING:
    from ..text.graph import SceneGraph

Point = tuple[float, float]


def scene_graph(graph: "SceneGraph", *, title: str, subtitle: str = "", height: int = 380) -> go.Figure:
    """Objects on an ellipse, their attributes outside it, each relation an arrow from subject to object."""
    canvas, centre = Canvas(), (WIDTH / 2, height / 2)
    count = len(graph.objects)
    angles = [pi - 2 * pi * index / max(count, 1) for index in range(count)]
    inner, outer = (WIDTH * 0.27, height * 0.29), (WIDTH * 0.42, height * 0.44)
    places = [_around(centre, inner, angle) for angle in angles] if count != 1 else [centre]
    for (subject, target), words in _arrows(graph).items():
        start, end = places[subject], places[target]
        canvas.arrow(start, end, MUTED, clear=_clearance(graph.objects[target].lemma, start, end))
        # Nearer the subject than the object, so that the words of crossing and of opposite arrows do not meet.
        x, y = (start[axis] * 0.64 + end[axis] * 0.36 for axis in (0, 1))
        background = {"bgcolor": PAPER, "borderpad": 3}
        canvas.words(f"<i>{label(words)}</i>", x, y, colour=INK, across="center", down="middle", **background)
    for thing, place, angle in zip(graph.objects, places, angles, strict=True):
        for index, attribute in enumerate(thing.attributes):
            outside = _around(centre, outer, angle + (index - (len(thing.attributes) - 1) / 2) * 0.42)
            canvas.line(place, outside, "#BAC2CC")
            _pill(canvas, attribute.lemma, outside, GREEN, 14)
        number = f"{thing.count} × " if thing.count and thing.count > 1 else ""
        _pill(canvas, number + thing.lemma, place, BLUE, 16)
    return canvas.figure(title, subtitle, height=height)


def _around(centre: Point, radii: Point, angle: float) -> Point:
    return centre[0] + radii[0] * cos(angle), centre[1] - radii[1] * sin(angle)


def _clearance(text: str, start: Point, end: Point) -> float:
    """How far before the middle of an object's box, which is as wide as its name, an arrow from `start` has to stop."""
    across, down = abs(end[0] - start[0]), abs(end[1] - start[1])
    length = hypot(across, down) or 1.0
    half_width, half_height = 4.8 * len(text) + 12, 19
    return min(half_width * length / max(across, 1e-6), half_height * length / max(down, 1e-6)) + 4


def _arrows(graph: "SceneGraph") -> dict[tuple[int, int], str]:
    """One arrow for each ordered pair of objects, with all that is said of the pair."""
    words: dict[tuple[int, int], list[str]] = defaultdict(list)
    for relation in graph.relations:
        words[relation.subject, relation.object].append(relation.lemma)
    return {pair: ", ".join(lemmas) for pair, lemmas in words.items()}


def _pill(canvas: Canvas, text: str, place: Point, background: str, size: int) -> None:
    style = {"bgcolor": background, "borderpad": 7 if size > 14 else 4}
    canvas.words(f"<b>{label(text)}</b>", *place, size=size, colour=PAPER, across="center", down="middle", **style)
