"""The softest negative: the farthest, as SAM samples it."""

import torch
from jaxtyping import Bool, Float, Int64
from torch import Tensor

from itmlab.samplers.base import Sampler, best, usable


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
