"""TAGS-DC's Tables 3 and 4 and its share of true negatives as figures, with the printed numbers beside."""

from collections.abc import Mapping
from math import ceil, floor, log10
from typing import TYPE_CHECKING

import plotly.graph_objects as go

from .interval_rows import Dot, Row, interval_rows
from .theme import BLUE, GREEN, GREY, INK, ORANGE, PURPLE, colour

if TYPE_CHECKING:
    from ..explain.fluencies import Perplexity
    from ..metrics.share import Share
    from ..metrics.true_negatives import TrueNegatives

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


def perplexities(
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
            Dot(one.value, one.lower, one.upper, shade, f"{_short(one.value)}{_times(one.value, first.value)}")
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


def discrimination_table(
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


def true_negative_rates(
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
    return "" if value == first else f" ({_short(value / first)} ×)"


def _short(value: float) -> str:
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
