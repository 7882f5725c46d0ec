"""Intervals that are honest about few cases and about cases of one image, correlations with ratings.

One bootstrap (`bootstrap`, which draws whole clusters), Student's t over seeds with images resampled inside
(`seed_mean`), one interval of a share (`wilson`, and `share` for dependent cases), and Pearson's correlation.
"""

import bisect
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Float, Int, Int64
from numpy import ndarray
from scipy.special import nctdtr, ndtri, stdtr, stdtrit  # not scipy.stats, which takes seconds to import
from torch import Tensor

from ..errors import ItmlabError
from ..fields import check_known

# The bootstrap: images (or seeds) drawn again, with all that belongs to them.


class Interval(NamedTuple):
    """A value and the ends of its 95 % interval."""

    value: float
    lower: float
    upper: float

    def __str__(self) -> str:
        return f"{self.value:.3g} ({self.lower:.3g} to {self.upper:.3g})"


def bootstrap(
    value: float,
    statistic: Callable[[Int[ndarray, "draw cluster"]], Float[ndarray, "draw"]],
    clusters: int,
    *,
    draws: int = 2000,
    seed: int = 0,
    counts: bool = False,
) -> Interval:
    """Return a value with its 95 % percentile bootstrap over clusters (Efron & Tibshirani 1993, Sec. 13.3).

    For few clusters, such as seeds, it is too narrow: use `seed_mean`.

    Args:
        value: the statistic of the data.
        statistic: called once, with the clusters of all draws.
        clusters: how many there are. A cluster is a group of dependent cases: an image with its captions, a seed.
        draws: how many are made.
        seed: of the draws.
        counts: give `statistic` how often each cluster is drawn, not which ones.

    >>> sums, sizes = np.array([1.0, 5.0, 3.0]), np.array([1, 2, 1])
    >>> print(bootstrap(9 / 4, lambda drawn: sums[drawn].sum(1) / sizes[drawn].sum(1), 3))
    2.25 (1 to 3)
    """
    random = np.random.default_rng(seed)
    drawn = drawn_counts(random, clusters, draws) if counts else random.integers(clusters, size=(draws, clusters))
    known = np.asarray(statistic(drawn), dtype=float)
    known = known[~np.isnan(known)]
    lower, upper = np.quantile(known, (0.025, 0.975)) if len(known) else (math.nan, math.nan)
    return Interval(float(value), float(lower), float(upper))


def drawn_counts(random: np.random.Generator, clusters: int, draws: int) -> Int[ndarray, "draw cluster"]:
    """Return how often each cluster is drawn, when as many are drawn with replacement as there are."""
    return random.multinomial(clusters, np.full(clusters, 1 / clusters), size=draws)


def interval(
    values: Float[ndarray, "case"],
    images: Int[ndarray, "case"],
    statistic: Callable[[Float[ndarray, "case"]], float] = np.mean,
    *,
    times: int = 400,
    seed: int = 0,
) -> Interval:
    """Return any statistic of cases with its bootstrap over images; NaN without cases.

    Args:
        values: of the cases.
        images: the image of each case.
        statistic: of the values of some cases.
        times: how often images are drawn.
        seed: of the draws.
    """
    values, images = np.asarray(values, dtype=float), np.asarray(images)
    if not len(values):
        return Interval(math.nan, math.nan, math.nan)
    order = np.argsort(images, kind="stable")
    groups = np.split(values[order], np.unique(images[order], return_index=True)[1][1:])

    def of_draws(drawn: Int[ndarray, "draw image"]) -> list[float]:
        return [statistic(np.concatenate([groups[at] for at in draw])) for draw in drawn]

    return bootstrap(statistic(values), of_draws, len(groups), draws=times, seed=seed)


# Student's t: the few seeds, with images resampled inside.


@dataclass(frozen=True)
class SeedMean:
    """A mean over seeds with its standard error, as numbers or as arrays with one entry per column.

    Attributes:
        value: the mean.
        error: its standard error.
        freedom: the degrees of freedom of Student's t.
    """

    value: Float[ndarray, "*column"]
    error: Float[ndarray, "*column"]
    freedom: Float[ndarray, "*column"]

    @property
    def ends(self) -> tuple[Float[ndarray, "*column"], Float[ndarray, "*column"]]:
        """The lower and the upper ends of the 95 % intervals."""
        reach = stdtrit(self.freedom, 0.975) * self.error
        return self.value - reach, self.value + reach

    @property
    def p(self) -> Float[ndarray, "*column"]:
        """The two-sided p of "the mean is 0": below 0.05 where the interval excludes 0."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.nan_to_num(2 * stdtr(self.freedom, -np.abs(self.value) / self.error), nan=1.0)


def seed_mean(
    values: Float[ndarray, "seed *column"], drawn: Float[ndarray, "draw seed *column"] | None = None, images: int = 2
) -> SeedMean:
    """Return the mean of paired values over seeds with Student's t, and with the images' uncertainty where known.

    The variance of the mean is that over seeds plus that over images, V = S/s + I. The bootstrap over images gives I,
    less the part that images and seeds have only together, which S holds already. The degrees of freedom are
    Satterthwaite's: those of the seeds where seeds dominate, those of the images where images dominate.

    Args:
        values: one value per seed, for example the differences of two recipes.
        drawn: the same values in bootstrap draws of the images, the same draws for all seeds. NaN does not count.
        images: the number of images that are drawn.

    Raises:
        ItmlabError: fewer than two seeds and no draws. With draws, one seed gives the uncertainty of the images alone.

    References:
        "Student" (1908); Satterthwaite (1946), degrees of freedom of a sum of variances.
    """
    values = np.asarray(values, dtype=float)
    seeds = len(values)
    if seeds < 2 and drawn is None:
        raise ItmlabError(f"{seeds} values have no interval", where="seed_mean", remedy="give two or more")
    of_images, more_images, more_seeds = np.zeros(values.shape[1:]), max(images - 1, 1), max(seeds - 1, 1)
    of_seeds = of_images if seeds < 2 else values.var(axis=0, ddof=1) / seeds
    if drawn is not None:
        means = np.nanmean(drawn, axis=1, keepdims=True)
        together = np.nanvar(drawn - means, axis=0, ddof=1).sum(axis=0) / more_seeds / seeds
        of_images = np.maximum(np.nanvar(means[:, 0], axis=0, ddof=1) - together, 0) * images / more_images
    variance = of_seeds + of_images
    with np.errstate(divide="ignore", invalid="ignore"):
        freedom = variance**2 / (of_seeds**2 / more_seeds + of_images**2 / more_images)
    return SeedMean(values.mean(axis=0), np.sqrt(variance), np.nan_to_num(freedom, nan=more_seeds))


def students_t(values: Float[ndarray, "seed"]) -> Interval:
    """Return the mean of one value per seed (paired differences, say) with Student's 95 % interval ("Student", 1908).

    Raises:
        ItmlabError: fewer than two values.

    >>> print(students_t(np.array([1.0, 2.0, 3.0])))
    2 (-0.484 to 4.48)
    """
    mean = seed_mean(values)
    return Interval(*map(float, (mean.value, *mean.ends)))


def verdict(
    interval: Interval,
    *,
    expected: Literal["higher", "lower", "equal"] = "higher",
    mark: float = 0.0,
    margin: float = 0.0,
) -> Literal["held", "not seen", "contrary"]:
    """Return what an interval of a difference says about a claim: "held", "contrary", or "not seen" for neither.

    "higher" or "lower" holds where the whole interval lies on that side of `mark`, and is contrary where it lies on the
    other. "equal" holds where the interval lies within `margin` of the mark (two one-sided tests: Schuirmann 1987), and
    is contrary where it lies outside. NaN decides nothing.

    Args:
        interval: of the difference.
        expected: the claim.
        mark: the value that the difference is compared with.
        margin: what difference would not matter, for "equal".

    Raises:
        ItmlabError: another claim, or "equal" without a margin above 0.

    >>> verdict(Interval(2.0, 0.5, 3.5)), verdict(Interval(2.0, -0.5, 4.5)), verdict(Interval(2.0, 0.5, 3.5), mark=4)
    ('held', 'not seen', 'contrary')
    >>> verdict(Interval(0.2, -0.6, 1.0), expected="equal", margin=1.5)
    'held'
    """
    check_known(expected, ("higher", "lower", "equal"), "claim")
    if expected == "equal" and not margin > 0:
        raise ItmlabError(f"margin={margin!r} makes nothing equal", remedy="give what difference would not matter")
    lower, upper = interval.lower - mark, interval.upper - mark
    claims = {
        "higher": (lower > 0, upper < 0),
        "lower": (upper < 0, lower > 0),
        "equal": (-margin <= lower and upper <= margin, lower > margin or upper < -margin),
    }
    held, contrary = claims[expected]
    return "held" if held else "contrary" if contrary else "not seen"


def holm(values: Sequence[float]) -> list[float]:
    """Return p-values corrected for their number (Holm 1979).

    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    order = np.argsort(values, kind="stable")
    scaled = np.asarray(values, dtype=float)[order] * np.arange(len(values), 0, -1)
    corrected = np.empty(len(values))
    corrected[order] = np.minimum(1.0, np.maximum.accumulate(scaled))
    return corrected.tolist()


def smallest_effect(interval: Interval, power: float = 0.8) -> float:
    """Return the smallest difference that would be seen: with this `power`, an interval as wide leaves 0 out.

    For a normally distributed value: (1.96 + 0.84) standard errors, of the 3.92 that the interval is wide.

    >>> round(smallest_effect(Interval(1.0, -1.0, 3.0)), 2)
    2.86
    """
    return float((QUANTILE + ndtri(power)) / (2 * QUANTILE) * (interval.upper - interval.lower))


MOST_SEEDS = 10_000


def seeds_needed(std: float, effect: float, *, power: float = 0.8, fixed: float = 0.0) -> int | float:
    """Return how many paired runs a two-sided test at 5 % needs to find a difference of `effect` with that `power`.

    Without `fixed` the test is Student's, with it its degrees of freedom are Satterthwaite's (1946); the power is that
    of the noncentral t distribution.

    Args:
        std: the standard deviation of one pair's difference.
        effect: the difference.
        power: the probability of finding it.
        fixed: the standard error that more runs do not lessen, such as that of the test pictures.

    Returns:
        At most MOST_SEEDS; infinity where no number is enough.

    Raises:
        ItmlabError: no effect, an unknown deviation, or a power that is not a probability.

    >>> seeds_needed(1.0, 1.0), seeds_needed(1.0, 0.5), seeds_needed(1.0, 1.0, fixed=0.5)
    (10, 34, inf)
    """
    if not effect or not math.isfinite(effect):
        raise ItmlabError(f"effect={effect!r} is not a difference", remedy="give the one that is to be seen, in points")
    if not (math.isfinite(std) and min(std, fixed) >= 0 and 0.05 <= power < 1):
        raise ItmlabError(f"std must be 0 or more and power at least 0.05 and below 1, got {std!r} and {power!r}")
    if fixed and abs(effect) / fixed < QUANTILE + ndtri(power):
        return math.inf

    def is_enough(count: int) -> bool:
        variance = max(std, 1e-9 * abs(effect)) ** 2 / count
        error, freedom = math.sqrt(variance + fixed**2), (count - 1) * (1 + fixed**2 / variance) ** 2
        bound, shift = stdtrit(freedom, 0.975), abs(effect) / error
        below = np.nan_to_num(nctdtr(freedom, shift, -bound))  # NaN where it is less than 1e-30
        # far out the noncentral t loses its digits, and all of it is beyond the bound
        return shift > 30 + bound or 1 - nctdtr(freedom, shift, bound) + below >= power

    most = 2
    while not is_enough(most) and most < MOST_SEEDS:  # doubled, as the noncentral t fails far beyond what is enough
        most = min(2 * most, MOST_SEEDS)
    return bisect.bisect_left(range(most), True, lo=max(2, most // 2), key=is_enough)


# Shares: Wilson's interval, and how many cases there really are where those of one image agree.

QUANTILE = 1.959963984540054  # 97.5 % of the normal distribution


def wilson(
    share: Float[ndarray, "*any"] | float, cases: Float[ndarray, "*any"] | float
) -> tuple[Float[ndarray, "*any"], Float[ndarray, "*any"]]:
    """Return the ends of the 95 % interval of a share (0 to 1) of so many cases (Wilson 1927), numbers or arrays.

    They solve |share - end| = z √(end (1 - end) / cases): not empty at 0 and 1, and never outside.

    >>> lower, upper = wilson(193 / 200, 200)
    >>> print(f"{lower:.3f} {upper:.3f}")
    0.930 0.983
    """
    square = QUANTILE**2 / cases
    centre = (share + square / 2) / (1 + square)
    half = QUANTILE * np.sqrt(share * (1 - share) / cases + square / (4 * cases)) / (1 + square)
    # at 0 and 1 the ends are exact, whatever the rounding
    return np.where(share == 0, 0.0, centre - half), np.where(share == 1, 1.0, centre + half)


@dataclass(frozen=True)
class Share:
    """`count` of `of` cases in percent, with the 95 % interval; NaN without cases."""

    percent: float
    lower: float
    upper: float
    count: int
    of: int

    def __str__(self) -> str:
        if not self.of:
            return "none of 0"
        return f"{self.percent:.1f} % ({self.lower:.1f} to {self.upper:.1f}) of {self.of:,}"


def share(holds: Bool[Tensor, "case"] | Float[Tensor, "case"], images: Int64[Tensor, "case"] | None = None) -> Share:
    """Return the share of cases for which a condition holds, in percent, with Wilson's 95 % interval.

    With `images`, whose cases are dependent, the number of cases in Wilson's formula is the effective one: the binomial
    variance p(1 - p) over the variance that the ratio has between images (Kish's design effect, 1965), at most the
    number of cases; where all cases agree, the number of images.

    Args:
        holds: whether it holds, per case, or the probability that it does.
        images: the image of each case.

    Raises:
        ItmlabError: lengths that differ.

    >>> print(share(torch.arange(200) < 193))
    96.5 % (93.0 to 98.3) of 200
    """
    holds = torch.as_tensor(holds).double()
    if holds.ndim != 1 or (images is not None and torch.as_tensor(images).shape != holds.shape):
        raise ItmlabError("a share needs a row of cases, and as many images as cases")
    count, of = float(holds.sum()), len(holds)
    if not of:
        return Share(math.nan, math.nan, math.nan, 0, 0)
    lower, upper = wilson(count / of, of if images is None else _effective(holds, torch.as_tensor(images)))
    return Share(100 * count / of, 100 * float(lower), 100 * float(upper), round(count), of)


def _effective(holds: Float[Tensor, "case"], images: Int64[Tensor, "case"]) -> float:
    _, group, sizes = images.to(holds.device).unique(return_inverse=True, return_counts=True)
    held, value = torch.bincount(group, holds), float(holds.mean())
    if len(sizes) == 1 or value in (0.0, 1.0):
        return len(sizes)
    variance = float((held - value * sizes).square().sum()) * len(sizes) / (len(sizes) - 1) / len(holds) ** 2
    return min(len(holds), value * (1 - value) / variance) if variance > 0 else len(holds)


# Correlations with ratings.

Ratings = Float[Tensor, "pair"]  # of pairs of a caption and an image, by a measure or by people


def pearson(
    measure: Ratings, ratings: Ratings, images: Int64[Tensor, "pair"], *, draws: int = 2000, seed: int = 0
) -> Interval:
    """Return Pearson's r of a measure of pairs with their ratings, and its 95 % percentile bootstrap.

    The bootstrap draws images, with all their pairs together: ratings of one image are not independent. A measure or a
    rating that is the same for all pairs has no correlation: NaN. (SAM's Table 1 prints 0.00.)

    Args:
        measure: per pair.
        ratings: per pair.
        images: the image of each pair.
        draws: of the bootstrap.
        seed: of the draws.

    Raises:
        ItmlabError: lengths that differ, fewer than two pairs, or values that are not finite.

    >>> round(pearson(torch.tensor([0.1, 0.4, 0.5]), torch.tensor([1.0, 3.0, 5.0]), torch.arange(3)).value, 3)
    0.961
    """
    x, y, images = (np.asarray(column) for column in (measure, ratings, images))
    if not x.shape == y.shape == images.shape or x.ndim != 1 or len(x) < 2:
        shapes = f"{x.shape}, {y.shape} and {images.shape}"
        raise ItmlabError(f"a correlation needs two pairs or more, with a measure, a rating and an image; got {shapes}")
    if not (np.isfinite(x).all() and np.isfinite(y).all()):
        raise ItmlabError("a measure or rating is not finite", remedy="leave these pairs out")

    def r(pairs: Float[ndarray, "drawn"]) -> float:
        of_measure, of_ratings = (column[pairs.astype(int)].astype(float) for column in (x, y))
        if not np.ptp(of_measure) or not np.ptp(of_ratings):
            return math.nan
        return np.corrcoef(of_measure, of_ratings)[0, 1]

    return interval(np.arange(len(x)), images, r, times=draws, seed=seed)
