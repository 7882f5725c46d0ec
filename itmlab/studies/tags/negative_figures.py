"""Negatives of one caption as a list, and examples of several: score, changed words, fluency, verdict (Figure 1b)."""

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from math import ceil, floor, log10
from operator import itemgetter
from typing import TYPE_CHECKING

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float, Integer
from numpy import ndarray
from PIL import Image
from plotly.subplots import make_subplots

from ...errors import ItmlabError
from ..kit.bars import Dot, Row, interval_rows
from ..kit.canvas import Canvas, data_uri
from ..kit.theme import (
    BLUE,
    GREEN,
    GREY,
    INK,
    MUTED,
    ORANGE,
    PANEL,
    PURPLE,
    RULE,
    VERDICTS,
    VERMILION,
    WIDTH,
    colour,
    label,
    styled,
    translucent,
)

if TYPE_CHECKING:
    from ...metrics.statistics import Share, TrueNegatives
    from ...synthesis import Negative
    from .negatives import Made
    from .tables import DifficultyHistory, Perplexity, Setting


# Sentences with the words that were changed in colour and underlined.


ELLIPSIS = " …"


def changed_parts(negative: "Negative") -> list[tuple[str, bool]]:
    """The sentence cut into parts, each with whether it was changed; in order they spell the sentence.

    Changed places are found by their words from left to right, begun at the token that `spans` names where it can be.
    """
    from ...text.alignment import token_characters
    from ...text.graph import tokenise

    sentence, parts, at = negative.sentence, [], 0
    places = token_characters(sentence, tokenise(sentence))
    for span, words in zip(negative.spans, negative.replacement, strict=True):
        named = places[span.start][0] if span.start < len(places) else at
        begin = named if sentence.startswith(words, named) and named >= at else sentence.find(words, at)
        if begin < 0 or not words:
            continue
        parts += [(sentence[at:begin], False), (sentence[begin : begin + len(words)], True)]
        at = begin + len(words)
    return [part for part in [*parts, (sentence[at:], False)] if part[0]]


def marked(negative: "Negative", *, width: int, lines: int = 2, shade: str = VERMILION) -> str:
    """The sentence as a label of at most `lines` lines of `width` characters, changed words in colour, underlined."""
    letters = iter([(letter, changed) for text, changed in changed_parts(negative) for letter in text])
    written = []
    for line in textwrap.wrap(negative.sentence, width, max_lines=lines, placeholder=ELLIPSIS):
        cut = line.endswith(ELLIPSIS)
        own = [_changed(letter, letters) for letter in (line.removesuffix(ELLIPSIS) if cut else line)]
        runs = ((changed, "".join(letter for letter, _ in run)) for changed, run in groupby(own, itemgetter(1)))
        written.append("".join(_coloured(text, shade) if changed else label(text) for changed, text in runs))
        written[-1] += ELLIPSIS if cut else ""
    return "<br>".join(written)


def _changed(letter: str, letters: Iterator[tuple[str, bool]]) -> tuple[str, bool]:
    """The next letter of the sentence as it stands in a line; wrapping leaves blanks out and makes others of them."""
    for found, changed in letters:
        if found == letter or (letter == " " and found.isspace()):
            return letter, changed
    return letter, False


def _coloured(text: str, shade: str) -> str:
    return f'<span style="color:{shade}"><b><u>{label(text)}</u></b></span>'


SIDE, ROW = 16, 50  # pixels: margin, height of a negative


@dataclass(frozen=True)
class Example:
    """A picture, its caption with its score, and named negatives; `scores` are theirs on the same scale."""

    picture: Image.Image
    caption: str
    score: float | None
    negatives: "dict[str, Negative]"
    scores: dict[str, float] = field(default_factory=dict)

    @classmethod
    def of(cls, made: "Mapping[str, Made]", at: int) -> "Example":
        """The hardest negative of the `at`-th caption by each named source; all were made of the same captions."""
        first = next(iter(made.values()))
        data, caption = first.data, first.captions[at]
        found = {name: one.only(at).first(1) for name, one in made.items()}
        hardest = {name: one.negatives[0][0] for name, one in found.items() if len(one)}
        scores = {name: (one.scores[0].item(), one.scores[1].item()) for name, one in found.items() if len(one)}
        own = next((positive for positive, _ in scores.values()), None)
        picture = data.images[int(data.image_of_caption[caption])]
        return cls(picture, data.captions[caption], own, hardest, {name: score for name, (_, score) in scores.items()})


def draw_negative_list(
    picture: Image.Image,
    caption: str,
    negatives: "Sequence[Negative]",
    *,
    title: str,
    subtitle: str = "",
    score: float | None = None,
    scores: Sequence[float] | None = None,
    own_captions: Sequence[str] = (),
) -> go.Figure:
    """A picture with its caption, beside it negatives as rows in the order given, changed words underlined.

    `score` and `scores` are the model's for the caption (the thin line on each bar) and for each negative. Fluency is
    a perplexity; the verdict is the world's on the negative.
    """
    canvas, size = Canvas(), 220
    canvas.picture(data_uri(picture), SIDE, 0, size, size)
    below = _beside(canvas, caption, score, own_captions, size)
    left, right = SIDE + size + 26, WIDTH - SIDE
    bar, perplexity = right - 318, right - 118
    canvas.words("negative", left + 10, 0, size=13, colour=MUTED)
    canvas.words("score", bar, 0, size=13, colour=MUTED)
    canvas.words("perplexity", perplexity, 0, size=13, colour=MUTED, across="right")
    canvas.words("the world says", right, 0, size=13, colour=MUTED, across="right")
    values = [0.0, *(scores or ()), *([] if score is None else [score])]
    ends = min(values), max(*values, 1e-9)
    for at, negative in enumerate(negatives):
        top, middle = 26 + ROW * at, 26 + ROW * at + (ROW - 6) / 2
        rim = {"color": RULE, "width": 1}
        canvas.rectangle(left, top, right + 6 - left, ROW - 6, fillcolor=PANEL, line=rim, layer="below")
        canvas.words(marked(negative, width=50), left + 10, middle, size=13, down="middle")
        if scores is not None:
            _bar(canvas, scores[at], score, ends, bar, middle)
        fluent = "" if negative.fluency is None else _short(negative.fluency)
        canvas.words(fluent, perplexity, middle, size=13, across="right", down="middle")
        _verdict(canvas, negative, right, middle)
    if not negatives:
        canvas.words("no negative came out of it", left + 10, 34, size=14, colour=MUTED)
    return canvas.figure(title, subtitle, height=max(26 + ROW * len(negatives) + 8, below + 8))


def draw_synthetic_examples(examples: Sequence[Example], *, title: str, subtitle: str = "") -> go.Figure:
    """Pictures with their caption (P) and their named negatives below it, each with score and verdict (Figure 1b)."""
    canvas, size, top = Canvas(), 170, 26.0
    left, right = SIDE + size + 24, WIDTH - SIDE
    score = right - 140
    canvas.words("score", score, 0, size=13, colour=MUTED, across="right")
    canvas.words("the world says", right, 0, size=13, colour=MUTED, across="right")
    for example in examples:
        canvas.picture(data_uri(example.picture), SIDE, top, size, size)
        line = top + 4
        line = _line(canvas, "caption", label(example.caption, width=70, lines=2), BLUE, left, line)
        if example.score is not None:
            canvas.words(f"<b>{example.score:.3f}</b>", score, line - 30, size=14, across="right", down="middle")
        for name, negative in example.negatives.items():
            line = _line(canvas, name, marked(negative, width=70), PURPLE, left, line)
            if name in example.scores:
                canvas.words(f"{example.scores[name]:.3f}", score, line - 30, size=14, across="right", down="middle")
            _verdict(canvas, negative, right, line - 30)
        top = max(top + size, line) + 18
    return canvas.figure(title, subtitle, height=top)


def _line(canvas: Canvas, name: str, text: str, shade: str, left: float, top: float) -> float:
    """A named sentence; where the next begins. Its middle is 30 pixels above that."""
    canvas.words(f"<b>{label(name)}</b>", left, top, size=12, colour=shade)
    canvas.words(text, left, top + 16 + (0 if "<br>" in text else 2), size=14)
    return top + (60 if "<br>" in text else 48)


def _beside(canvas: Canvas, caption: str, score: float | None, own: Sequence[str], size: float) -> float:
    """What is written below the picture; where it ends."""
    found = "" if score is None else f" · {score:.3f}"
    canvas.words(f"<b>the caption</b>{found}", SIDE, size + 10, size=13, colour=MUTED)
    below = size + 30
    for number, sentence in enumerate([caption, *own]):
        if number == 1:
            canvas.words("<b>others of the picture</b>", SIDE, below + 4, size=13, colour=MUTED)
            below += 24
        text = label(sentence, width=34, lines=3)
        canvas.words(text, SIDE, below, size=13, colour=INK if number == 0 else MUTED)
        below += 17 * (text.count("<br>") + 1) + 6
    return below


def _bar(
    canvas: Canvas, value: float, mark: float | None, ends: tuple[float, float], x: float, y: float, width: float = 76
) -> None:
    low, high = ends
    scale = width / max(high - low, 1e-9)
    canvas.rectangle(x, y - 5, width, 10, fillcolor=RULE, line={"width": 0})
    canvas.rectangle(x, y - 5, (value - low) * scale, 10, fillcolor=PURPLE, line={"width": 0})
    if mark is not None:
        canvas.rectangle(x + (mark - low) * scale - 1, y - 9, 2, 18, fillcolor=INK, line={"width": 0})
    canvas.words(f"<b>{value:.3f}</b>", x + width + 8, y, size=13, down="middle")


def _verdict(canvas: Canvas, negative: "Negative", right: float, y: float) -> None:
    shade, words = VERDICTS[-1 if negative.truth is None else int(negative.truth)]
    canvas.words(f"<b>{words}</b>", right, y, size=13, colour=shade, across="right", down="middle")


def _short(perplexity: float) -> str:
    return f"{perplexity:.1f}" if perplexity < 100 else f"{perplexity:,.0f}"


# Matching scores of captions and of their hardest negatives, by where the negatives come from (TAGS, Figure 1a).


LEGEND = (None, 0, 1, -1)
GAP = 0.05  # the paper's solid line: the negative that much below


@dataclass(frozen=True)
class Pairs:
    """A source of negatives: score of each caption, of its negative, and the world's verdict (1, 0, −1 undecided)."""

    positive: Float[ndarray, "pair"]
    negative: Float[ndarray, "pair"]
    verdicts: Integer[ndarray, "pair"] | None = None

    @classmethod
    def of(cls, made: "Made", *, logits: bool = False) -> "Pairs":
        """The hardest negative of each caption that has one, by s or by the logits that models rank by."""
        hardest = made.first(1)
        positive, negative = (values.numpy() for values in (hardest.matched if logits else hardest.scores))
        return cls(positive, negative, None if made.data.world is None else hardest.verdicts.numpy())


def draw_score_scatter(
    sources: Mapping[str, Pairs], *, title: str, subtitle: str = "", score: str = "s", gap: float = GAP
) -> go.Figure:
    """A panel for each source, a dot for each triple: its caption's score across, its negative's upwards.

    On the dotted line both are equal; on the solid one the negative is `gap` below. Above each panel stands the share
    of dots left of the dotted and right of the solid line. Dots have the colour of the world's verdict where known.
    """
    figure = make_subplots(1, len(sources), shared_yaxes=True, horizontal_spacing=0.035)
    values = np.concatenate([np.concatenate([pairs.positive, pairs.negative]) for pairs in sources.values()])
    if not len(values):
        raise ItmlabError("there is no pair to draw", remedy="make negatives of more captions")
    low, high = float(values.min()), float(values.max())
    pad = 0.04 * max(high - low, 1e-6)
    ends = [low - pad, high + pad]
    for column, (name, pairs) in enumerate(sources.items(), start=1):
        _lines(figure, ends, gap, column)
        for verdict, (shade, words) in _verdicts(pairs):
            chosen = np.ones(len(pairs.positive), bool) if verdict is None else pairs.verdicts == verdict
            figure.add_scatter(
                x=pairs.positive[chosen],
                y=pairs.negative[chosen],
                mode="markers",
                name=words,
                legendgroup=words,
                legendrank=LEGEND.index(verdict),
                showlegend=verdict is not None and not any(trace.name == words for trace in figure.data),
                marker={"color": translucent(shade, 0.55), "size": 5.5, "line": {"color": shade, "width": 0.5}},
                hovertemplate="caption %{x:.3f}, negative %{y:.3f}<extra></extra>",
                row=1,
                col=column,
            )
        harder = 100 * float(np.mean(pairs.negative >= pairs.positive))
        easy = 100 * float(np.mean(pairs.negative < pairs.positive - gap))
        axis = "" if column == 1 else str(column)
        place = {"x": 0, "xref": f"x{axis} domain", "xanchor": "left", "y": 1.02, "yref": "paper", "yanchor": "bottom"}
        text = f"<b>{label(name)}</b><br>{harder:.0f} % at least as high<br>{easy:.0f} % more than {gap:g} below"
        figure.add_annotation(**place, text=text, align="left", showarrow=False, font={"size": 13, "color": INK})
    figure.update_xaxes(title=f"{label(score)} of the caption", range=ends, showgrid=True, exponentformat="none")
    figure.update_yaxes(range=ends, exponentformat="none")
    figure.update_yaxes(title=f"{label(score)} of its negative", col=1)
    shown = any(pairs.verdicts is not None for pairs in sources.values())
    figure = styled(figure, title, subtitle, height=540, legend=shown)
    return figure.update_layout(margin_t=figure.layout.margin.t + 66, legend_y=1.21)


def _verdicts(pairs: Pairs) -> list[tuple[int | None, tuple[str, str]]]:
    if pairs.verdicts is None:
        return [(None, (PURPLE, "negatives"))]
    names = {0: "false of the picture: a true negative", 1: "true: a false negative", -1: "undecided"}
    shades = {0: PURPLE, 1: VERDICTS[1][0], -1: GREY}
    return [(verdict, (shades[verdict], names[verdict])) for verdict in (-1, 0, 1) if (pairs.verdicts == verdict).any()]


def _lines(figure: go.Figure, ends: list[float], gap: float, column: int) -> None:
    for below, style in ((0.0, {"dash": "dot", "color": INK}), (gap, {"color": MUTED})):
        line = {"width": 1.5, **style}
        where = {"x0": ends[0] + below, "y0": ends[0], "x1": ends[1], "y1": ends[1] - below}
        figure.add_shape(type="line", **where, line=line, layer="above", row=1, col=column)


# What K, L, τ and the way of masking do to negatives: small panels of difficulty, perplexity and truth.


KNOBS = {
    "maskings": "K: maskings",
    "samples": "L: fillings of each",
    "temperature": "τ: temperature",
    "masking": "what is masked",
}
MEASURES = {
    "difficulty": ("difficulty<br>s(I, T⁻) − s(I, T)", PURPLE),
    "fluency": ("median perplexity", ORANGE),
    "truth": ("truly false, %", BLUE),
}


def draw_synthesis_sweep(
    settings: "Mapping[str, Sequence[Setting]]",
    *,
    title: str,
    subtitle: str = "",
    marked: Mapping[str, float | str] | None = None,
) -> go.Figure:
    """A column for each knob, a row for each measure, with 95 % intervals; `marked` values (the paper's) are ringed."""
    figure = make_subplots(
        len(MEASURES), len(settings), shared_yaxes=True, horizontal_spacing=0.025, vertical_spacing=0.06
    )
    for column, (knob, values) in enumerate(settings.items(), start=1):
        for row, (measure, (_, shade)) in enumerate(MEASURES.items(), start=1):
            found = [_ends(setting, measure) for setting in values]
            names = [setting.value if isinstance(setting.value, str) else f"{setting.value:g}" for setting in values]
            rings = [(marked or {}).get(knob) == setting.value for setting in values]
            ends = {
                "array": [upper - value for value, _, upper in found],
                "arrayminus": [value - lower for value, lower, _ in found],
            }
            figure.add_scatter(
                x=[label(name) for name in names],
                y=[value for value, _, _ in found],
                mode="markers" if knob == "masking" else "lines+markers",
                line={"color": shade, "width": 2},
                marker={
                    "color": shade,
                    "opacity": 1,
                    "size": [13 if ring else 9 for ring in rings],
                    "line": {"color": INK, "width": [2.5 if ring else 0 for ring in rings]},
                },
                error_y={**ends, "color": shade, "thickness": 1.5, "width": 4},
                hovertemplate="%{x}: %{y:.3g}<extra></extra>",
                row=row,
                col=column,
            )
        name = KNOBS.get(knob, knob)
        figure.update_xaxes(title=label(name), row=len(MEASURES), col=column)
        figure.update_xaxes(type="category", range=[-0.5, len(values) - 0.5], col=column)
    figure.update_xaxes(showticklabels=True, ticks="", linecolor=MUTED)
    for row in range(1, len(MEASURES)):
        figure.update_xaxes(showticklabels=False, row=row)
    for row, (words, _) in enumerate(MEASURES.values(), start=1):
        figure.update_yaxes(title=words, exponentformat="none", row=row, col=1)
    return styled(figure, title, subtitle, height=640, legend=False)


def _ends(setting: "Setting", measure: str) -> tuple[float, float, float]:
    """Value, lower and upper end."""
    if measure == "truth":
        found = setting.truth.share
        return found.percent, found.lower, found.upper
    found = getattr(setting, measure)
    return found.value, found.lower, found.upper


# TAGS-DC's Tables 3 and 4 and its share of true negatives as figures, with the printed numbers beside.


TABLE_3 = {"positive": 51.13, "tags": 87.63, "corrected": 70.87, "vse_c": 292.76}  # GPT-2, Flickr30K test
TABLE_4 = {  # percent of pairs, [generator][discriminator]
    "tags": {"tags": 98.7, "uniter": 2.3},
    "tags, another seed": {"tags": 99.7, "uniter": 2.8},
    "vse_c": {"tags": 96.3, "uniter": 87.5},
}
TRUE_NEGATIVES = 96.5  # percent of 200 sentences, by two people (Sec. 4.2)
KINDS = {"positive": BLUE, "tags": PURPLE, "wm": "#44546A", "corrected": GREEN, "vse_c": ORANGE}
NAMES = {
    "positive": "captions",
    "tags": "synthetic (TAGS)",
    "tags, another seed": "synthetic (TAGS, another seed)",
    "wm": "synthetic (words masked)",
    "corrected": "corrected",
    "vse_c": "by rule (VSE-C)",
    "in_batch": "hardest of the batch",
    "whole_set": "hardest of the set",
}
MODELS = {"tags": "TAGS", "tags_dc": "TAGS-DC", "uniter": "UNITER"}


def draw_perplexities(
    table: "Mapping[str, Perplexity]",
    *,
    title: str,
    subtitle: str = "",
    model: str = "the causal model",
    paper: Mapping[str, float] = TABLE_3,
) -> go.Figure:
    """Table 3: the median and mean perplexity of each kind of sentence under `model`, and what the paper prints.

    Perplexities of different language models are not comparable, their ratios are: behind each stands how many times
    that of the captions it is.
    """
    rows: list[Row] = []
    for kind, found in table.items():
        shade = KINDS.get(kind, INK)
        dots = [
            Dot(one.value, one.lower, one.upper, shade, f"{_short_name(one.value)}{_times(one.value, first.value)}")
            for one, first in ((found.median, _first(table).median), (found.mean, _first(table).mean))
        ]
        printed = paper.get(kind)
        if printed is not None:
            dots.append(Dot(printed, text=f"{printed:.1f}{_times(printed, paper['positive'])}", printed=True))
        rows.append((NAMES.get(kind, kind), [*dots, *[None] * (3 - len(dots))]))
    own = max(max(found.mean.upper, found.median.upper) for found in table.values())
    least = min(min(found.mean.lower, found.median.lower) for found in table.values())
    axes = [
        _logarithmic("perplexity", least, own),
        _logarithmic("perplexity", least, own),
        _logarithmic("perplexity", min(paper.values()), max(paper.values())),
    ]
    panels = [f"median, {model}", f"mean, {model}", "the paper: GPT-2, Flickr30K"]
    return interval_rows(rows, axes=axes, title=title, subtitle=subtitle, panels=panels)


def draw_discrimination_table(
    table: "Mapping[str, Mapping[str, Share]]",
    *,
    title: str,
    subtitle: str = "",
    paper: Mapping[str, Mapping[str, float]] = TABLE_4,
) -> go.Figure:
    """Table 4: the share of pairs in which each model scores the caption above the negative, by generator.

    Beside it stand the paper's numbers for the same generator and model.
    """
    rows: list[Row] = []
    for generator, by_model in table.items():
        rows.append((NAMES.get(generator, generator), [None, None]))
        for number, (model, found) in enumerate(by_model.items()):
            own = Dot(found.percent, found.lower, found.upper, colour(number), f"{found.percent:.1f} %")
            printed = paper.get(generator, {}).get(model)
            beside = None if printed is None else Dot(printed, text=f"{printed:.1f} %", printed=True)
            rows.append((MODELS.get(model, model), [own, beside]))
    axis = {"title": "the caption scores higher, %", "range": [-4, 124], "tickvals": [0, 25, 50, 75, 100]}
    panels = ["here", "the paper: base size, Flickr30K"]
    return interval_rows(rows, axes=[axis, axis], title=title, subtitle=subtitle, panels=panels)


def draw_true_negative_rates(
    table: "Mapping[str, Mapping[str, TrueNegatives]]",
    *,
    title: str,
    subtitle: str = "",
    paper: float = TRUE_NEGATIVES,
) -> go.Figure:
    """Of each generator's negatives the share that is truly false, by form of the filter; the line is the paper's."""
    rows: list[Row] = []
    shades = (GREY, PURPLE, BLUE)
    for generator, forms in table.items():
        rows.append((NAMES.get(generator, generator), [None]))
        for number, (form, found) in enumerate(forms.items()):
            one, shade = found.share, shades[number % len(shades)]
            text = f"{one.percent:.1f} % of {one.of:,} decided"
            rows.append((form, [Dot(one.percent, one.lower, one.upper, shade, text, at=100)]))
    lowest = min(found.share.lower for forms in table.values() for found in forms.values())
    low = 10 * int(lowest // 10)
    ticks = [tick for tick in range(0, 101, 10 if low >= 50 else 20) if tick >= low]
    axis = {"title": "false of the picture, of those the world decides, %", "range": [low, 100 + 0.32 * (100 - low)]}
    figure = interval_rows(rows, axes=[{**axis, "tickvals": ticks}], title=title, subtitle=subtitle)
    figure.update_layout(margin_t=figure.layout.margin.t + 14)  # for what is written on the line
    figure.add_vline(paper, line={"color": INK, "width": 1.5, "dash": "dash"})
    words = {"text": f"the paper: {paper:g} %, by people", "font": {"size": 13, "color": INK}, "showarrow": False}
    return figure.add_annotation(x=paper, xanchor="right", xshift=-4, y=1, yref="paper", yanchor="bottom", **words)


def _first(table: "Mapping[str, Perplexity]") -> "Perplexity":
    return next(iter(table.values()))


def _times(value: float, first: float) -> str:
    return "" if value == first else f" ({_short_name(value / first)} ×)"


def _short_name(value: float) -> str:
    return f"{value:.1f}" if value < 100 else f"{value:,.0f}"


def _logarithmic(title: str, least: float, most: float) -> dict[str, object]:
    """A logarithmic axis with plain numbers, and room for what is written behind the last value."""
    low, high = log10(least) - 0.12, log10(most)
    digits = (1,) if high - low > 2 else (1, 3)
    powers = range(floor(low), ceil(high) + 1, 1 if high - low < 3 else 2)
    ticks = [digit * 10**power for power in powers for digit in digits]
    shown = [tick for tick in ticks if low <= log10(tick) <= high + 0.2 * (high - low)]
    return {
        "title": title,
        "type": "log",
        "range": [low, high + 0.8 * (high - low)],
        "tickvals": shown,
        "ticktext": [f"{tick:,}" for tick in shown],
        "tickangle": 0,
    }


# The difficulty of negatives over the steps of training, as a density: darker is more of them (TAGS-DC, Fig. 3).


SHADES = ((0, "#FFFFFF"), (0.25, "#BBD6EA"), (0.6, "#3D8FC4"), (1, "#08365C"))
RARE = 0.002  # the share of a run's negatives below which a bin may lie outside the axis
COLUMNS = 60  # of a panel, at most: neighbouring steps are added up
LINES = ((0.1, "dot", "a tenth lies below, a tenth above"), (0.5, "solid", "median"), (0.9, "dot", None))


def draw_difficulty(histories: "Mapping[str, DifficultyHistory]", *, title: str, subtitle: str = "") -> go.Figure:
    """A panel a run, all on one scale: which share of a step's negatives has which score less the caption's.

    A column is a step or some neighbouring ones. Above the dashed line a negative scores higher than the caption that
    it was made of or drawn for.
    """
    grouped = {name: history.grouped(COLUMNS) for name, history in histories.items()}
    figure = make_subplots(
        1,
        max(len(grouped), 1),
        subplot_titles=[label(name) for name in grouped],
        shared_yaxes=True,
        horizontal_spacing=0.04,
    )
    shares = {name: _shares(history) for name, history in grouped.items()}
    most = max((float(share.max()) for share in shares.values()), default=1.0) or 1.0
    for column, (name, history) in enumerate(grouped.items(), start=1):
        place = {"row": 1, "col": column}
        figure.add_heatmap(
            x=history.steps,
            y=(history.edges[:-1] + history.edges[1:]) / 2,
            z=100 * shares[name].T,
            zmin=0,
            zmax=100 * most,
            colorscale=SHADES,
            showscale=column == len(grouped),
            colorbar={
                "title": {"text": "% of the<br>negatives", "font": {"size": 13}},
                "thickness": 14,
                "outlinewidth": 0,
                "len": 0.9,
            },
            hovertemplate="step %{x:.0f}: %{z:.1f} % near %{y:.2f}<extra></extra>",
            **place,
        )
        for share, dash, said in LINES:
            figure.add_scatter(
                x=history.steps,
                y=history.quantile(share),
                mode="lines",
                name=said,
                legendgroup=str(dash),
                showlegend=column == 1 and said is not None,
                line={"color": ORANGE, "width": 2.5 if dash == "solid" else 1.8, "dash": dash},
                hoverinfo="skip",
                **place,
            )
        figure.add_hline(y=0, line={"color": INK, "width": 1.2, "dash": "dash"}, **place)
    figure.update_xaxes(title="step of training", showgrid=False)
    figure.update_yaxes(range=_reach(list(grouped.values())), showgrid=False)
    figure.update_yaxes(title="score of the negative less the caption's", col=1)
    figure = styled(figure, title, subtitle, height=500)
    return figure.update_layout(legend_y=1.08, margin={"t": figure.layout.margin.t + 26, "r": 20})


def _shares(history: "DifficultyHistory") -> np.ndarray:
    """Each step's negatives by bin, adding up to 1; a step without any stays empty."""
    return history.counts / np.maximum(history.counts.sum(axis=1, keepdims=True), 1)


def _reach(histories: "list[DifficultyHistory]") -> list[float]:
    """From the lowest to the highest bin that holds more than `RARE` of any run's negatives, zero always among them."""
    lowest, highest = 0.0, 0.0
    for history in histories:
        held = (history.counts.sum(axis=0) > RARE * history.counts.sum()).nonzero()[0]
        if len(held):
            lowest, highest = min(lowest, history.edges[held[0]]), max(highest, history.edges[held[-1] + 1])
    return [lowest - 0.02, highest + 0.05]
