"""Figures of words: coloured by how little they fit, how often they are told rightly, and what the world says of them.

TAGS-DC (Fan et al., 2022), Figure 4 and Sec. 4.4.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from ...metrics.statistics import Share
from ...metrics.words import WordAccuracy
from ...synthesis import Negative
from ...text import Span
from ..kit.canvas import Box, Canvas, data_uri, fill
from ..kit.theme import (
    BLUE,
    GREEN,
    GREY,
    INK,
    MUTED,
    ORANGE,
    PAPER,
    PURPLE,
    RULE,
    TRUTH_LABELS,
    VERMILION,
    WIDTH,
    error_bars,
    label,
    mixed,
    shortened,
    styled,
    text_width,
)
from .negative_figures import marked
from .word_accuracy import WordTruth
from .words import Algorithm1, Part, Refilled, WordExample, WordRow, coloured

# Sentences on a picture, each word the greener, the better it fits (Figure 4).

FITS, MISFITS = "#5FBF8C", "#FFE14A"  # the paper's green and yellow; yellow is also much the lighter
blend = partial(mixed, shades=(FITS, MISFITS))  # the colour of a mismatch between 0 and 1
MARKS = {
    "restored": (GREEN, "rewritten to the caption's word"),
    "other": (VERMILION, "rewritten otherwise"),
    "missed": (ORANGE, "missed"),
    "rewritten": (BLUE, "rewritten"),
}
SIDE, PICTURE, NAME, SCORE = 24, 156, 92, 78  # pixels: margin, picture, columns
SIZE, LINE, DIGITS = 16, 39, 11  # pixels: letters, from line to line, letters of numbers under words
LINES, FLAGGED = 6, 0.5  # a longer sentence is cut; from this mismatch on it is written under the word


def draw_explained_words(examples: Sequence[WordExample], *, title: str, subtitle: str = "") -> go.Figure:
    """Each example's picture and beside it its sentences, with their scores (%) by model and the world's truth labels.

    Backgrounds go from green (fits) to yellow (does not); from a mismatch of 50 % on it stands under the word. In
    corrected sentences words are underlined: see the legend below. A wrong sentence's score is red where it is not
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
    marks = {part.mark for row in every for part in row.parts}
    scored = any(row.name == "caption" and row.scores for row in every)
    end = _legend(canvas, [mark for mark in MARKS if mark in marks], scored, top + 10)
    return canvas.figure(title, subtitle, height=end)


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
    places = _lay_out(row.parts, left + NAME, right - 14)
    for place in places:
        _word(canvas, place, top + place.line * LINE)
    for at, model in enumerate(models):
        if model in row.scores:
            score, wrong = row.scores[model], row.name == "made wrong"
            text = f"<b>{100 * score:.2f}</b>" if wrong else f"{100 * score:.2f}"
            shade = VERMILION if wrong and score >= caption.get(model, 2.0) else INK
            canvas.words(text, right + SCORE * (at + 1), middle, size=15, colour=shade, across="right", down="middle")
    return top + LINE * (max((place.line for place in places), default=0) + 1) + 8


class _Place(NamedTuple):
    part: Part
    text: str
    left: float
    right: float
    line: int


def _word(canvas: Canvas, place: _Place, top: float, size: int = SIZE, line: int = LINE) -> None:
    """A word on its colour; in lines of full height with its mismatch, or a mark, below."""
    part, middle, full = place.part, (place.left + place.right) / 2, line == LINE
    above, below = (4, 11) if full else (1, 2)
    if part.mismatch is not None:
        box = Box(place.left - 3, top + above, place.right + 3, top + line - below)
        fill(canvas, box, blend(part.mismatch), radius=4)
        number = f"{100 * part.mismatch:.0f}"
        if full and part.mismatch >= FLAGGED and text_width(number, DIGITS) < place.right - place.left + 8:
            canvas.words(number, middle, top + LINE - 5, size=DIGITS, colour=MUTED, across="center", down="middle")
    if part.mark is not None:
        style = {"fillcolor": MARKS[part.mark][0], "line": {"width": 0}}
        canvas.rectangle(place.left, top + LINE - 13, place.right - place.left, 3, **style)
    centre = top + (above + line - below) / 2
    canvas.words(label(place.text), middle, centre, size=size, across="center", down="middle")


def _lay_out(parts: Sequence[Part], left: float, right: float, size: int = SIZE) -> list[_Place]:
    """Each part's place; what is beyond the last line is left out."""
    places: list[_Place] = []
    at, line, blank = left, 0, text_width(" ", size) + 3
    for part in parts:
        text = shortened(part.text, size, right - left)
        width = text_width(text, size)
        close = 7 if part.mismatch is not None else 0  # backgrounds do not touch
        at += (blank if part.blank else close) if places and places[-1].line == line else 0
        if at + width > right and at > left:
            at, line = left, line + 1
        if line == LINES:
            places[-1] = places[-1]._replace(text="…", right=places[-1].left + text_width("…", size))
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
    for shade, said in (MARKS[mark] for mark in marks):
        if at + 28 + text_width(said, 12) > WIDTH - SIDE:
            at, middle = float(SIDE), middle + 22
        canvas.rectangle(at, middle - 1, 22, 3, fillcolor=shade, line={"width": 0})
        at = _noted(canvas, said, at + 28, middle) + 22
    if scored:
        number, said = "00.00", "no lower than the caption"
        if at + text_width(f"{number} {said}", 12) > WIDTH - SIDE:
            at, middle = float(SIDE), middle + 22
        canvas.words(f"<b>{number}</b>", at, middle, size=12, colour=VERMILION, down="middle")
        _noted(canvas, said, at + text_width(f"{number} ", 12) + 6, middle)
    return middle + 22


def _noted(canvas: Canvas, text: str, at: float, middle: float) -> float:
    """Small words; returns where they end."""
    canvas.words(text, at, middle, size=12, colour=MUTED, down="middle")
    return at + text_width(text, 12)


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
    return canvas.figure(title, subtitle, height=_legend(canvas, [], False, top + 10))


def _refilled(
    canvas: Canvas, one: Refilled, own: float, most: float, columns: tuple[float, float, float], top: float
) -> float:
    """One sentence with its score and, of the hardest, its words; returns how high it is."""
    refill, keep, words = columns
    shade = "#C9A08A" if one.dropped else VERMILION
    text = marked(one.negative, width=44, shade=shade)
    places = _lay_out(coloured(one.words), words, WIDTH - SIDE, SENTENCE) if one.words else []
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
    for place in places:
        _word(canvas, place, top + 5 + place.line * PIECES, SENTENCE, PIECES)
    if rewritten:
        said = shortened(", ".join(rewritten), 12, WIDTH - SIDE - words)
        canvas.words(label(said), words, top + PIECES * lines + 14, size=12, colour=BLUE, down="middle")
    return height


# How well words are discriminated and corrected, by type of phrase (Sec. 4.4).

Accuracies = Mapping[str, Mapping[str, WordAccuracy]]  # [task][words]
PAPER_ACCURACY = {"word discrimination": 66.5, "word correction": 87.3}  # Sec. 4.4: Flickr30K, words not named
SERIES = {"replaced": (VERMILION, "diamond"), "kept": (BLUE, "circle"), "all": (INK, "square")}


def draw_word_accuracy(
    accuracies: Accuracies, *, title: str, subtitle: str = "", paper: Mapping[str, float] | None = PAPER_ACCURACY
) -> go.Figure:
    """A panel for each task of `accuracies[task][words]`, a row in it for each sort of words, with 95 % intervals.

    Three points a row: replaced words, kept words, all of them. A grey line is what all would be for a model that
    calls every word kept, or copies it; the dashed line, in the first row (of all words), the paper's number.
    """
    tasks, gap = list(accuracies), 0.24
    titles = [label(task) for task in tasks]
    figure = make_subplots(1, len(tasks), subplot_titles=titles, shared_yaxes=True, horizontal_spacing=0.06)
    rows = list(next(iter(accuracies.values())))
    for column, task in enumerate(tasks, start=1):
        place = {"showlegend": column == 1, "row": 1, "col": column}
        for number, (name, (shade, symbol)) in enumerate(SERIES.items()):
            shares = {at: one for at, row in enumerate(rows) if (one := getattr(accuracies[task][row], name)).of}
            figure.add_scatter(
                x=[share.percent for share in shares.values()],
                y=[at + gap * (number - 1) for at in shares],
                error_x=error_bars(list(shares.values()), shade),
                mode="markers",
                name=f"{name} words",
                legendgroup=name,
                marker={"color": shade, "symbol": symbol, "size": 11},
                customdata=list(map(str, shares.values())),
                hovertemplate=f"{name} words: %{{customdata}}<extra></extra>",
                cliponaxis=False,
                **place,
            )
        own = [accuracies[task][row] for row in rows]
        lazy = [100 * one.kept.of / max(one.all.of, 1) for one in own]
        x = [value for share in lazy for value in (share, share, None)]
        y = [end for at in range(len(rows)) for end in (at - 0.38, at + 0.38, None)]
        look = {"mode": "lines", "line": {"color": GREY, "width": 2}, "legendgroup": "lazy", "hoverinfo": "skip"}
        figure.add_scatter(x=x, y=y, name="all words, if nothing is ever found wrong", **look, **place)
        if paper and task in paper:
            at, line = paper[task], {"color": ORANGE, "width": 2, "dash": "dash"}
            figure.add_shape(x0=at, x1=at, y0=-0.45, y1=0.45, line=line, row=1, col=column)
            words = {"text": f"paper {at:.1f} %", "font": {"color": MUTED, "size": 13}, "showarrow": False}
            anchor = {"xanchor": "right", "xshift": -5, "yanchor": "middle"}
            figure.add_annotation(x=at, y=0.45, **anchor, **words, row=1, col=column)
    figure.update_xaxes(range=[-2, 102], tickvals=list(range(0, 101, 20)), title="right, %", showgrid=True)
    ticks = {"tickvals": list(range(len(rows))), "ticktext": [label(row) for row in rows]}
    figure.update_yaxes(**ticks, range=[len(rows) - 0.3, -0.5], showgrid=False)
    figure.update_yaxes(tickfont={"size": 14, "color": INK}, col=1)
    return _finished(figure, title, subtitle, 170 + 78 * len(rows), (26, 110), legend={"y": 1.09})


def _finished(
    figure: go.Figure, title: str, subtitle: str, height: int, more: tuple[int, int], **layout: Any
) -> go.Figure:
    """In the house style, with `more` = (pixels more above, pixels on the left) for long names of panels and rows."""
    figure = styled(figure, title, subtitle, height=height)
    figure.update_annotations(selector={"yanchor": "bottom", "xref": "paper"}, font={"size": 15, "color": MUTED})
    margin = {"t": figure.layout.margin.t + more[0], "l": more[1]}
    return figure.update_layout(title={"x": 16 / WIDTH, "xref": "container"}, margin=margin, **layout)


# What a model says of words, and what it makes of sentences, against what the world says of them.

SHADES = {"kept": BLUE, "replaced, true": GREEN, "replaced, undecided": GREY, "replaced, false": VERMILION}


def draw_word_truth(
    truth: WordTruth, *, title: str, subtitle: str = "", control: Mapping[str, Share] | None = None
) -> go.Figure:
    """Left: how often words are said not to fit, by what the world says of them, with 95 % intervals. Right: truth
    labels of captions, of the sentences made of them and of the corrected ones, in percent.

    `control`, the shares of the same words asked in another way, stands pale under each bar.
    """
    panels = ("words said not to fit", "sentences, by the world's verdict")
    figure = make_subplots(1, 2, subplot_titles=panels, horizontal_spacing=0.16)
    names, shares = list(truth.mismatched), list(truth.mismatched.values())
    counted = (f"<br><span style='color:{MUTED}'>{share.of:,} words</span>" for share in shares)
    rows = {name: label(name) + words for name, words in zip(names, counted, strict=True)}
    _bars(figure, rows, shares, None if control is None else (-0.36, 0.4))
    for truth_label, (shade, said) in TRUTH_LABELS.items():
        stages = truth.sentences.values()
        values = [100 * counts[truth_label] / max(sum(counts.values()), 1) for counts in stages]
        figure.add_bar(
            x=values,
            y=list(truth.sentences),
            orientation="h",
            name=said,
            marker_color=shade,
            text=[f"{value:.0f}" if value >= 5 else "" for value in values],
            textposition="inside",
            insidetextanchor="middle",
            textangle=0,
            textfont={"color": PAPER, "size": 14},
            hovertemplate=f"{said}: %{{x:.1f}} %<extra></extra>",
            row=1,
            col=2,
        )
    if control is not None:
        _bars(figure, rows, [control[name] for name in names], (0.08, 0.24), pale=True)
        shares = [*shares, *control.values()]
    largest = max((share.upper for share in shares if share.of), default=100.0)
    figure.update_xaxes(title="said not to fit, %", range=[0, 1.2 * largest], row=1, col=1)
    figure.update_xaxes(title="sentences, %", range=[0, 100], row=1, col=2)
    figure.update_yaxes(autorange="reversed", showgrid=False, tickfont={"size": 13, "color": INK}, ticklabelstandoff=6)
    look = {"barmode": "stack", "bargap": 0.35, "legend": {"y": 1.11, "x": 0.58, "traceorder": "normal"}}
    return _finished(figure, title, subtitle, 440, (30, 140), **look)


def _bars(
    figure: go.Figure, rows: dict[str, str], shares: Sequence[Share], at: tuple[float, float] | None, pale: bool = False
) -> None:
    """A bar in each row of the left panel; `at`: where in its row it begins, and how high it is."""
    (offset, width), ink = at or (None, None), MUTED if pale else INK
    figure.add_bar(
        x=[share.percent if share.of else 0 for share in shares],
        y=list(rows.values()),
        orientation="h",
        offset=offset,
        width=width,
        base=None if at is None else 0,  # or the pale one would be stacked on the other
        marker_color=[SHADES[name] for name in rows],
        marker_opacity=0.4 if pale else 1,
        error_x=error_bars(shares, ink),
        customdata=[str(share) for share in shares],
        hovertemplate="%{customdata}<extra></extra>",
        showlegend=False,
        row=1,
        col=1,
    )
    for row, share in enumerate(shares):
        if share.of:
            text = f"{share.percent:.0f} %" if pale else f"<b>{share.percent:.0f} %</b>"
            look = {"font": {"color": ink, "size": 12 if pale else 14}, "xanchor": "left", "xshift": 8}
            middle = row if at is None else row + offset + width / 2
            figure.add_annotation(x=share.upper, y=middle, text=text, showarrow=False, **look, row=1, col=1)
