"""InfoNCE, and ITContrast's InfoCMR, whose denominator also holds synthetic negatives and Gaussian noise.

One direction, of an anchor q with score s⁺ to its match (Wu et al. 2023, Eq. 7):

    L = −log exp(s⁺/τ) / (exp(s⁺/τ) + Σ_batch exp(s⁻/τ) + Σ_synthetic exp(s̄/τ) + Σ_z exp(cos(q, g_z)/τ))

Without the last two sums it is InfoNCE (van den Oord et al. 2018). Synthetic negatives are further candidates of each
anchor, and noise further candidates of all, so that one class serves both.
"""

import math
from dataclasses import dataclass
from typing import Annotated

import torch
from jaxtyping import Float
from torch import Generator, Tensor
from torch.nn.functional import normalize

from ..fields import MOST, Positive, between
from .base import Loss, Mask, PerAnchor, Scores

NOISE = 128  # Z in ITContrast
TEMPERATURE = 0.05  # τ there


@dataclass
class InfoNCE(Loss):
    """−log of the match's share in a softmax over it and the anchor's negatives.

    Args:
        temperature: τ, by which scores are divided.

    References:
        van den Oord et al. (2018), Eq. 4.

    >>> scores = torch.tensor([[1.0, 1.0]])
    >>> InfoNCE()(scores, torch.tensor([[True, False]]), scores[:, 0]).exp()  # one of two alike
    tensor(2.0000)
    """

    temperature: Positive = TEMPERATURE

    def forward(self, scores: Scores, positives: Mask, positive_scores: PerAnchor) -> PerAnchor:
        """log Σ exp(s/τ) over the match and all negatives, minus s⁺/τ, per anchor."""
        match = positive_scores[:, None] / self.temperature
        negatives = (scores / self.temperature).masked_fill(positives, -math.inf)
        return torch.cat([match, negatives], dim=1).logsumexp(dim=1) - match.squeeze(1)


@dataclass
class InfoCMR(InfoNCE):
    """ITContrast's InfoNCE with Gaussian noise vectors in the denominator.

    Args:
        temperature: τ.
        noise: Z, the number of random directions that are negatives of every anchor; 0 gives Eq. 6.

    References:
        Wu et al. (2023), ITContrast, Eq. 7.
    """

    noise: Annotated[int, between(0, MOST)] = NOISE

    def shared_negatives(self, anchors: Float[Tensor, "anchor dimension"], generator: Generator) -> Tensor | None:
        """The noise vectors g_z, one set for both directions."""
        return gaussian_noise(self.noise, anchors, generator=generator) if self.noise else None


def gaussian_noise(
    number: int, features: Float[Tensor, "any dimension"], *, generator: Generator
) -> Float[Tensor, "{number} dimension"]:
    """Random directions, uniform on the unit sphere, with the dimension, type and device of `features`.

    References:
        Wu et al. (2023), ITContrast, Eq. 7; METHODS 4.2.
    """
    # drawn where the generator is, so that a GPU sees the same numbers as a processor
    drawn = torch.randn(number, features.shape[-1], generator=generator, device=generator.device)
    return normalize(drawn, dim=1).to(features)
