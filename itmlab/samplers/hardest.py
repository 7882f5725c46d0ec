"""The hardest negative: VSE++'s and most of the field's."""

import torch
from jaxtyping import Bool, Float, Int64
from torch import Tensor

from itmlab.samplers.base import Sampler, best, usable


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
