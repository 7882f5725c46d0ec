"""What captions say and pictures hold, drawn: scene graphs, phrases of a sentence, what maskings hide, scenes."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from itertools import chain
from typing import NamedTuple

import plotly.graph_objects as go
from jaxtyping import Bool, Float
from numpy import ndarray
from PIL import Image

from itmlab.text.graph import SceneGraph, SceneObject
from itmlab.text.masking import Phrase, phrases

from . import theme
from .canvas import Canvas, Cell, data_uri, draw_table, enlarged, outlined, tinted
from .theme import colour, label, text_width, translucent

# A scene graph: who does something stands left, to whom right. Attributes stand in the box of their object.

FARTHEST = 340  # pixels from column to column
MOST_NODES = 24  # objects
LOOSE = 6  # objects without relations per column
ROW = 44  # pixels between two boxes in a column


class Box(NamedTuple):
    """A box by its edges, in pixels."""

    left: float
    top: float
    right: float
    bottom: float

    def middle(self) -> tuple[float, float]:
        """Return the middle of the box."""
        return (self.left + self.right) / 2, (self.top + self.bottom) / 2

    def edge_towards(self, x: float, y: float, room: float) -> tuple[float, float]:
        """Return where the line from the middle of the box to (x, y) leaves it, `room` pixels outside."""
        middle = self.middle()
        across, down = x - middle[0], y - middle[1]
        width, height = (self.right - self.left) / 2 + room, (self.bottom - self.top) / 2 + room
        share = min(width / max(abs(across), 1e-6), height / max(abs(down), 1e-6), 1.0)
        return middle[0] + share * across, middle[1] + share * down


def draw_scene_graph(graph: SceneGraph, *, title: str = "What the caption says", subtitle: str = "") -> go.Figure:
    """Draw objects as boxes with their attributes, and relations as arrows with words from subject to object.

    Of more than twenty-four objects, only the first ones are drawn, and the subtitle says so.
    """
    if len(graph.objects) > MOST_NODES:
        subtitle = f"{subtitle} (the first {MOST_NODES} of {len(graph.objects):,} objects)".strip()
        links = tuple(link for link in graph.relations if max(link.subject, link.object) < MOST_NODES)
        graph = replace(graph, objects=graph.objects[:MOST_NODES], relations=links)
    canvas, columns = Canvas(), _columns(graph)
    texts = [_node_text(entity) for entity in graph.objects]
    tall = [14 + 20 * len(lines) for lines in texts]
    heights = [sum(tall[number] + ROW for number in column) for column in columns]
    tallest, across = max(heights, default=0), min((theme.WIDTH - 260) / max(len(columns) - 1, 1), FARTHEST)
    boxes: dict[int, Box] = {}
    for index, column in enumerate(columns):
        x = theme.WIDTH / 2 + (index - (len(columns) - 1) / 2) * across
        room = (tallest - heights[index]) / (len(column) + 1)
        top = room + ROW / 2
        for number in column:
            width = 20 + max(text_width(line, 15) for line in texts[number])
            boxes[number] = Box(x - width / 2, top, x + width / 2, top + tall[number])
            _draw_node(canvas, boxes[number], texts[number])
            top = boxes[number].bottom + ROW + room
    words: dict[tuple[int, int], dict[str, None]] = defaultdict(dict)  # an arrow for each ordered pair
    for link in graph.relations:
        words[link.subject, link.object][link.lemma] = None
    for (subject, target), lemmas in words.items():
        text = f"<i>{label('↻ ' * (subject == target) + ', '.join(lemmas), width=26, lines=3)}</i>"
        if subject == target:
            canvas.words(text, boxes[subject].right + 8, boxes[subject].top)
        else:
            start = boxes[subject].edge_towards(*boxes[target].middle(), room=2)
            end = boxes[target].edge_towards(*boxes[subject].middle(), room=4)
            canvas.arrow(start, end, theme.MUTED)
            # The words are nearer to the subject: an opposite arrow has room for its own.
            x, y = 0.6 * start[0] + 0.4 * end[0], 0.6 * start[1] + 0.4 * end[1]
            canvas.words(text, x, y, across="center", yanchor="middle", bgcolor=theme.PAPER, borderpad=3)
    return canvas.figure(title, subtitle, height=max(tallest, 90) + 10)


def _columns(graph: SceneGraph) -> list[list[int]]:
    """Return the objects by column: subjects left of their objects, objects without relations in the last columns."""
    links = [(link.subject, link.object) for link in graph.relations]
    related = dict.fromkeys(chain(*links))
    targets = {target for subject, target in links if target != subject}
    wave = [number for number in related if number not in targets] or list(related)[:1]
    columns: list[list[int]] = []
    placed: set[int] = set()
    while wave:
        columns.append(wave)
        placed.update(wave)
        wave = list(dict.fromkeys(target for subject, target in links if subject in wave and target not in placed))
    loose = [number for number in range(len(graph.objects)) if number not in placed]
    return columns + [loose[start : start + LOOSE] for start in range(0, len(loose), LOOSE)]


def _node_text(entity: SceneObject) -> list[str]:
    """Return the lines of an object's box: its name, then its attributes, two per line."""
    name = entity.lemma if entity.count in (None, 1) else f"{entity.count} × {entity.lemma}"
    attributes = [attribute.lemma for attribute in entity.attributes]
    lines = [name, *(", ".join(attributes[start : start + 2]) for start in range(0, len(attributes), 2))]
    return [line if len(line) <= 24 else f"{line[:23]}…" for line in lines]


def _draw_node(canvas: Canvas, box: Box, lines: Sequence[str]) -> None:
    width, height = box.right - box.left, box.bottom - box.top
    canvas.rectangle(box.left, box.top, width, height, fillcolor=KIND_COLOURS["object"], layer="below")
    middle, _ = box.middle()
    for number, line in enumerate(lines):
        text, size = (label(line), 13) if number else (f"<b>{label(line)}</b>", 15)
        canvas.words(text, middle, box.top + 7 + 20 * number, size=size, colour=theme.ON_COLOUR, across="center")


# Sentences with their phrases in colour, or with what a masking hides blotted out.

KIND_COLOURS = {"object": theme.BLUE, "attribute": theme.GREEN, "relation": theme.VERMILION, "word": theme.MUTED}
BLOT = "█"
CLOSE_BEFORE = (".", ",", ";", ":", "!", "?", ")", "'", "’", "n't", "n’t", "%")
MOST_LETTERS = 600  # a longer sentence is cut


def draw_caption_spans(
    graphs: Sequence[SceneGraph],
    *,
    title: str = "",
    subtitle: str = "",
    hidden: Sequence[Sequence[Phrase] | None] | None = None,
    names: Sequence[str] | None = None,
) -> go.Figure:
    """Draw sentences as rows of a table, with a legend of colours below.

    Args:
        graphs: the sentences' scene graphs. Their phrases are in the colours of their kinds.
        title: the figure's title.
        subtitle: what is shown.
        hidden: phrases of each sentence that are blotted out instead; None shows the phrases.
        names: a short text before each sentence.
    """
    rows: list[Cell] = []
    kinds: set[str] = set()
    for graph, gone in zip(graphs, hidden or [None] * len(graphs), strict=True):
        shades = [""] * len(graph.tokens)
        for phrase in phrases(graph) if gone is None else gone:
            kinds.add(phrase.kind)
            for at in range(phrase.span.start, min(phrase.span.end, len(shades))):
                shades[at] = KIND_COLOURS[phrase.kind]
        sentence, letters = [], 0
        for token, shade in zip(graph.tokens, shades, strict=True):
            text = BLOT * min(len(token), 30) if shade and gone is not None else token
            letters += len(text) + 1
            if letters > MOST_LETTERS:
                sentence.append((" …", ""))
                break
            space = "" if not sentence or token.startswith(CLOSE_BEFORE) else " "
            sentence.append((space + text, shade))
        rows.append(sentence)
    rows.append([(f"{kind}   ", shade) for kind, shade in KIND_COLOURS.items() if kind in kinds])
    columns: dict[str, Sequence[Cell]] = {"": [*names, "colours"]} if names else {}
    columns["sentence"] = rows
    return draw_table(columns, title=title, subtitle=subtitle, widths=[1.4, 4.0] if names else [1.0])


# One drawn scene beside what the world knows of it: each object's box, visible pixels and name.

LARGE = 0.25  # share of the picture from which on a thing is its ground or setting: tinted, it would hide the rest


def draw_scene(
    picture: Image.Image,
    names: Sequence[str],
    boxes: Float[ndarray, "thing 4"],
    masks: Bool[ndarray, "thing height width"],
    captions: Sequence[str],
) -> go.Figure:
    """Draw a picture, and again with every object's visible pixels tinted and its box named.

    Ground, sky and setting have a name and a box but no tint.

    Args:
        picture: the scene.
        names: of its objects.
        boxes: x0, y0, x1, y1 in pixels.
        masks: the visible pixels of each object.
        captions: written below.
    """
    canvas, large, side, gap = Canvas(), enlarged(picture, 512), 16, 24
    cell = (theme.WIDTH - 2 * side - gap) / 2
    scale = cell / max(picture.size)
    canvas.picture(data_uri(large, largest=512, photographic=True), side, 0, cell, cell)
    for index, mask in enumerate(masks):
        if mask.mean() < LARGE:
            large = outlined(tinted(large, mask, colour(index), 0.3), mask, colour(index), rim=False)
    left, top = side + cell + gap, 0.0
    canvas.picture(data_uri(large, largest=512, photographic=True), left, top, cell, cell)
    for index, (name, box) in enumerate(zip(names, boxes, strict=True)):
        x0, y0, x1, y1 = (float(value) * scale for value in box)
        dotted = {"color": colour(index), "width": 2, "dash": "dot"}
        canvas.rectangle(left + x0, top + y0, x1 - x0, y1 - y0, line=dotted)
        background = {"bgcolor": translucent(colour(index), 0.92), "borderpad": 2}
        x, y = min(left + x0, theme.WIDTH - side - text_width(name, 12) - 8), max(top + y0, 22)
        canvas.words(f"<b>{label(name)}</b>", x, y, size=12, colour=theme.ON_COLOUR, yanchor="bottom", **background)
    below = cell + 16
    for text in (label(caption, width=125, lines=2) for caption in captions):
        canvas.words(text, side, below)
        below += 20 * (text.count("<br>") + 1) + 4
    return canvas.figure("One scene, and what the world knows of it", height=below + 4)
