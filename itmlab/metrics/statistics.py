"""A share in percent with an interval that is honest at 0, at 100, and where cases of one image hang together."""

import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from jaxtyping import Bool, Float, Int, Int64
from numpy import ndarray
from torch import Tensor

from ..errors import ItmlabError

QUANTILE = 1.959963984540054  # 97.5 % of the normal distribution


@dataclass(frozen=True)
class Share:
    """`count` of `of` cases, in percent, and the 95 % interval of that; NaN of no cases."""

    percent: float
    lower: float
    upper: float
    count: int
    of: int

    def __str__(self) -> str:
        if not self.of:
            return "none of 0"
        return f"{self.percent:.1f} % [{self.lower:.1f}, {self.upper:.1f}] of {self.of:,}"


def share(holds: Bool[Tensor, "case"], images: Int64[Tensor, "case"] | None = None) -> Share:
    """The share of cases for which it `holds`, in percent, with Wilson's 95 % interval.

    Cases of one image hang together: with `images`, the number of cases in Wilson's formula is the effective one, the
    binomial variance p(1 - p) over the variance that the ratio has between images (Kish's design effect), at most the
    number of cases; where all cases agree, the number of images. ItmlabError: lengths that differ.
    """
    holds = torch.as_tensor(holds, dtype=torch.bool)
    if holds.ndim != 1 or (images is not None and torch.as_tensor(images).shape != holds.shape):
        raise ItmlabError("a share needs a row of cases, and as many images as cases")
    count, of = int(holds.sum()), len(holds)
    if not of:
        return Share(math.nan, math.nan, math.nan, 0, 0)
    lower, upper = _wilson(count / of, of if images is None else _effective(holds, torch.as_tensor(images)))
    return Share(100 * count / of, 100 * lower, 100 * upper, count, of)


def _effective(holds: Bool[Tensor, "case"], images: Int64[Tensor, "case"]) -> float:
    names, group = images.to(holds.device).unique(return_inverse=True)
    sizes = torch.bincount(group, minlength=len(names)).double()
    held = torch.bincount(group[holds], minlength=len(names)).double()
    of, groups, value = len(holds), len(names), float(held.sum() / sizes.sum())
    if groups == 1 or value in (0.0, 1.0):
        return groups
    variance = float((held - value * sizes).square().sum()) * groups / (groups - 1) / of**2
    return min(of, value * (1 - value) / variance) if variance > 0 else of


def _wilson(value: float, cases: float) -> tuple[float, float]:
    square = QUANTILE**2 / cases
    centre = (value + square / 2) / (1 + square)
    half = QUANTILE * math.sqrt(value * (1 - value) / cases + square / (4 * cases)) / (1 + square)
    # at 0 and 1 the ends are exact, whatever the rounding
    return (0.0 if value == 0 else centre - half), (1.0 if value == 1 else centre + half)


# How well a measure agrees with people: Pearson's correlation with a bootstrap interval over images (SAM, Table 1).


DRAWS = 2000
PAIRS = ("all", "non-ground-truth")
Normalised = Literal["none", "image", "caption"]


@dataclass(frozen=True)
class Correlation:
    """Pearson's r between a measure and ratings, the 95 % interval, and of how many pairs and images it is.

    r is NaN where the measure (or the rating) is the same for all pairs: it has none. (Table 1 prints 0.00 there.)
    """

    value: float
    lower: float
    upper: float
    pairs: int
    images: int


def pearson(
    measure: Float[Tensor, "pair"],
    ratings: Float[Tensor, "pair"],
    images: Int64[Tensor, "pair"],
    *,
    draws: int = DRAWS,
    seed: int = 0,
) -> Correlation:
    """Pearson's r of a measure of pairs with their ratings, and the 95 % percentile bootstrap of it.

    The bootstrap draws images, with all their pairs together: ratings of one image are not independent. ItmlabError:
    lengths that differ, fewer than two pairs, values that are not finite.
    """
    measure, ratings, images = torch.as_tensor(measure), torch.as_tensor(ratings), torch.as_tensor(images)
    if not measure.shape == ratings.shape == images.shape or measure.ndim != 1:
        raise ItmlabError(
            f"measure, ratings and images must be of as many pairs, not {tuple(measure.shape)}, "
            f"{tuple(ratings.shape)} and {tuple(images.shape)}"
        )
    if len(measure) < 2:
        raise ItmlabError(f"a correlation needs at least two pairs, not {len(measure)}")
    x, y = measure.double(), ratings.double()
    if not bool(x.isfinite().all() and y.isfinite().all()):
        raise ItmlabError("a measure or rating is not finite", remedy="leave these pairs out")
    group, count = images.unique(return_inverse=True)[1], int(images.unique().numel())
    constant = bool((x == x[0]).all() or (y == y[0]).all())
    x, y = _standardised(x), _standardised(y)  # r is the same, and the sums below keep their digits
    moments = torch.stack([torch.ones_like(x), x, y, x * x, y * y, x * y], dim=1)
    sums = torch.zeros(count, 6, dtype=torch.float64).index_add(0, group, moments)
    if constant:
        return Correlation(torch.nan, torch.nan, torch.nan, len(x), count)
    drawn = torch.randint(count, (draws, count), generator=torch.Generator().manual_seed(seed))
    times = torch.zeros(draws, count, dtype=torch.float64).scatter_add_(1, drawn, torch.ones_like(drawn).double())
    found = _from_sums(times @ sums)
    lower, upper = found[~found.isnan()].quantile(torch.tensor([0.025, 0.975], dtype=torch.float64)).tolist()
    return Correlation(_from_sums(sums.sum(0, keepdim=True)).item(), lower, upper, len(x), count)


def human_judgement(
    relevance: Mapping[str, Float[Tensor, "caption image"]],
    ground_truth: Bool[Tensor, "image caption"],
    captions: Int64[Tensor, "pair"],
    images: Int64[Tensor, "pair"],
    ratings: Float[Tensor, "pair"],
    *,
    normalised: Normalised = "none",
    draws: int = DRAWS,
    seed: int = 0,
) -> dict[str, dict[str, Correlation]]:
    """SAM's Table 1: `{measure: {"all": Correlation, "non-ground-truth": Correlation}}` with the ratings of pairs.

    The measures are "binary relevance" (one where the ground truth holds) and those of `relevance`, as CIDEr's or
    SPICE's matrix. What a pair's NCS is the paper does not say. `normalised="none"` takes φ itself; "image" and
    "caption" divide it by the largest φ of that image, or of that caption: NCS@1 (Eq. 5) of the query that retrieved
    this one item; pairs of a query to which nothing is relevant are left out, and a warning counts them. ItmlabError:
    shapes that differ.
    """
    if normalised not in ("none", "image", "caption"):
        raise ItmlabError(f"normalised={normalised!r} is no choice", remedy='use "none", "image" or "caption"')
    truth = ground_truth[images, captions]
    measures = {"binary relevance": truth.double()}
    for name, matrix in relevance.items():
        if matrix.shape != ground_truth.T.shape:
            raise ItmlabError(f"{name} of shape {tuple(matrix.shape)} is not (caption, image)")
        value = matrix[captions, images].double()
        if normalised != "none":
            best = matrix.amax(dim=0)[images] if normalised == "image" else matrix.amax(dim=1)[captions]
            value = torch.where(best > 0, value / best, torch.nan)
            if without := int((best <= 0).sum()):
                warnings.warn(
                    f"{name}: {without} of {len(value)} rated pairs are left out, nothing is relevant to their "
                    f"{normalised} and NCS is not defined",
                    stacklevel=2,
                )
        measures[name] = value
    chosen = {"all": torch.ones_like(truth), "non-ground-truth": ~truth}
    return {
        name: {
            which: pearson(value[kept], ratings[kept], images[kept], draws=draws, seed=seed)
            for which, kept in ((which, mask & ~value.isnan()) for which, mask in chosen.items())
        }
        for name, value in measures.items()
    }


def _standardised(values: Float[Tensor, "pair"]) -> Float[Tensor, "pair"]:
    centred = values - values.mean()
    return centred / centred.square().mean().sqrt().clamp_min(torch.finfo(torch.float64).tiny)


def _from_sums(sums: Float[Tensor, "draw 6"]) -> Float[Tensor, "draw"]:
    """Pearson's r from n, Σx, Σy, Σx², Σy², Σxy; NaN where a variance is 0."""
    count, x, y, xx, yy, xy = sums.unbind(1)
    variances = (count * xx - x * x).clamp_min(0) * (count * yy - y * y).clamp_min(0)
    return torch.where(variances > 1e-18 * count**4, (count * xy - x * y) / variances.sqrt(), torch.nan)


# Are negatives negative: the share of made sentences that are false of their picture.


@dataclass(frozen=True)
class TrueNegatives:
    """The share of decided sentences that are false of their picture, and how many nobody decided."""

    share: Share
    undecided: int

    def __str__(self) -> str:
        return f"{self.share} decided; {self.undecided:,} undecided"


def true_negative_rate(
    verdicts: Sequence[bool | None], images: Sequence[int] | Int64[Tensor, "sentence"] | None = None
) -> TrueNegatives:
    """The share of synthetic sentences that are truly negative, with its 95 % interval.

    A verdict says whether the sentence is true of its picture (`World.entails`): false is a true negative, true a false
    one, None is undecided and in neither count. The paper's is 96.5 % of 200, judged by two people (Sec. 4.2). `images`
    are the sentences' (see `share`).
    """
    if wrong := [verdict for verdict in verdicts if verdict is not None and not isinstance(verdict, bool)]:
        raise ItmlabError(f"a verdict is true, false or None, not {wrong[0]!r}")
    if images is not None and len(images) != len(verdicts):
        raise ItmlabError(f"{len(verdicts)} verdicts, but {len(images)} images")
    decided = [at for at, verdict in enumerate(verdicts) if verdict is not None]
    false = torch.tensor([not verdicts[at] for at in decided], dtype=torch.bool)
    owners = None if images is None else torch.as_tensor(images)[torch.tensor(decided, dtype=torch.int64)]
    return TrueNegatives(share(false, owners), len(verdicts) - len(decided))


# Intervals of any statistic of negatives: images drawn again, with all that belongs to them.


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
