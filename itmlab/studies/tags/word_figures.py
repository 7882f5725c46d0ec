"""Figures of words: coloured by how little they fit, how often they are told rightly, and what the world says of them.

TAGS-DC (Fan et al., 2022), Figure 4 and Sec. 4.4.
"""

from collections.abc import Mapping, Sequence
from functools import partial

import plotly.graph_objects as go

from ...metrics.statistics import Share
from ...metrics.words import WordAccuracy
from ...synthesis import Negative
from ...text import Span
from ..kit.bars import Dot, Row, interval_rows
from ..kit.canvas import Box, Canvas, data_uri, fill
from ..kit.theme import (
    BLUE,
    GREEN,
    GREY,
    INK,
    MUTED,
    ORANGE,
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
from ..scene_graphs import Placed, lay_out
from .negative_figures import marked
from .word_accuracy import WordTruth
from .words import Algorithm1, Part, Refilled, WordExample, WordRow, coloured

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


def _word(canvas: Canvas, part: Part, place: Placed, top: float, size: int = SIZE, line: int = LINE) -> None:
    """A word on its colour; in lines of full height with its mismatch, or a mark, below."""
    middle, full = (place.left + place.right) / 2, line == LINE
    above, below = (4, 11) if full else (1, 2)
    if part.mismatch is not None:
        box = Box(place.left - 3, top + above, place.right + 3, top + line - below)
        fill(canvas, box, blend(part.mismatch), radius=4)
        number = f"{100 * part.mismatch:.0f}"
        if full and part.mismatch >= FLAGGED and text_width(number, DIGITS) < place.right - place.left + 8:
            canvas.words(number, middle, top + LINE - 5, size=DIGITS, colour=MUTED, across="center", down="middle")
    if part.rewritten:
        style = {"fillcolor": BLUE, "line": {"width": 0}}
        canvas.rectangle(place.left, top + LINE - 13, place.right - place.left, 3, **style)
    centre = top + (above + line - below) / 2
    canvas.words(label(place.text), middle, centre, size=size, across="center", down="middle")


def _legend(canvas: Canvas, top: float) -> float:
    """Explain colours and lines; returns where the legend ends."""
    canvas.line((SIDE, top - 4), (WIDTH - SIDE, top - 4), RULE)
    left, middle = float(SIDE), top + 12
    for step in range(12):
        canvas.rectangle(left + 9 * step, top + 6, 9.5, 12, fillcolor=blend(step / 11), line={"width": 0})
    words = "from fits (0 %) to does not fit (100 %); underlined: rewritten; red score: no lower than the caption's"
    canvas.words(words, left + 118, middle, size=12, colour=MUTED, down="middle")
    return middle + 22


# One caption through Algorithm 1, a column a step (Figure 2).

COLUMNS = {  # where each begins, in pixels, and what it is
    SIDE: ("1 · mask", "lines 3–4: phrases of its scene graph"),
    216: ("2 · refill", "lines 6–7: H_MLM(I, T⁽ᵏ⁾), at τ"),
    502: ("3 · keep the hardest", "lines 8–9, 15: C1, s(I, T⁻)"),
    652: ("4 · discriminate, correct", "lines 18–20: H_WoD, H_WoC"),
}
SENTENCE, PIECES, HEAD = 13, 20, 150  # pixels: letters, a line of words, picture and caption


def draw_algorithm_1(step: Algorithm1, *, title: str, subtitle: str = "") -> go.Figure:
    """A caption's way through TAGS-DC: its maskings, the sentences made of each, their scores, what the heads say.

    Changed words are in red; a line on each bar is the caption's own score. What C1 drops is pale. Of the hardest, in
    purple, each word's colour says how likely it was replaced, and an arrow what would be written instead.
    """
    canvas, (mask, refill, keep, words) = Canvas(), COLUMNS
    canvas.picture(data_uri(step.picture), SIDE, 0, HEAD - 34, HEAD - 34)
    own = f"<b>T</b>  {label(step.caption, width=76, lines=2)}"
    canvas.words(own, SIDE + HEAD - 16, 20, size=17)
    canvas.words(f"s(I, T) = <b>{step.score:.3f}</b>", SIDE + HEAD - 16, 64, size=14, colour=MUTED)
    for x, (head, lines) in COLUMNS.items():
        canvas.words(f"<b>{head}</b>", x, HEAD - 18, size=14)
        canvas.words(lines, x, HEAD + 2, size=11, colour=MUTED)
    top = HEAD + 24.0
    most = max([step.score, *(one.score for made in step.maskings.values() for one in made)])
    for masked, made in step.maskings.items():
        canvas.line((SIDE, top), (WIDTH - SIDE, top), RULE)
        count = masked.count("[MASK]")
        hidden = Negative(masked, spans=(Span(0, 1),) * count, replacement=("[MASK]",) * count)
        canvas.words(marked(hidden, width=27, lines=4, shade=ORANGE), mask, top + 10, size=SENTENCE)
        top += 6
        for one in made:
            top += _refilled(canvas, one, step.score, most, (refill, keep, words), top)
        top += 6
    return canvas.figure(title, subtitle, height=_legend(canvas, top + 10))


def _refilled(
    canvas: Canvas, one: Refilled, own: float, most: float, columns: tuple[float, float, float], top: float
) -> float:
    """One sentence with its score and, of the hardest, its words; returns how high it is."""
    refill, keep, words = columns
    shade = "#C9A08A" if one.dropped else VERMILION
    text = marked(one.negative, width=44, shade=shade)
    parts = list(coloured(one.words)) if one.words else []
    places = lay_out([(part.text, part.blank) for part in parts], words, WIDTH - SIDE, SENTENCE, LINES)
    lines = max((place.line + 1 for place in places), default=0)
    rewritten = [f"{word.text} → {word.correction}" for word in one.words.words if word.rewritten] if one.words else []
    height = max(18 * (1 + text.count("<br>")) + 10, PIECES * lines + 10 + 16 * bool(rewritten))
    middle = top + height / 2
    canvas.words(text, refill, middle, size=SENTENCE, colour=GREY if one.dropped else INK, down="middle")
    if one.dropped:
        canvas.words("dropped by C1", keep, middle, size=12, colour=GREY, down="middle")
        return height
    bar = 84 / most
    canvas.rectangle(keep, middle - 5, 84, 10, fillcolor=RULE, line={"width": 0})
    canvas.rectangle(keep, middle - 5, bar * one.score, 10, fillcolor=PURPLE if one.words else GREY, line={"width": 0})
    canvas.rectangle(keep + bar * own - 1, middle - 9, 2, 18, fillcolor=INK, line={"width": 0})
    score = f"<b>{one.score:.3f}</b>" if one.words else f"{one.score:.3f}"
    canvas.words(score, keep + 92, middle, size=SENTENCE, down="middle")
    for part, place in zip(parts, places, strict=False):
        _word(canvas, part, place, top + 5 + place.line * PIECES, SENTENCE, PIECES)
    if rewritten:
        said = shortened(", ".join(rewritten), 12, WIDTH - SIDE - words)
        canvas.words(label(said), words, top + PIECES * lines + 14, size=12, colour=BLUE, down="middle")
    return height


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


# A model's verdicts on words and its corrections against the world's truth.

SHADES = {"kept": BLUE, "replaced, true": GREEN, "replaced, undecided": GREY, "replaced, false": VERMILION}


def draw_word_truth(
    truth: WordTruth, *, title: str, subtitle: str = "", control: Mapping[str, Share] | None = None
) -> go.Figure:
    """Draw how often words are flagged, by the world's verdict, and the verdicts on sentences before and after.

    Args:
        control: shares of the same words asked in another way, drawn in pale grey.
    """
    rows: list[Row] = [("words that the model flags", [])]
    for name, share in truth.mismatched.items():
        dots = [Dot(share.percent, share.lower, share.upper, SHADES[name], f"{share.percent:.0f} % of {share.of:,}")]
        if control is not None:
            dots.insert(0, Dot(control[name].percent, control[name].lower, control[name].upper, RULE))
        rows.append((name, [dots if share.of else []]))
    for verdict, (shade, words) in TRUTH_LABELS.items():
        rows.append((f"sentences: {words}", []))
        for stage, counts in truth.sentences.items():
            percent = 100 * counts[verdict] / max(sum(counts.values()), 1)
            rows.append((stage, [Dot(percent, shade=shade, text=f"{percent:.0f} %")]))
    return interval_rows(rows, axes=[{"title": "%", "range": [-2, 118]}], title=title, subtitle=subtitle)
