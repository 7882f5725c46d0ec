"""A scene graph as a drawing: who does something stands left, to whom right, attributes hang below their object."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from math import hypot
from typing import TYPE_CHECKING

import plotly.graph_objects as go

from .boxes import Box, chip, chip_size
from .labels import label
from .letters import text_width
from .pictures import Canvas
from .theme import BLUE, GREEN, INK, MUTED, ORANGE, PAPER, WIDTH

if TYPE_CHECKING:
    from ..text.graph import SceneGraph, SceneObject

NAME, SAID, LINK = 17, 13, 14  # sizes of letters: objects, attributes, relations
TOP, FARTHEST = 34, 340  # pixels: the legend's, and from column to column
MOST = 24  # objects
ROW = 40  # pixels between two things in a column, beside what they take themselves
LINK_PAPER = "#FBEFD5"  # the relation's orange, pale enough to read on


def scene_graph(graph: "SceneGraph", *, title: str, subtitle: str = "") -> go.Figure:
    """Objects as nodes, their attributes below them, each relation an arrow with its words from subject to object.

    Of more than twenty-four objects, only the first ones are drawn, and the subtitle says so.
    """
    if len(graph.objects) > MOST:
        subtitle = f"{subtitle} (the first {MOST} of {len(graph.objects):,} objects)".strip()
        links = tuple(link for link in graph.relations if max(link.subject, link.object) < MOST)
        graph = replace(graph, objects=graph.objects[:MOST], relations=links)
    canvas, columns = Canvas(), _columns(graph)
    sizes = [_size(thing) for thing in graph.objects]
    heights = [sum(sizes[number][1] + ROW for number in column) for column in columns]
    tallest, across = max(heights, default=0), min((WIDTH - 260) / max(len(columns) - 1, 1), FARTHEST)
    places: dict[int, tuple[Box, Box]] = {}
    for index, column in enumerate(columns):
        x = WIDTH / 2 + (index - (len(columns) - 1) / 2) * across
        room = (tallest - heights[index]) / (len(column) + 1)
        top = TOP + room + ROW / 2
        for number in column:
            places[number] = _node(canvas, graph.objects[number], x, top)
            top += sizes[number][1] + ROW + room
    bottom = _loose(canvas, graph, sizes, TOP + tallest)
    said = _arrows(graph)
    for (subject, target), words in said.items():
        if subject == target:
            canvas.words(_link("↻ " + words), places[subject][0].right + 8, places[subject][0].top, size=LINK)
        else:
            ends = _facing(places[subject], places[target]), _facing(places[target], places[subject])
            _arrow(canvas, *ends, words, beside=(target, subject) in said)
    _legend(canvas, graph)
    return canvas.figure(title, subtitle, height=max(bottom, 120) + 10)


def _loose(canvas: Canvas, graph: "SceneGraph", sizes: Sequence[tuple[float, float]], top: float) -> float:
    """Things in no relation, in rows below the others; gives where they end."""
    linked = {number for link in graph.relations for number in (link.subject, link.object)}
    rows: list[list[int]] = []
    for number in range(len(graph.objects)):
        if number in linked:
            continue
        taken = sum(sizes[other][0] + ROW for other in rows[-1]) if rows else 0
        if not rows or taken + sizes[number][0] > WIDTH - 60:
            rows.append([])
        rows[-1].append(number)
    for row in rows:
        left = (WIDTH - sum(sizes[number][0] + ROW for number in row) + ROW) / 2
        for number in row:
            _node(canvas, graph.objects[number], left + sizes[number][0] / 2, top + ROW / 2)
            left += sizes[number][0] + ROW
        top += max(sizes[number][1] for number in row) + ROW
    return top


def _columns(graph: "SceneGraph") -> list[list[int]]:
    """Objects in relations, by how many arrows lead to them from one that none leads to, in the order of the arrows."""
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
    return columns


def _size(thing: "SceneObject") -> tuple[float, float]:
    """Width and height of an object with its attributes."""
    width, height = chip_size(_name(thing), NAME)
    for row in _rows(thing):
        width = max(width, sum(chip_size(said, SAID)[0] + 4 for said in row))
        height += chip_size("", SAID)[1] + 4
    return width, height


def _rows(thing: "SceneObject") -> list[list[str]]:
    """The attributes in lines of at most three."""
    said = [attribute.lemma for attribute in thing.attributes]
    return [said[start : start + 3] for start in range(0, len(said), 3)]


def _node(canvas: Canvas, thing: "SceneObject", x: float, top: float) -> tuple[Box, Box]:
    """The object with its attributes below; gives the box of its name and that of both."""
    size = _size(thing)
    line = chip_size(_name(thing), NAME)[1]
    name = chip(canvas, _name(thing), (x, top + line / 2), BLUE, NAME)
    below = top + line + 4
    for row in _rows(thing):
        widths = [chip_size(said, SAID)[0] for said in row]
        left, line = x - (sum(widths) + 4 * (len(row) - 1)) / 2, chip_size("", SAID)[1]
        for said, width in zip(row, widths, strict=True):
            chip(canvas, said, (left + width / 2, below + line / 2), GREEN, SAID)
            left += width + 4
        below += line + 4
    return name, Box(min(name.left, x - size[0] / 2), top, max(name.right, x + size[0] / 2), top + size[1])


def _name(thing: "SceneObject") -> str:
    number = f"{thing.count} × " if thing.count is not None and thing.count != 1 else ""
    return number + thing.lemma


def _arrows(graph: "SceneGraph") -> dict[tuple[int, int], str]:
    """One arrow for each ordered pair of objects, with all that is said of the pair."""
    words: dict[tuple[int, int], list[str]] = defaultdict(list)
    for relation in graph.relations:
        words[relation.subject, relation.object].append(relation.lemma)
    return {pair: ", ".join(dict.fromkeys(lemmas)) for pair, lemmas in words.items()}


def _facing(own: tuple[Box, Box], other: tuple[Box, Box]) -> Box:
    """Where an arrow between two things ends: at the name, or, coming from below, at the attributes."""
    name, both = own
    return both if other[0].top > both.bottom else name


def _arrow(canvas: Canvas, subject: Box, target: Box, words: str, *, beside: bool) -> None:
    """From edge to edge; one of two opposite arrows a little to its left, so that both are seen."""
    middles = [((box.left + box.right) / 2, (box.top + box.bottom) / 2) for box in (subject, target)]
    (x0, y0), (x1, y1) = subject.edge_towards(*middles[1], room=2), target.edge_towards(*middles[0], room=4)
    length = hypot(x1 - x0, y1 - y0) or 1.0
    aside = 12 / length if beside else 0.0
    shift = ((y1 - y0) * aside, (x0 - x1) * aside)
    start, end = (x0 + shift[0], y0 + shift[1]), (x1 + shift[0], y1 + shift[1])
    canvas.arrow(start, end, MUTED, clear=0)
    canvas.annotations[-1]["startstandoff"] = 0
    x, y = (start[axis] * 0.5 + end[axis] * 0.5 for axis in (0, 1))
    style = {"size": LINK, "across": "center", "down": "middle", "bgcolor": LINK_PAPER, "borderpad": 3}
    canvas.words(_link(words), x, y, **style)


def _link(words: str) -> str:
    return f"<i>{label(words, width=26, lines=3)}</i>"


def _legend(canvas: Canvas, graph: "SceneGraph") -> None:
    """What the colours mean, of those that are there."""
    kinds = {"object": (BLUE, graph.objects), "relation": (ORANGE, graph.relations)}
    kinds["attribute"] = (GREEN, [attribute for thing in graph.objects for attribute in thing.attributes])
    at = 16.0
    for kind in ("object", "attribute", "relation"):
        colour, there = kinds[kind]
        if there:
            canvas.rectangle(at, 4, 12, 12, fillcolor=colour, line={"width": 1, "color": PAPER})
            canvas.words(kind, at + 18, 10, size=13, colour=INK, down="middle")
            at += 18 + text_width(kind, 13) + 22
