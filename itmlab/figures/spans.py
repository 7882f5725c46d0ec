"""Sentences with their phrases in colour, or with what a masking hides blotted out."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import plotly.graph_objects as go

from .boxes import Box, fill
from .labels import label
from .letters import shortened, text_width
from .pictures import Canvas
from .theme import BLUE, GREEN, INK, MUTED, ORANGE, WIDTH, translucent

if TYPE_CHECKING:
    from ..text.graph import SceneGraph
    from ..text.masking import Phrase

KIND_COLOURS = {"object": BLUE, "attribute": GREEN, "relation": ORANGE, "word": "#44546A"}
SIZE, LINE, SIDE = 19, 40, 24  # pixels: letters, from line to line, margin
LINES = 8  # a longer sentence is cut
CLOSE_BEFORE = (".", ",", ";", ":", "!", "?", ")", "'", "’", "n't", "n’t", "%")


class _Word(NamedTuple):
    text: str
    left: float
    right: float
    line: int


def caption_spans(
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
    from ..text.masking import phrases  # torch is wanted for masking only

    canvas, top = Canvas(), 40.0
    hidden, kinds = hidden or [None] * len(graphs), set()
    for row, (graph, gone) in enumerate(zip(graphs, hidden, strict=True)):
        if names:
            canvas.words(label(shortened(names[row], 13, WIDTH - 2 * SIDE)), SIDE, top, size=13, colour=MUTED)
            top += 20
        words = _lay_out(graph.tokens)
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
    _legend(canvas, [kind for kind in KIND_COLOURS if kind in kinds])
    return canvas.figure(title, subtitle, height=top)


def _lay_out(tokens: Sequence[str]) -> list[_Word]:
    """Each token's place, punctuation close to the word before it; what is beyond the last line is left out."""
    words: list[_Word] = []
    at, line, blank = float(SIDE), 0, text_width(" ", SIZE) + 4
    for token in tokens:
        text = shortened(token, SIZE, WIDTH - 2 * SIDE)
        width = text_width(text, SIZE)
        if words:
            at += 4 if token.startswith(CLOSE_BEFORE) else blank
        if words and at + width > WIDTH - SIDE:
            at, line = float(SIDE), line + 1
        if line == LINES:
            last = words.pop()
            words.append(_Word("…", last.left, last.left + text_width("…", SIZE), last.line))
            break
        words.append(_Word(text, at, at + width, line))
        at += width
    return words


def _paint(canvas: Canvas, words: Sequence[_Word], top: float, colour: str, *, solid: bool) -> None:
    """One rounded box a line behind (or, solid, instead of) the words; a soft one is underlined in full colour."""
    for line in sorted({word.line for word in words}):
        own = [word for word in words if word.line == line]
        left, right = own[0].left - 4, own[-1].right + 4
        upper, lower = top + line * LINE + 5, top + (line + 1) * LINE - 5
        fill(canvas, Box(left, upper, right, lower), colour if solid else translucent(colour, 0.20))
        if not solid:
            canvas.rectangle(left + 5, lower - 3, right - left - 10, 3, fillcolor=colour, line={"width": 0})


def _legend(canvas: Canvas, kinds: Sequence[str]) -> None:
    at = float(SIDE)
    for kind in kinds:
        canvas.rectangle(at, 9, 14, 14, fillcolor=KIND_COLOURS[kind], line={"width": 0})
        canvas.words(label(kind), at + 20, 16, size=14, colour=INK, down="middle")
        at += 20 + text_width(kind, 14) + 26
