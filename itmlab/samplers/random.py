"""A random negative: the baseline of every comparison."""

import torch
from jaxtyping import Bool, Float, Int64
from torch import Tensor

from itmlab.samplers.base import Sampler, draw, usable


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
