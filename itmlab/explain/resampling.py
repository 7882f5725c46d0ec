"""Intervals of any statistic of negatives: images drawn again, with all that belongs to them."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int
from numpy import ndarray

TIMES = 400


@dataclass(frozen=True)
class Interval:
    """A value and the ends of its 95 % interval."""

    value: float
    lower: float
    upper: float

    def __str__(self) -> str:
        return f"{self.value:.3g} [{self.lower:.3g}, {self.upper:.3g}]"


def interval(
    values: Float[ndarray, "case"],
    images: Int[ndarray, "case"],
    statistic: Callable[[Float[ndarray, "case"]], float] = np.mean,
    *,
    times: int = TIMES,
    seed: int = 0,
) -> Interval:
    """A statistic and its percentile bootstrap over images (cases of one hang together); all NaN of no cases."""
    values, images = np.asarray(values, dtype=float), np.asarray(images)
    if not len(values):
        return Interval(np.nan, np.nan, np.nan)
    order = np.argsort(images, kind="stable")
    groups = np.split(values[order], np.unique(images[order], return_index=True)[1][1:])
    draws = np.random.default_rng(seed).integers(len(groups), size=(times, len(groups)))
    found = [statistic(np.concatenate([groups[at] for at in draw])) for draw in draws]
    lower, upper = np.quantile(found, (0.025, 0.975))
    return Interval(float(statistic(values)), float(lower), float(upper))
