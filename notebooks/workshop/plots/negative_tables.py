"""TAGS-DC's tables of synthetic negatives, as numbers and as figures beside the paper's numbers.

Fan et al. (2022): fluency (Table 3) and the share of truly false negatives (Sec. 4.2). METHODS 3.8 describes how each
is measured.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import log10
from typing import Any

import numpy as np
import plotly.graph_objects as go

from itmlab.errors import ItmlabError
from itmlab.metrics import CausalModel, fluency
from itmlab.metrics.statistics import Interval, interval
from itmlab.synthesis.negative import Implied, without_false_negatives
from itmlab.synthesis.tags import implied_in

from ..analysis.accuracies import TrueNegatives
from ..analysis.negatives import SyntheticNegatives
from ..analysis.words import corrections
from .bars import Dot, Row, interval_rows
from .negatives import short
from .theme import BLUE, GREEN, GREY, INK, ORANGE, PURPLE

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
