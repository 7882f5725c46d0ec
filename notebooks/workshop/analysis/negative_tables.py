"""TAGS-DC's tables of synthetic negatives as numbers.

Fan et al. (2022): fluency (Table 3) and the share of truly false negatives (Sec. 4.2). METHODS 3.8 describes how each
is measured.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from itmlab.errors import ItmlabError
from itmlab.metrics import CausalModel, fluency
from itmlab.metrics.statistics import Interval, interval
from itmlab.synthesis.negative import Implied, without_false_negatives
from itmlab.synthesis.tags import implied_in

from .accuracies import TrueNegatives
from .negatives import SyntheticNegatives
from .words import corrections

NAMES = {"tags": "synthetic (TAGS)", "wm": "synthetic (words masked)", "vse_c": "by rule (VSE-C)"}  # of generators

# Fluency of captions, negatives and corrected negatives (Table 3).


def fluency_table(
    made: Mapping[str, SyntheticNegatives], *, model: str | CausalModel = "scenes", corrected_by: Any = None
) -> dict[str, dict[str, Interval]]:
    """Return median and mean perplexity of the captions, of each generator's negatives and of corrected negatives.

    The paper prints means; outliers do not move the median. Sentences without words are left out.

    Args:
        made: negatives by generator. The captions are those of the first one.
        model: a causal language model by name, folder or in memory.
        corrected_by: a cross-encoder with H_WoC, which rewrites the first generator's negatives ("corrected").
    """
    first = next(iter(made.values()))
    images = first.data.image_of_caption[list(first.captions)].tolist()
    table = {"captions": _perplexity([first.data.captions[number] for number in first.captions], images, model)}
    for name, source in made.items():
        sentences, images = [negative.sentence for negative in source.all()], source.images.tolist()
        table[NAMES.get(name, name)] = _perplexity(sentences, images, model)
        if source is first and corrected_by is not None:
            table["corrected"] = _perplexity(corrections(corrected_by, source.data, images, sentences), images, model)
    return table


def _perplexity(sentences: Sequence[str], images: Sequence[int], model: str | CausalModel) -> dict[str, Interval]:
    measured = fluency(sentences, model)
    known = (measured.tokens > 0).numpy()
    values, owners = measured.perplexity.numpy()[known], np.asarray(images)[known]
    return {"median perplexity": interval(values, owners, np.median), "mean perplexity": interval(values, owners)}


# The filter of false negatives: the share of truly false sentences before and after it.

BEFORE, AFTER, IMPLIED = "before the filter", "after the filter", "with implied words"


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
