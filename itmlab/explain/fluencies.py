"""How fluent captions, negatives made of them and corrected negatives are (TAGS-DC, Table 3)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..metrics import CausalModel, Fluency, fluency
from .made import Made
from .resampling import Interval, interval
from .words import corrections

POSITIVE, CORRECTED = "positive", "corrected"


@dataclass(frozen=True)
class Perplexity:
    """Of sentences of one kind: the mean perplexity, as the paper prints it, and the median, which no few rule."""

    mean: Interval
    median: Interval
    sentences: int


def fluency_table(
    made: Mapping[str, Made], *, model: str | CausalModel = "scenes", corrected_by: Any = None
) -> dict[str, Perplexity]:
    """The perplexity of the captions ("positive"), of each generator's negatives, and of the first ones corrected.

    The captions are those of the first of `made`, whose negatives `corrected_by` (a one tower with H_WoC) also
    rewrites ("corrected", behind them). `model` is a causal language model by name, folder or in memory. A sentence
    without words counts nowhere.
    """
    first = next(iter(made.values()))
    images = first.data.image_of_caption[list(first.captions)].tolist()
    table = {POSITIVE: _perplexity([first.data.captions[number] for number in first.captions], images, model)}
    for name, one in made.items():
        sentences, images = [negative.sentence for negative in one.all()], one.images.tolist()
        table[name] = _perplexity(sentences, images, model)
        if one is first and corrected_by is not None:
            table[CORRECTED] = _perplexity(corrections(corrected_by, one.data, images, sentences), images, model)
    return table


def _perplexity(sentences: Sequence[str], images: Sequence[int], model: str | CausalModel) -> Perplexity:
    found: Fluency = fluency(sentences, model)
    known = (found.tokens > 0).numpy()
    values, owners = found.perplexity.numpy()[known], np.asarray(images)[known]
    return Perplexity(interval(values, owners), interval(values, owners, np.median), int(known.sum()))
