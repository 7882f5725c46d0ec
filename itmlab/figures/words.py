"""Words coloured by how little they fit their picture, and what the model writes instead (TAGS-DC, Figure 4)."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import plotly.graph_objects as go

from .boxes import Box, fill
from .labels import label
from .letters import shortened, text_width
from .pictures import Canvas, data_uri
from .theme import BLUE, GREEN, INK, MUTED, ORANGE, RULE, VERDICTS, VERMILION, WIDTH

if TYPE_CHECKING:
    from ..explain.word_example import Part, WordExample, WordRow

FITS, MISFITS = "#5FBF8C", "#FFE14A"  # the paper's green and yellow; yellow is also much the lighter
MARKS = {"restored": GREEN, "other": VERMILION, "missed": ORANGE, "rewritten": BLUE}
LEGEND = {
    "restored": "rewritten to the caption's word",
    "other": "rewritten otherwise",
    "missed": "missed",
    "rewritten": "rewritten",
}
SIDE, PICTURE, NAME, SCORE = 24, 156, 92, 78  # pixels: margin, picture, columns
SIZE, LINE, DIGITS = 16, 39, 11  # pixels: letters, from line to line, letters of numbers under words
HIGHER = "no lower than the caption"
LINES, FLAGGED = 6, 0.5  # a longer sentence is cut; from this mismatch on it is written under the word


class _Place(NamedTuple):
    part: "Part"
    text: str
    left: float
    right: float
    line: int


def explained_words(examples: "Sequence[WordExample]", *, title: str, subtitle: str = "") -> go.Figure:
    """Each example's picture and beside it its sentences, with their scores (%) by model and the world's verdicts.

    Backgrounds go from green (fits) to yellow (does not); from a mismatch of 50 % on it stands under the word. In
    corrected sentences words are underlined: see the legend below. A wrong sentence's score is red where it is not
    below the caption's.
    """
    canvas, top = Canvas(), 6.0
    models = list(dict.fromkeys(model for example in examples for row in example.rows for model in row.scores))
    right = WIDTH - SIDE - SCORE * len(models)
    for at, model in enumerate(models):
        name = label(shortened(model, 13, SCORE - 6))
        canvas.words(f"<b>{name}</b>", right + SCORE * (at + 1), top, size=13, colour=MUTED, across="right")
    top += 24
    for example in examples:
        canvas.line((SIDE, top), (WIDTH - SIDE, top), RULE)
        canvas.picture(data_uri(example.picture), SIDE, top + 12, PICTURE, PICTURE)
        lower, captions = top + 10, [row.scores for row in example.rows if row.name == "caption"]
        for row in example.rows:
            lower = _row(canvas, row, models, captions[0] if captions else {}, lower, right)
        top = max(lower + 4, top + PICTURE + 24)
    marks = {part.mark for example in examples for row in example.rows for part in row.parts} - {None}
    scored = any(row.name == "caption" and row.scores for example in examples for row in example.rows)
    end = _legend(canvas, [mark for mark in MARKS if mark in marks], scored, top + 10)
    return canvas.figure(title, subtitle, height=end)


def blend(mismatch: float) -> str:
    """The colour of a mismatch between 0 and 1."""
    low, high = ([int(shade[start : start + 2], 16) for start in (1, 3, 5)] for shade in (FITS, MISFITS))
    share = min(max(mismatch, 0.0), 1.0)
    return "#{:02X}{:02X}{:02X}".format(*(round(a + share * (b - a)) for a, b in zip(low, high, strict=True)))


def _row(
    canvas: Canvas, row: "WordRow", models: Sequence[str], caption: Mapping[str, float], top: float, right: float
) -> float:
    """One sentence with its name, verdict and scores; returns where it ends."""
    left = SIDE + PICTURE + 22
    middle = top + (LINE - 7) / 2
    canvas.words(
        label(row.name), left, middle - (8 if row.verdict is not None else 0), size=13, colour=MUTED, down="middle"
    )
    if row.verdict is not None:
        shade, said = VERDICTS[row.verdict]
        canvas.words(f"<b>{said}</b>", left, middle + 10, size=13, colour=shade, down="middle")
    places = _lay_out(row.parts, left + NAME, right - 14)
    for place in places:
        _word(canvas, place, top + place.line * LINE)
    for at, model in enumerate(models):
        if model in row.scores:
            score = row.scores[model]
            wrong = row.name == "made wrong" and score >= caption.get(model, 2.0)
            text = f"<b>{100 * score:.2f}</b>" if row.name == "made wrong" else f"{100 * score:.2f}"
            shade = VERMILION if wrong else INK
            canvas.words(text, right + SCORE * (at + 1), middle, size=15, colour=shade, across="right", down="middle")
    return top + LINE * (max((place.line for place in places), default=0) + 1) + 8


def _word(canvas: Canvas, place: _Place, top: float) -> None:
    part, middle = place.part, (place.left + place.right) / 2
    if part.mismatch is not None:
        fill(canvas, Box(place.left - 3, top + 4, place.right + 3, top + LINE - 11), blend(part.mismatch), radius=4)
        number = f"{100 * part.mismatch:.0f}"
        if part.mismatch >= FLAGGED and text_width(number, DIGITS) < place.right - place.left + 8:
            canvas.words(number, middle, top + LINE - 5, size=DIGITS, colour=MUTED, across="center", down="middle")
    if part.mark is not None:
        style = {"fillcolor": MARKS[part.mark], "line": {"width": 0}}
        canvas.rectangle(place.left, top + LINE - 13, place.right - place.left, 3, **style)
    canvas.words(label(place.text), middle, top + (LINE - 7) / 2, size=SIZE, across="center", down="middle")


def _lay_out(parts: "Sequence[Part]", left: float, right: float) -> list[_Place]:
    """Each part's place; what is beyond the last line is left out."""
    places: list[_Place] = []
    at, line, blank = left, 0, text_width(" ", SIZE) + 3
    for part in parts:
        text = shortened(part.text, SIZE, right - left)
        width = text_width(text, SIZE)
        close = 7 if part.mismatch is not None else 0  # backgrounds do not touch
        at += (blank if part.blank else close) if places and places[-1].line == line else 0
        if at + width > right and at > left:
            at, line = left, line + 1
        if line == LINES:
            last = places.pop()
            places.append(last._replace(text="…", right=last.left + text_width("…", SIZE)))
            break
        places.append(_Place(part, text, at, at + width, line))
        at += width
    return places


def _legend(canvas: Canvas, marks: Sequence[str], scored: bool, top: float) -> float:
    """What colours and lines mean; returns where it ends."""
    steps, at, middle = 12, float(SIDE), top + 12
    canvas.line((SIDE, top - 4), (WIDTH - SIDE, top - 4), RULE)
    at = _noted(canvas, "word fits, 0 %", at, middle) + 10
    for step in range(steps):
        canvas.rectangle(at, top + 6, 9.5, 12, fillcolor=blend(step / (steps - 1)), line={"width": 0})
        at += 9
    at = _noted(canvas, "100 %, it does not", at + 8, middle) + 26
    for mark in marks:
        if at + 28 + text_width(LEGEND[mark], 12) > WIDTH - SIDE:
            at, middle = float(SIDE), middle + 22
        canvas.rectangle(at, middle - 1, 22, 3, fillcolor=MARKS[mark], line={"width": 0})
        at = _noted(canvas, LEGEND[mark], at + 28, middle) + 22
    if scored:
        if at + text_width("00.00 " + HIGHER, 12) > WIDTH - SIDE:
            at, middle = float(SIDE), middle + 22
        canvas.words("<b>00.00</b>", at, middle, size=12, colour=VERMILION, down="middle")
        _noted(canvas, HIGHER, at + text_width("00.00 ", 12) + 6, middle)
    return middle + 22


def _noted(canvas: Canvas, text: str, at: float, middle: float) -> float:
    """Small words; returns where they end."""
    canvas.words(text, at, middle, size=12, colour=MUTED, down="middle")
    return at + text_width(text, 12)
