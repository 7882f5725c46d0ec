"""Figures of words: coloured by how little they fit, how often they are told rightly, and what the world says of them.

TAGS-DC (Fan et al., 2022), Figure 4 and Sec. 4.4.
"""

from collections.abc import Mapping, Sequence
from functools import partial

import plotly.graph_objects as go

from ..analysis.accuracies import WordAccuracy
from ..analysis.words import Algorithm1, Part, WordExample, WordRow
from .bars import Dot, Row, interval_rows
from .canvas import Box, Canvas, data_uri, draw_table, fill
from .scene_graphs import Placed, lay_out
from .theme import (
    BLUE,
    GREY,
    INK,
    MUTED,
    PURPLE,
    RULE,
    TRUTH_LABELS,
    VERMILION,
    WIDTH,
    label,
    mixed,
    shortened,
    text_width,
)

# Sentences on a picture, each word the greener, the better it fits (Figure 4).

FITS, MISFITS = "#5FBF8C", "#FFE14A"  # the paper's green and yellow; yellow is also much the lighter
blend = partial(mixed, shades=(FITS, MISFITS))  # the colour of a mismatch between 0 and 1
SIDE, PICTURE, NAME, SCORE = 24, 156, 92, 78  # pixels: margin, picture, columns
SIZE, LINE, DIGITS = 16, 39, 11  # pixels: letters, from line to line, letters of numbers under words
LINES, FLAGGED = 6, 0.5  # a longer sentence is cut; from this mismatch on it is written under the word


def draw_explained_words(examples: Sequence[WordExample], *, title: str, subtitle: str = "") -> go.Figure:
    """Each example's picture and beside it its sentences, with their scores (%) by model and the world's truth labels.

    Backgrounds go from green (fits) to yellow (does not); from a mismatch of 50 % on it stands under the word. In
    corrected sentences rewritten words are underlined. A wrong sentence's score is red where it is not
    below the caption's.
    """
    canvas, top = Canvas(), 6.0
    every = [row for example in examples for row in example.rows]
    models = list(dict.fromkeys(model for row in every for model in row.scores))
    right = WIDTH - SIDE - SCORE * len(models)
    for at, model in enumerate(models):
        name = label(shortened(model, 13, SCORE - 6))
        canvas.words(f"<b>{name}</b>", right + SCORE * (at + 1), top, size=13, colour=MUTED, across="right")
    top += 24
    for example in examples:
        canvas.line((SIDE, top), (WIDTH - SIDE, top), RULE)
        canvas.picture(data_uri(example.picture), SIDE, top + 12, PICTURE, PICTURE)
        lower, caption = top + 10, next((row.scores for row in example.rows if row.name == "caption"), {})
        for row in example.rows:
            lower = _row(canvas, row, models, caption, lower, right)
        top = max(lower + 4, top + PICTURE + 24)
    return canvas.figure(title, subtitle, height=_legend(canvas, top + 10))


def _row(
    canvas: Canvas, row: WordRow, models: Sequence[str], caption: Mapping[str, float], top: float, right: float
) -> float:
    """One sentence with its name, truth label and scores; returns where it ends."""
    left, middle = SIDE + PICTURE + 22, top + (LINE - 7) / 2
    upper = middle - (8 if row.truth_label is not None else 0)
    canvas.words(label(row.name), left, upper, size=13, colour=MUTED, down="middle")
    if row.truth_label is not None:
        shade, said = TRUTH_LABELS[row.truth_label]
        canvas.words(f"<b>{said}</b>", left, middle + 10, size=13, colour=shade, down="middle")
    places = lay_out([(part.text, part.blank) for part in row.parts], left + NAME, right - 14, SIZE, LINES)
    for part, place in zip(row.parts, places, strict=False):
        _word(canvas, part, place, top + place.line * LINE)
    for at, model in enumerate(models):
        if model in row.scores:
            score, wrong = row.scores[model], row.name == "made wrong"
            text = f"<b>{100 * score:.2f}</b>" if wrong else f"{100 * score:.2f}"
            shade = VERMILION if wrong and score >= caption.get(model, 2.0) else INK
            canvas.words(text, right + SCORE * (at + 1), middle, size=15, colour=shade, across="right", down="middle")
    return top + LINE * (max((place.line for place in places), default=0) + 1) + 8


def _word(canvas: Canvas, part: Part, place: Placed, top: float) -> None:
    """Draw a word on its colour, its mismatch below, or a line if it was rewritten."""
    middle = (place.left + place.right) / 2
    if part.mismatch is not None:
        box = Box(place.left - 3, top + 4, place.right + 3, top + LINE - 11)
        fill(canvas, box, blend(part.mismatch), radius=4)
        number = f"{100 * part.mismatch:.0f}"
        if part.mismatch >= FLAGGED and text_width(number, DIGITS) < place.right - place.left + 8:
            canvas.words(number, middle, top + LINE - 5, size=DIGITS, colour=MUTED, across="center", down="middle")
    if part.rewritten:
        style = {"fillcolor": BLUE, "line": {"width": 0}}
        canvas.rectangle(place.left, top + LINE - 13, place.right - place.left, 3, **style)
    centre = top + (LINE - 7) / 2
    canvas.words(label(place.text), middle, centre, size=SIZE, across="center", down="middle")


def _legend(canvas: Canvas, top: float) -> float:
    """Explain colours and lines; returns where the legend ends."""
    canvas.line((SIDE, top - 4), (WIDTH - SIDE, top - 4), RULE)
    left, middle = float(SIDE), top + 12
    for step in range(12):
        canvas.rectangle(left + 9 * step, top + 6, 9.5, 12, fillcolor=blend(step / 11), line={"width": 0})
    words = "from fits (0 %) to does not fit (100 %); underlined: rewritten; red score: no lower than the caption's"
    canvas.words(words, left + 118, middle, size=12, colour=MUTED, down="middle")
    return middle + 22


# One caption through Algorithm 1, a column per step (Figure 2).


def draw_algorithm_1(step: Algorithm1, *, title: str, subtitle: str = "") -> go.Figure:
    """Draw a caption's way through TAGS-DC as a table beside its picture, a row per refilled sentence.

    Sentences that C1 drops are grey. Of the hardest (purple) stand the words that probably do not fit, and what would
    be written instead.
    """
    mask, refill, keep, words = "1 · mask", "2 · refill", "3 · s(I, T⁻), kept", "4 · words in doubt"
    columns: dict[str, list[str]] = {mask: [], refill: [], keep: [], words: []}
    inks = []
    for masked, sentences in step.maskings.items():
        for number, refilled in enumerate(sentences):
            explained = refilled.words.words if refilled.words else ()
            doubts = [word for word in explained if word.rewritten or word.mismatch > FLAGGED]
            columns[mask].append("" if number else masked)
            columns[refill].append(refilled.negative.sentence)
            columns[keep].append("dropped by C1" if refilled.dropped else f"{refilled.score:.3f}")
            columns[words].append(
                ", ".join(f"{word.text} ({100 * word.mismatch:.0f} %) → {word.correction}" for word in doubts)
            )
            inks.append(GREY if refilled.dropped else PURPLE if refilled.words else INK)
    beside = [step.caption, f"s(I, T) = {step.score:.3f}"]
    look = {"widths": [3.0, 4.0, 1.6, 3.0], "inks": {refill: inks, keep: inks}, "picture": step.picture}
    return draw_table(columns, title=title, subtitle=subtitle, beside=beside, **look)


# Accuracy of word discrimination and correction, by kind of phrase (Sec. 4.4).

Accuracies = Mapping[str, Mapping[str, WordAccuracy]]  # [task][words]
PAPER_ACCURACY = {"word discrimination": 66.5, "word correction": 87.3}  # Sec. 4.4: Flickr30K, words not named
SERIES = {"replaced": VERMILION, "kept": BLUE, "all": INK}


def draw_word_accuracy(
    accuracies: Accuracies, *, title: str, subtitle: str = "", paper: Mapping[str, float] | None = PAPER_ACCURACY
) -> go.Figure:
    """Draw the accuracy on replaced words (red), kept words (blue) and all words (black), with 95 % intervals.

    A grey dot is the accuracy on all words of a model that calls every word kept, or copies every word.

    Args:
        accuracies: `accuracies[task][words]`; a panel per task.
        paper: the paper's number per task, drawn in the first row.
    """
    tasks = list(accuracies)
    rows: list[Row] = []
    for name in accuracies[tasks[0]]:
        cells = []
        for task in tasks:
            measured = accuracies[task][name]
            dots = [Dot(100 * measured.kept.of / max(measured.all.of, 1), shade=GREY)]
            for series, shade in SERIES.items():
                share = getattr(measured, series)
                if share.of:
                    dots.append(Dot(share.percent, share.lower, share.upper, shade))
            if not rows and paper and task in paper:
                dots.append(Dot(paper[task], printed=True))
            cells.append(dots)
        rows.append((name, cells))
    key = "red: replaced, blue: kept, black: all, grey: if nothing is ever flagged"
    subtitle = f"{subtitle}; {key}" if subtitle else key
    axes = [{"title": "right, %", "range": [-2, 102]}] * len(tasks)
    return interval_rows(rows, axes=axes, title=title, subtitle=subtitle, panels=tasks)
