"""A share in percent with an interval that is honest at 0, at 100, and where cases of one image hang together."""

import math
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Int64
from torch import Tensor

from itmlab.errors import ItmlabError

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
