"""The hardest negative: VSE++'s and most of the field's."""

import torch
from jaxtyping import Bool, Float, Int64
from torch import Tensor

from ..errors import ItmlabError
from .base import Sampler, best, draw, usable


class Hardest(Sampler):
    """Takes each anchor's best-scoring negative (Faghri et al. 2018, VSE++)."""

    def choose(
        self,
        scores: Float[Tensor, "anchor candidate"],
        positives: Bool[Tensor, "anchor candidate"],
        positive_scores: Float[Tensor, "anchor"],
        *,
        generator: torch.Generator,
    ) -> Int64[Tensor, "anchor"]:
        return best(scores, usable(scores, positives))


# The softest negative: the farthest, as SAM samples it.


class Softest(Sampler):
    """Takes each anchor's worst-scoring negative ("SN" of the semantic adaptive margin)."""

    def choose(
        self,
        scores: Float[Tensor, "anchor candidate"],
        positives: Bool[Tensor, "anchor candidate"],
        positive_scores: Float[Tensor, "anchor"],
        *,
        generator: torch.Generator,
    ) -> Int64[Tensor, "anchor"]:
        return best(-scores, usable(scores, positives))


# A random negative: the baseline of every comparison.


class Random(Sampler):
    """Takes any of an anchor's negatives, each with the same probability."""

    def choose(
        self,
        scores: Float[Tensor, "anchor candidate"],
        positives: Bool[Tensor, "anchor candidate"],
        positive_scores: Float[Tensor, "anchor"],
        *,
        generator: torch.Generator,
    ) -> Int64[Tensor, "anchor"]:
        return draw(usable(scores, positives).float(), generator=generator)


# The semi-hard negative: inside the margin, but not above the positive.


class SemiHard(Sampler):
    """Takes each anchor's hardest negative with s⁺ - margin < s < s⁺ (Schroff et al. 2015, FaceNet).

    An anchor without one takes the softest of those that score at least s⁺, which is the nearest to the band that still
    has a loss, and failing that the hardest of the easy ones.
    """

    def __init__(self, margin: float = 0.2):
        if not margin > 0:
            raise ItmlabError(f"the margin of semi-hard negatives must be above 0, not {margin}")
        self.margin = margin

    def choose(
        self,
        scores: Float[Tensor, "anchor candidate"],
        positives: Bool[Tensor, "anchor candidate"],
        positive_scores: Float[Tensor, "anchor"],
        *,
        generator: torch.Generator,
    ) -> Int64[Tensor, "anchor"]:
        may = usable(scores, positives)
        positive = positive_scores[:, None]
        above = may & (scores >= positive)
        inside = may & (scores < positive) & (scores > positive - self.margin)
        chosen = best(scores, inside)
        chosen = torch.where(chosen < 0, best(-scores, above), chosen)
        return torch.where(chosen < 0, best(scores, may), chosen)
