"""The semi-hard negative: inside the margin, but not above the positive."""

import torch
from jaxtyping import Bool, Float, Int64
from torch import Tensor

from itmlab.errors import ItmlabError
from itmlab.samplers.base import Sampler, best, usable


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
