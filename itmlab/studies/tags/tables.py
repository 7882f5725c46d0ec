"""TAGS-DC's tables and its sweep over made negatives: each as numbers, and as a figure beside the printed ones.

Fan et al. (2022): fluency (Table 3), who tells captions from negatives (Table 4), how many negatives are truly false
(Sec. 4.2), and what K, L, τ and the way of masking do (A.1 gives values alone). METHODS 3.8 says how each is measured.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import ceil, floor, log10
from typing import Any

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from ...data.captionset import CaptionSet
from ...errors import ItmlabError
from ...metrics import CausalModel, Fluency, TrueNegatives, discrimination, fluency
from ...metrics.statistics import Interval, Share, interval
from ...synthesis.negative import Implied, without_false_negatives
from ...synthesis.tags import implied_in
from ..kit.bars import Dot, Row, interval_rows
from ..kit.scoring import matching, readable_by
from ..kit.theme import BLUE, GREEN, GREY, INK, MUTED, ORANGE, PURPLE, colour, label, styled, whiskers
from .negative_figures import short
from .negatives import SyntheticNegatives, synthetic_negatives
from .words import corrections

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

# How fluent captions, negatives made of them and corrected negatives are (Table 3).

TABLE_3 = {"positive": 51.13, "tags": 87.63, "corrected": 70.87, "vse_c": 292.76}  # GPT-2, Flickr30K test


@dataclass(frozen=True)
class Perplexity:
    """Of sentences of one kind: the mean perplexity, as the paper prints it, and the median, which no few rule."""

    mean: Interval
    median: Interval
    sentences: int


def fluency_table(
    made: Mapping[str, SyntheticNegatives], *, model: str | CausalModel = "scenes", corrected_by: Any = None
) -> dict[str, Perplexity]:
    """The perplexity of the captions ("positive"), of each generator's negatives, and of the first ones corrected.

    The captions are those of the first of `made`, whose negatives `corrected_by` (a cross-encoder with H_WoC) also
    rewrites ("corrected", behind them). `model` is a causal language model by name, folder or in memory. A sentence
    without words counts nowhere.
    """
    first = next(iter(made.values()))
    images = first.data.image_of_caption[list(first.captions)].tolist()
    table = {"positive": _perplexity([first.data.captions[number] for number in first.captions], images, model)}
    for name, one in made.items():
        sentences, images = [negative.sentence for negative in one.all()], one.images.tolist()
        table[name] = _perplexity(sentences, images, model)
        if one is first and corrected_by is not None:
            table["corrected"] = _perplexity(corrections(corrected_by, one.data, images, sentences), images, model)
    return table


def _perplexity(sentences: Sequence[str], images: Sequence[int], model: str | CausalModel) -> Perplexity:
    found: Fluency = fluency(sentences, model)
    known = (found.tokens > 0).numpy()
    values, owners = found.perplexity.numpy()[known], np.asarray(images)[known]
    return Perplexity(interval(values, owners), interval(values, owners, np.median), int(known.sum()))


def draw_perplexities(
    table: Mapping[str, Perplexity], *, title: str, subtitle: str = "", model: str = "the causal model"
) -> go.Figure:
    """Table 3: the median and mean perplexity of each kind of sentence under `model`, and what the paper prints.

    Perplexities of different language models are not comparable, their ratios are: behind each stands how many times
    that of the captions it is.
    """
    rows: list[Row] = []
    captions = next(iter(table.values()))
    for kind, found in table.items():
        dots: list[Dot | None] = []
        for one, first in ((found.median, captions.median), (found.mean, captions.mean)):
            dots.append(Dot(*one, KINDS.get(kind, INK), f"{short(one.value)}{_times(one.value, first.value)}"))
        if printed := TABLE_3.get(kind):
            dots.append(Dot(printed, text=f"{printed:.1f}{_times(printed, TABLE_3['positive'])}", printed=True))
        rows.append((NAMES.get(kind, kind), dots))
    both = [one for found in table.values() for one in (found.mean, found.median)]
    own = _logarithmic(min(one.lower for one in both), max(one.upper for one in both))
    axes = [own, own, _logarithmic(min(TABLE_3.values()), max(TABLE_3.values()))]
    panels = [f"median, {model}", f"mean, {model}", "the paper: GPT-2, Flickr30K"]
    return interval_rows(rows, axes=axes, title=title, subtitle=subtitle, panels=panels)


def _times(value: float, first: float) -> str:
    return "" if value == first else f" ({short(value / first)} ×)"


def _logarithmic(least: float, most: float) -> dict[str, object]:
    """A logarithmic axis with plain numbers, and room for what is written behind the last value."""
    low, high = log10(least) - 0.12, log10(most)
    digits = (1,) if high - low > 2 else (1, 3)
    powers = range(floor(low), ceil(high) + 1, 1 if high - low < 3 else 2)
    ticks = [digit * 10**power for power in powers for digit in digits]
    shown = [tick for tick in ticks if low <= log10(tick) <= high + 0.2 * (high - low)]
    axis = {"title": "perplexity", "type": "log", "range": [low, high + 0.8 * (high - low)]}
    return axis | {"tickvals": shown, "ticktext": [f"{tick:,}" for tick in shown], "tickangle": 0}


# Who tells captions from sentences made of them: each model on each generator's negatives (Table 4).

TABLE_4 = {  # percent of pairs, [generator][discriminator]
    "tags": {"tags": 98.7, "uniter": 2.3},
    "tags, another seed": {"tags": 99.7, "uniter": 2.8},
    "vse_c": {"tags": 96.3, "uniter": 87.5},
}


def discriminated(made: Mapping[str, SyntheticNegatives], models: Mapping[str, Any]) -> dict[str, dict[str, Share]]:
    """`[generator][model]`: the share of pairs (T, T⁻) of a generator in which the model matches T better.

    Every negative that `made` holds is a pair with the caption that it was made of; `.first(1)` leaves the hardest of
    each; a pair of which a model reads the same pieces is left out for it, and counted in a warning. Models are Runs or
    models of any kind, asked for logits or cosines, so that nothing ties by saturating.
    """
    table: dict[str, dict[str, Share]] = {}
    for generator, one in made.items():
        captions = [one.data.captions[number] for number in one.captions]
        of_caption = one.data.image_of_caption[list(one.captions)].tolist()
        table[generator] = {}
        for name, model in models.items():
            match, readable = matching(model, one.data), readable_by(model)
            read = one if readable is None else replace(one, negatives=readable(captions, one.negatives))
            repeated = [at for at, row in enumerate(read.negatives) for _ in row]
            positive = match(of_caption, captions)[repeated]
            negative = match(read.images.tolist(), [negative.sentence for negative in read.all()])
            table[generator][name] = discrimination(positive, negative, read.images)
    return table


def draw_discrimination_table(table: Mapping[str, Mapping[str, Share]], *, title: str, subtitle: str = "") -> go.Figure:
    """Table 4: the share of pairs in which each model scores the caption above the negative, by generator.

    Beside it stand the paper's numbers for the same generator and model.
    """
    rows: list[Row] = []
    for generator, by_model in table.items():
        rows.append((NAMES.get(generator, generator), [None, None]))
        for number, (model, found) in enumerate(by_model.items()):
            dots = [Dot(found.percent, found.lower, found.upper, colour(number), f"{found.percent:.1f} %")]
            if (printed := TABLE_4.get(generator, {}).get(model)) is not None:
                dots.append(Dot(printed, text=f"{printed:.1f} %", printed=True))
            rows.append((MODELS.get(model, model), dots))
    axis = {"title": "the caption scores higher, %", "range": [-4, 124], "tickvals": [0, 25, 50, 75, 100]}
    panels = ["here", "the paper, Table 4"]
    return interval_rows(rows, axes=[axis, axis], title=title, subtitle=subtitle, panels=panels)


# What the filter of false negatives does: the share of made sentences that are truly false before and after it.

BEFORE, AFTER, IMPLIED = "before the filter", "after the filter", "with implied words"
TRUE_NEGATIVES = 96.5  # percent of 200 sentences, judged by two people (Sec. 4.2)


def truth_by_filter(
    made: SyntheticNegatives, *, keep: int | None = 31, implied: Implied | None = None
) -> dict[str, TrueNegatives]:
    """The true negatives among the `keep` best of each caption, with each form of the filter (Sec. 2.1.2).

    `made` holds all candidates (`filtered=False, keep=None`), so that each form chooses from the same ones: none, the
    paper's, and the one that counts what said words imply as said too (`implied`, by default what the world's lexicon
    says; empty: left out). Negatives without truth labels are an ItmlabError.
    """
    if made.data.world is None:
        raise ItmlabError("nobody says what is true of these pictures", where=made.data.name, remedy="take scenes")
    implied = implied_in(made.data) if implied is None else implied
    said = made.data.captions_of(made.data.image_of_caption[list(made.captions)].tolist())

    forms = {BEFORE: lambda row, captions: row, AFTER: without_false_negatives}
    if implied:
        forms[IMPLIED] = partial(without_false_negatives, implied=implied)
    rows = list(zip(made.negatives, said, strict=True))
    left = {name: [form(row, own)[:keep] for row, own in rows] for name, form in forms.items()}
    return {name: replace(made, negatives=negatives).truth for name, negatives in left.items()}


def draw_true_negative_rates(
    table: Mapping[str, Mapping[str, TrueNegatives]], *, title: str, subtitle: str = ""
) -> go.Figure:
    """Of each generator's negatives the share that is truly false, by form of the filter; the line is the paper's."""
    rows: list[Row] = []
    for generator, forms in table.items():
        rows.append((NAMES.get(generator, generator), [None]))
        for number, (form, found) in enumerate(forms.items()):
            one, shade = found.share, (GREY, PURPLE, BLUE)[number % 3]
            text = f"{one.percent:.1f} % of {one.of:,} decided"
            rows.append((form, [Dot(one.percent, one.lower, one.upper, shade, text, at=100)]))
    low = 10 * int(min(found.share.lower for forms in table.values() for found in forms.values()) // 10)
    ticks = [tick for tick in range(0, 101, 10 if low >= 50 else 20) if tick >= low]
    axis = {"title": "false of the picture, of those the world decides, %", "range": [low, 100 + 0.32 * (100 - low)]}
    figure = interval_rows(rows, axes=[{**axis, "tickvals": ticks}], title=title, subtitle=subtitle)
    figure.update_layout(margin_t=figure.layout.margin.t + 14)  # for what is written on the line
    figure.add_vline(TRUE_NEGATIVES, line={"color": INK, "width": 1.5, "dash": "dash"})
    words = {"text": f"the paper: {TRUE_NEGATIVES:g} %, by people", "font": {"size": 13, "color": INK}}
    place = {"x": TRUE_NEGATIVES, "xanchor": "right", "xshift": -4, "y": 1, "yref": "paper", "yanchor": "bottom"}
    return figure.add_annotation(**place, **words, showarrow=False)


# What K, L, τ and the way of masking do: small panels of difficulty, perplexity and truth.

PAPER_SWEEP = {"maskings": 20, "samples": 20, "temperature": 1.5, "masking": "phrase"}  # appendix A.1
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


@dataclass(frozen=True)
class Setting:
    """The negatives at one value of a knob: mean difficulty s(I, T⁻) − s(I, T), median perplexity, truth."""

    value: float | str
    difficulty: Interval
    fluency: Interval
    truth: TrueNegatives
    negatives: int


def synthesis_sweep(
    run: Any,
    data: CaptionSet,
    captions: Sequence[int],
    *,
    maskings: Sequence[int] = (2, 5, 10, 20),
    samples: Sequence[int] = (2, 5, 10, 20),
    temperature: Sequence[float] = (0.5, 1.0, 1.5, 2.0),
    masking: Sequence[str] = ("phrase", "word"),
    keep: int = 5,
    fluent: str | CausalModel = "scenes",
    **options: Any,
) -> dict[str, list[Setting]]:
    """`[knob]` in "maskings" (K), "samples" (L), "temperature" (τ), "masking": a Setting for each of its values.

    One knob is moved at a time, the others stay as in the paper (20, 20, 1.5, phrase). Measured are the `keep` best of
    each caption; `options` are `synthetic_negatives`'. The settings that several knobs share are made once.
    """
    values = {"maskings": maskings, "samples": samples, "temperature": temperature, "masking": masking}
    known: dict[tuple[Any, ...], SyntheticNegatives] = {}

    def made(**changed: Any) -> SyntheticNegatives:
        drawing = PAPER_SWEEP | changed
        key = tuple(drawing.values())
        if key not in known:
            generator = {"phrase": "tags", "word": "wm"}[drawing.pop("masking")]
            settings = options | drawing | {"run": run, "keep": keep, "fluent": fluent}
            known[key] = synthetic_negatives(data, captions, generator, **settings)
        return known[key]

    return {knob: [_measured(value, made(**{knob: value})) for value in some] for knob, some in values.items()}


def _measured(value: float | str, made: SyntheticNegatives) -> Setting:
    images = made.images.numpy()
    perplexities = np.array([one.fluency for one in made.all()])
    known = ~np.isnan(perplexities)
    fluent = interval(perplexities[known], images[known], np.median)
    return Setting(value, interval(made.difficulty.numpy(), images), fluent, made.truth, len(made))


def draw_synthesis_sweep(
    settings: Mapping[str, list[Setting]], *, title: str, subtitle: str = "", marked: Mapping[str, Any] | None = None
) -> go.Figure:
    """A column for each knob, a row for each measure, with 95 % intervals; `marked` values (the paper's) are ringed."""
    gaps = {"horizontal_spacing": 0.025, "vertical_spacing": 0.06}
    figure = make_subplots(len(MEASURES), len(settings), shared_yaxes=True, **gaps)
    for column, (knob, values) in enumerate(settings.items(), start=1):
        for row, (measure, (_, shade)) in enumerate(MEASURES.items(), start=1):
            found = [setting.truth.share if measure == "truth" else getattr(setting, measure) for setting in values]
            heights = [one.percent if measure == "truth" else one.value for one in found]
            ends = [one.lower for one in found], [one.upper for one in found]
            names = [setting.value if isinstance(setting.value, str) else f"{setting.value:g}" for setting in values]
            rings = [(marked or {}).get(knob) == setting.value for setting in values]
            rims = {"color": INK, "width": [2.5 if ring else 0 for ring in rings]}
            dots = {"color": shade, "opacity": 1, "size": [13 if ring else 9 for ring in rings], "line": rims}
            figure.add_scatter(
                x=[label(name) for name in names],
                y=heights,
                mode="markers" if knob == "masking" else "lines+markers",
                line={"color": shade, "width": 2},
                marker=dots,
                error_y=whiskers(heights, *ends, shade, thickness=1.5, width=4),
                hovertemplate="%{x}: %{y:.3g}<extra></extra>",
                row=row,
                col=column,
            )
        figure.update_xaxes(title=label(KNOBS.get(knob, knob)), row=len(MEASURES), col=column)
        figure.update_xaxes(type="category", range=[-0.5, len(values) - 0.5], col=column)
    figure.update_xaxes(showticklabels=True, ticks="", linecolor=MUTED)
    for row, (words, _) in enumerate(MEASURES.values(), start=1):
        figure.update_xaxes(showticklabels=row == len(MEASURES), row=row)
        figure.update_yaxes(title=words, exponentformat="none", row=row, col=1)
    return styled(figure, title, subtitle, height=640, legend=False)
