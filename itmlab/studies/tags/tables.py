"""TAGS-DC's tables and its sweep over synthetic negatives, as numbers and as figures beside the paper's numbers.

Fan et al. (2022): fluency (Table 3), the share of truly false negatives (Sec. 4.2), and what K, L, τ and the kind of
masking do (A.1 gives values alone). METHODS 3.8 describes how each is measured.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import log10
from typing import Any

import numpy as np
import plotly.graph_objects as go

from ...data.captionset import CaptionSet
from ...errors import ItmlabError
from ...metrics import CausalModel, TrueNegatives, fluency
from ...metrics.statistics import Interval, interval
from ...synthesis.negative import Implied, without_false_negatives
from ...synthesis.tags import implied_in
from ..kit.bars import Dot, Line, Row, draw_curves, interval_rows
from ..kit.theme import BLUE, GREEN, GREY, INK, ORANGE, PURPLE
from .negative_figures import short
from .negatives import SyntheticNegatives, synthetic_negatives
from .words import corrections

KINDS = {"positive": BLUE, "tags": PURPLE, "wm": "#44546A", "corrected": GREEN, "vse_c": ORANGE}
NAMES = {
    "positive": "captions",
    "tags": "synthetic (TAGS)",
    "wm": "synthetic (words masked)",
    "corrected": "corrected",
    "vse_c": "by rule (VSE-C)",
}

# Fluency of captions, negatives and corrected negatives (Table 3).

TABLE_3 = {"positive": 51.13, "tags": 87.63, "corrected": 70.87, "vse_c": 292.76}  # GPT-2, Flickr30K test


@dataclass(frozen=True)
class Perplexity:
    """Perplexity of sentences of one kind: the mean, as in the paper, and the median, which outliers do not move."""

    mean: Interval
    median: Interval
    sentences: int


def fluency_table(
    made: Mapping[str, SyntheticNegatives], *, model: str | CausalModel = "scenes", corrected_by: Any = None
) -> dict[str, Perplexity]:
    """Return the perplexity of the captions ("positive"), of each generator's negatives and of corrected negatives.

    Sentences without words are left out.

    Args:
        made: negatives by generator. The captions are those of the first one.
        model: a causal language model by name, folder or in memory.
        corrected_by: a cross-encoder with H_WoC, which rewrites the first generator's negatives ("corrected").
    """
    first = next(iter(made.values()))
    images = first.data.image_of_caption[list(first.captions)].tolist()
    table = {"positive": _perplexity([first.data.captions[number] for number in first.captions], images, model)}
    for name, source in made.items():
        sentences, images = [negative.sentence for negative in source.all()], source.images.tolist()
        table[name] = _perplexity(sentences, images, model)
        if source is first and corrected_by is not None:
            table["corrected"] = _perplexity(corrections(corrected_by, source.data, images, sentences), images, model)
    return table


def _perplexity(sentences: Sequence[str], images: Sequence[int], model: str | CausalModel) -> Perplexity:
    measured = fluency(sentences, model)
    known = (measured.tokens > 0).numpy()
    values, owners = measured.perplexity.numpy()[known], np.asarray(images)[known]
    return Perplexity(interval(values, owners), interval(values, owners, np.median), int(known.sum()))


def draw_perplexities(
    table: Mapping[str, Perplexity], *, title: str, subtitle: str = "", model: str = "the causal model"
) -> go.Figure:
    """Draw Table 3: median and mean perplexity of each kind of sentence, beside the paper's numbers.

    Perplexities of different language models are not comparable, but their ratios are: in brackets stands the ratio to
    the captions' perplexity.

    Args:
        model: the name of the causal language model.
    """
    captions = next(iter(table.values()))
    rows: list[Row] = []
    for kind, measured in table.items():
        shade = KINDS.get(kind, INK)
        dots: list[Dot | None] = []
        for value, base in ((measured.median, captions.median), (measured.mean, captions.mean)):
            dots.append(Dot(*value, shade, _with_ratio(value.value, base.value)))
        number = TABLE_3.get(kind)
        dots.append(
            None if number is None else Dot(number, text=_with_ratio(number, TABLE_3["positive"]), printed=True)
        )
        rows.append((NAMES.get(kind, kind), dots))
    ends = [value for measured in table.values() for pair in (measured.mean, measured.median) for value in pair]
    axes = [_logarithmic(ends), _logarithmic(ends), _logarithmic(TABLE_3.values())]
    panels = [f"median, {model}", f"mean, {model}", "the paper: GPT-2, Flickr30K"]
    return interval_rows(rows, axes=axes, title=title, subtitle=subtitle, panels=panels)


def _with_ratio(value: float, base: float) -> str:
    return short(value) if value == base else f"{short(value)} ({short(value / base)} ×)"


def _logarithmic(values: Any) -> dict[str, object]:
    """Return a logarithmic axis for these values, with room for texts to the right."""
    low, high = log10(min(values)), log10(max(values))
    room = [low - 0.1, high + 0.8 * (high - low) + 0.1]
    return {"title": "perplexity", "type": "log", "range": room, "nticks": 4, "tickangle": 0}


# The filter of false negatives: the share of truly false sentences before and after it.

BEFORE, AFTER, IMPLIED = "before the filter", "after the filter", "with implied words"
TRUE_NEGATIVES = 96.5  # percent of 200 sentences, judged by two people (Sec. 4.2)


def truth_by_filter(
    made: SyntheticNegatives, *, keep: int | None = 31, implied: Implied | None = None
) -> dict[str, TrueNegatives]:
    """Return the true negatives among the `keep` best of each caption, by form of the filter (Sec. 2.1.2).

    Args:
        made: all candidates (made with `filtered=False, keep=None`), so that each form chooses from the same ones.
        keep: negatives per caption.
        implied: what words imply (default: the world's lexicon); an empty one leaves that form of the filter out.

    Raises:
        ItmlabError: the data have no world.
    """
    if made.data.world is None:
        raise ItmlabError("this data set has no ground truth", where=made.data.name, remedy='use itmlab.load("scenes")')
    implied = implied_in(made.data) if implied is None else implied
    said = made.data.captions_of(made.data.image_of_caption[list(made.captions)].tolist())
    forms = {BEFORE: lambda row, captions: row, AFTER: without_false_negatives}
    if implied:
        forms[IMPLIED] = partial(without_false_negatives, implied=implied)
    rates = {}
    for name, form in forms.items():
        negatives = [form(row, captions)[:keep] for row, captions in zip(made.negatives, said, strict=True)]
        rates[name] = replace(made, negatives=negatives).truth
    return rates


def draw_true_negative_rates(
    table: Mapping[str, Mapping[str, TrueNegatives]], *, title: str, subtitle: str = ""
) -> go.Figure:
    """Draw the share of truly false negatives by generator and form of the filter, beside the paper's number."""
    rows: list[Row] = [
        ("the paper, by people", [Dot(TRUE_NEGATIVES, text=f"{TRUE_NEGATIVES:g} %", at=100, printed=True)])
    ]
    for generator, forms in table.items():
        rows.append((NAMES.get(generator, generator), []))
        for (form, rate), shade in zip(forms.items(), (GREY, PURPLE, BLUE), strict=False):
            share = rate.share
            text = f"{share.percent:.1f} % of {share.of:,} decided"
            rows.append((form, [Dot(share.percent, share.lower, share.upper, shade, text, at=100)]))
    axis = {"title": "false of the picture, % of those that the world decides"}
    return interval_rows(rows, axes=[axis], title=title, subtitle=subtitle)


# What K, L, τ and the kind of masking do: difficulty, perplexity and truth.

PAPER_SWEEP = {"maskings": 20, "samples": 20, "temperature": 1.5, "masking": "phrase"}  # appendix A.1
KNOBS = {"maskings": "K: maskings", "samples": "L: fillings", "temperature": "τ", "masking": "what is masked"}


@dataclass(frozen=True)
class Setting:
    """The negatives at one value of a knob: mean difficulty s(I, T⁻) − s(I, T), median perplexity and truth."""

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
    """Move one knob of Algorithm 1 at a time, the others staying as in the paper (20, 20, 1.5, phrase).

    Args:
        keep: how many of the best negatives of each caption are measured.
        options: further arguments of `synthetic_negatives`.

    Returns:
        A `Setting` for each value of "maskings" (K), "samples" (L), "temperature" (τ) and "masking".
    """
    values = {"maskings": maskings, "samples": samples, "temperature": temperature, "masking": masking}
    known: dict[tuple[Any, ...], SyntheticNegatives] = {}  # the paper's setting is shared by all knobs
    sweep: dict[str, list[Setting]] = {}
    for knob, settings in values.items():
        sweep[knob] = []
        for value in settings:
            drawing = PAPER_SWEEP | {knob: value}
            key = tuple(drawing.values())
            if key not in known:
                generator = {"phrase": "tags", "word": "wm"}[drawing.pop("masking")]
                drawing |= options | {"run": run, "keep": keep, "fluent": fluent}
                known[key] = synthetic_negatives(data, captions, generator, **drawing)
            sweep[knob].append(_measured(value, known[key]))
    return sweep


def _measured(value: float | str, made: SyntheticNegatives) -> Setting:
    images = made.images.numpy()
    perplexities = np.array([negative.fluency for negative in made.all()])
    known = ~np.isnan(perplexities)
    fluent = interval(perplexities[known], images[known], np.median)
    return Setting(value, interval(made.difficulty.numpy(), images), fluent, made.truth, len(made))


def draw_synthesis_sweep(settings: Mapping[str, list[Setting]], *, title: str, subtitle: str = "") -> go.Figure:
    """Draw a panel per measure and knob, with 95 % intervals."""
    measures = {
        "difficulty": lambda setting: setting.difficulty,
        "median perplexity": lambda setting: setting.fluency,
        "truly false, %": lambda setting: (
            setting.truth.share.percent,
            setting.truth.share.lower,
            setting.truth.share.upper,
        ),
    }
    panels = {}
    for (measure, ends), shade in zip(measures.items(), (PURPLE, ORANGE, BLUE), strict=True):
        for knob, values in settings.items():
            middle, lower, upper = np.array([tuple(ends(setting)) for setting in values]).T
            places = [setting.value for setting in values]
            line = Line(middle, places, lower, upper, whiskers=True, shade=shade, markers=True)
            panels[f"{measure} by {KNOBS.get(knob, knob)}"] = {measure: line}
    figure = draw_curves(panels, title=title, subtitle=subtitle, axis="", across=len(settings))
    return figure.update_yaxes(rangemode="normal").update_annotations(font_size=12)
