"""How well a measure agrees with people: Pearson's correlation with a bootstrap interval over images (SAM, Table 1)."""

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import torch
from jaxtyping import Bool, Float, Int64
from torch import Tensor

from itmlab.errors import ItmlabError

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
