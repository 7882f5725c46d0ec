"""What captions say and pictures hold, drawn: scene graphs, phrases of a sentence, what maskings hide, boxes."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from math import hypot
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Bool, Float
from numpy import ndarray
from PIL import Image

from . import theme
from .canvas import Box, Canvas, chip, chip_size, data_uri, enlarged, fill, outlined, tinted
from .theme import colour, label, shortened, text_width, translucent

if TYPE_CHECKING:
    from itmlab.text.graph import SceneGraph, SceneObject
    from itmlab.text.masking import Phrase


KIND_COLOURS = {"object": theme.BLUE, "attribute": theme.GREEN, "relation": theme.ORANGE, "word": "#44546A"}


# A scene graph: who does something stands left, to whom right, attributes hang below their object.

NAME, SAID, LINK = 17, 13, 14  # sizes of letters: objects, attributes, relations
TOP, FARTHEST = 34, 340  # pixels: the legend's, and from column to column
MOST_NODES = 24  # objects
LOOSE = 6  # objects without relations per column
ROW = 40  # pixels between two things in a column, beside what they take themselves
LINK_PAPER = "#FBEFD5"  # the relation's orange, pale enough to read on


def draw_scene_graph(graph: "SceneGraph", *, title: str, subtitle: str = "") -> go.Figure:
    """Objects as nodes, their attributes below them, each relation an arrow with its words from subject to object.

    Of more than twenty-four objects, only the first ones are drawn, and the subtitle says so.
    """
    if len(graph.objects) > MOST_NODES:
        subtitle = f"{subtitle} (the first {MOST_NODES} of {len(graph.objects):,} objects)".strip()
        links = tuple(link for link in graph.relations if max(link.subject, link.object) < MOST_NODES)
        graph = replace(graph, objects=graph.objects[:MOST_NODES], relations=links)
    canvas, columns = Canvas(), _columns(graph)
    sizes = [_size(entity) for entity in graph.objects]
    heights = [sum(sizes[number][1] + ROW for number in column) for column in columns]
    tallest, across = max(heights, default=0), min((theme.WIDTH - 260) / max(len(columns) - 1, 1), FARTHEST)
    places: dict[int, tuple[Box, Box]] = {}  # of an object's name, and of it with its attributes
    for index, column in enumerate(columns):
        x = theme.WIDTH / 2 + (index - (len(columns) - 1) / 2) * across
        room = (tallest - heights[index]) / (len(column) + 1)
        top = TOP + room + ROW / 2
        for number in column:
            places[number] = _node(canvas, graph.objects[number], x, top)
            top += sizes[number][1] + ROW + room
    said: dict[tuple[int, int], dict[str, None]] = defaultdict(dict)  # an arrow for each ordered pair, all words on it
    for link in graph.relations:
        said[link.subject, link.object][link.lemma] = None
    for (subject, target), lemmas in said.items():
        words = f"<i>{label('↻ ' * (subject == target) + ', '.join(lemmas), width=26, lines=3)}</i>"
        if subject == target:
            canvas.words(words, places[subject][0].right + 8, places[subject][0].top, size=LINK)
        else:
            ends = _facing(places[subject], places[target]), _facing(places[target], places[subject])
            _arrow(canvas, *ends, words, beside=(target, subject) in said)
    there = {"object": graph.objects, "attribute": any(entity.attributes for entity in graph.objects)}
    kinds = [kind for kind, any_of in {**there, "relation": graph.relations}.items() if any_of]
    _legend(canvas, kinds, 16.0, 10, (12, 13, 22), {"width": 1, "color": theme.PAPER})
    return canvas.figure(title, subtitle, height=max(TOP + tallest, 120) + 10)


def _columns(graph: "SceneGraph") -> list[list[int]]:
    """Return the objects by column: subjects left of their objects, objects without relations in the last columns."""
    followers: dict[int, list[int]] = {}
    for link in graph.relations:
        followers.setdefault(link.subject, []).append(link.object)
        followers.setdefault(link.object, [])
    led_to = {target for number, targets in followers.items() for target in targets if target != number}
    depth: dict[int, int] = {}
    for start in sorted(followers, key=lambda number: (number in led_to, number)):
        if start in depth:
            continue
        depth[start], wave = 0, [start]
        while wave:
            following = dict.fromkeys(target for number in wave for target in followers[number] if target not in depth)
            depth.update((target, depth[wave[0]] + 1) for target in following)
            wave = list(following)
    columns: list[list[int]] = [[] for _ in range(max(depth.values(), default=-1) + 1)]
    for number in depth:
        columns[depth[number]].append(number)
    loose = [number for number in range(len(graph.objects)) if number not in depth]
    return columns + [loose[start : start + LOOSE] for start in range(0, len(loose), LOOSE)]


def _size(entity: "SceneObject") -> tuple[float, float]:
    """Width and height of an object with its attributes."""
    width, height = chip_size(_name(entity), NAME)
    for row in _rows(entity):
        width = max(width, sum(chip_size(said, SAID)[0] + 4 for said in row))
        height += chip_size("", SAID)[1] + 4
    return width, height


def _rows(entity: "SceneObject") -> list[list[str]]:
    """The attributes in lines of at most three."""
    said = [attribute.lemma for attribute in entity.attributes]
    return [said[start : start + 3] for start in range(0, len(said), 3)]


def _node(canvas: Canvas, entity: "SceneObject", x: float, top: float) -> tuple[Box, Box]:
    """The object with its attributes below; gives the box of its name and that of both."""
    size = _size(entity)
    line = chip_size(_name(entity), NAME)[1]
    name = chip(canvas, _name(entity), (x, top + line / 2), theme.BLUE, NAME)
    below = top + line + 4
    for row in _rows(entity):
        widths = [chip_size(said, SAID)[0] for said in row]
        left, line = x - (sum(widths) + 4 * (len(row) - 1)) / 2, chip_size("", SAID)[1]
        for said, width in zip(row, widths, strict=True):
            chip(canvas, said, (left + width / 2, below + line / 2), theme.GREEN, SAID)
            left += width + 4
        below += line + 4
    return name, Box(min(name.left, x - size[0] / 2), top, max(name.right, x + size[0] / 2), top + size[1])


def _name(entity: "SceneObject") -> str:
    return entity.lemma if entity.count in (None, 1) else f"{entity.count} × {entity.lemma}"


def _facing(own: tuple[Box, Box], other: tuple[Box, Box]) -> Box:
    """Where an arrow between two things ends: at the name, or, coming from below, at the attributes."""
    return own[1] if other[0].top > own[1].bottom else own[0]


def _arrow(canvas: Canvas, subject: Box, target: Box, words: str, *, beside: bool) -> None:
    """From edge to edge; one of two opposite arrows a little to its left, so that both are seen."""
    middles = [((box.left + box.right) / 2, (box.top + box.bottom) / 2) for box in (subject, target)]
    (x0, y0), (x1, y1) = subject.edge_towards(*middles[1], room=2), target.edge_towards(*middles[0], room=4)
    length = hypot(x1 - x0, y1 - y0) or 1.0
    aside = 12 / length if beside else 0.0
    shift = ((y1 - y0) * aside, (x0 - x1) * aside)
    start, end = (x0 + shift[0], y0 + shift[1]), (x1 + shift[0], y1 + shift[1])
    canvas.arrow(start, end, theme.MUTED)
    x, y = (start[axis] * 0.5 + end[axis] * 0.5 for axis in (0, 1))
    style = {"size": LINK, "across": "center", "down": "middle", "bgcolor": LINK_PAPER, "borderpad": 3}
    canvas.words(words, x, y, **style)


def _legend(canvas: Canvas, kinds: Sequence[str], at: float, middle: int, sizes: Sequence[int], rim: dict) -> None:
    """Squares in the colours of kinds, each with its word; `sizes` are of squares, letters and gaps, in pixels."""
    square, size, gap = sizes
    for kind in kinds:
        canvas.rectangle(at, middle - square // 2, square, square, fillcolor=KIND_COLOURS[kind], line=rim)
        canvas.words(kind, at + square + 6, middle, size=size, colour=theme.INK, down="middle")
        at += square + 6 + text_width(kind, size) + gap


# Sentences with their phrases in colour, or with what a masking hides blotted out.

SIZE, LINE, SIDE = 19, 40, 24  # pixels: letters, from line to line, margin
LINES = 8  # a longer sentence is cut
CLOSE_BEFORE = (".", ",", ";", ":", "!", "?", ")", "'", "’", "n't", "n’t", "%")


class Placed(NamedTuple):
    """A text, its left and right end in pixels, and the number of its line."""

    text: str
    left: float
    right: float
    line: int


def draw_caption_spans(
    graphs: Sequence["SceneGraph"],
    *,
    title: str,
    subtitle: str = "",
    hidden: Sequence[Sequence["Phrase"] | None] | None = None,
    names: Sequence[str] | None = None,
) -> go.Figure:
    """One sentence under the other, over at most eight lines each, with a legend of colours.

    A sentence's phrases are in colour; where `hidden` has phrases for it, these are blotted out instead and nothing
    else is coloured. `names` are short words over each sentence.
    """
    from itmlab.text.masking import phrases

    canvas, top = Canvas(), 40.0
    hidden, kinds = hidden or [None] * len(graphs), set()
    for row, (graph, gone) in enumerate(zip(graphs, hidden, strict=True)):
        if names:
            name = label(shortened(names[row], 13, theme.WIDTH - 2 * SIDE))
            canvas.words(name, SIDE, top, size=13, colour=theme.MUTED)
            top += 20
        spaced = [(token, not token.startswith(CLOSE_BEFORE)) for token in graph.tokens]
        words = lay_out(spaced, SIDE, theme.WIDTH - SIDE, SIZE, LINES)
        blotted: set[int] = set()
        for phrase in phrases(graph) if gone is None else gone:
            kinds.add(phrase.kind)
            covered = [at for at in range(phrase.span.start, phrase.span.end) if at < len(words)]
            _paint(canvas, [words[at] for at in covered], top, KIND_COLOURS[phrase.kind], solid=gone is not None)
            blotted |= set(covered) if gone is not None else set()
        for at, word in enumerate(words):
            if at not in blotted:
                place = (word.left + word.right) / 2, top + word.line * LINE + LINE / 2
                canvas.words(label(word.text), *place, size=SIZE, across="center", down="middle")
        top += LINE * (max((word.line for word in words), default=0) + 1) + 14
    shown = [kind for kind in KIND_COLOURS if kind in kinds]
    _legend(canvas, shown, float(SIDE), 16, (14, 14, 26), {"width": 0})
    return canvas.figure(title, subtitle, height=top)


def lay_out(texts: Sequence[tuple[str, bool]], left: float, right: float, size: float, lines: int) -> list[Placed]:
    """Return the place of each text, broken into lines.

    Args:
        texts: each text, and whether a space stands before it.
        left: where lines begin, in pixels.
        right: where they end.
        size: height of the letters.
        lines: a longer sentence ends with "…"; the rest has no place.
    """
    places: list[Placed] = []
    at, line = left, 0
    for index, (text, spaced) in enumerate(texts):
        shown = shortened(text, size, right - left)
        width = text_width(shown, size)
        if index:
            at += text_width(" ", size) + 4 if spaced else 4
        if index and at + width > right:
            at, line = left, line + 1
        if line == lines:
            places[-1] = places[-1]._replace(text="…", right=places[-1].left + text_width("…", size))
            break
        places.append(Placed(shown, at, at + width, line))
        at += width
    return places


def _paint(canvas: Canvas, words: Sequence[Placed], top: float, colour: str, *, solid: bool) -> None:
    """One rounded box a line behind (or, solid, instead of) the words; a soft one is underlined in full colour."""
    for line in sorted({word.line for word in words}):
        own = [word for word in words if word.line == line]
        left, right = own[0].left - 4, own[-1].right + 4
        upper, lower = top + line * LINE + 5, top + (line + 1) * LINE - 5
        fill(canvas, Box(left, upper, right, lower), colour if solid else translucent(colour, 0.20))
        if not solid:
            canvas.rectangle(left + 5, lower - 3, right - left - 10, 3, fillcolor=colour, line={"width": 0})


# One drawn scene beside what the world knows of it: each object's box, visible pixels and name.

LARGE = 0.25  # share of the picture from which on a thing is its ground or setting: tinted, it would hide the rest


def draw_scene(
    picture: Image.Image,
    names: Sequence[str],
    boxes: Float[ndarray, "thing 4"],
    masks: Bool[ndarray, "thing height width"],
    *,
    title: str,
    subtitle: str = "",
    captions: Sequence[str] = (),
) -> go.Figure:
    """The picture, and again with every object's visible pixels tinted and its box (x0 y0 x1 y1, pixels) named.

    Ground, sky and setting have a name and a box but no tint. `captions` stand below, one after the other.
    """
    canvas, large, side, gap = Canvas(), enlarged(picture, 512), 16, 24
    cell = (theme.WIDTH - 2 * side - gap) / 2
    scale = cell / max(picture.size)
    canvas.picture(data_uri(large, largest=512, photographic=True), side, 0, cell, cell)
    for index, mask in enumerate(masks):
        if float(np.asarray(mask, dtype=float).mean()) < LARGE:
            large = outlined(tinted(large, mask, colour(index), 0.3), mask, colour(index), rim=False)
    left, top = side + cell + gap, 0.0
    canvas.picture(data_uri(large, largest=512, photographic=True), left, top, cell, cell)
    left += (cell - picture.width * scale) / 2  # plotly centres a picture that is not square
    top += (cell - picture.height * scale) / 2
    for index, (name, box) in enumerate(zip(names, boxes, strict=True)):
        x0, y0, x1, y1 = (float(value) * scale for value in box)
        dotted = {"color": colour(index), "width": 2, "dash": "dot"}
        canvas.rectangle(left + x0, top + y0, x1 - x0, y1 - y0, line=dotted)
        background = {"bgcolor": translucent(colour(index), 0.92), "borderpad": 2}
        x, y = min(left + x0, theme.WIDTH - side - text_width(name, 12) - 8), max(top + y0, 22)
        canvas.words(f"<b>{label(name)}</b>", x, y, size=12, colour=theme.PAPER, down="bottom", **background)
    below = cell + 16
    for text in (label(caption, width=125, lines=2) for caption in captions):
        canvas.words(text, side, below)
        below += 20 * (text.count("<br>") + 1) + 4
    return canvas.figure(title, subtitle, height=below + 4)
