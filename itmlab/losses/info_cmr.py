"""ITContrast's loss: InfoNCE whose denominator also holds synthetic negatives and Gaussian noise."""

import torch
from jaxtyping import Bool, Float
from torch import Tensor
from torch.nn.functional import normalize

from itmlab.errors import ItmlabError
from itmlab.losses.info_nce import info_nce

NOISE = 128  # Z in the paper
TEMPERATURE = 0.05


def info_cmr(
    scores: Float[Tensor, "anchor candidate"],
    positives: Bool[Tensor, "anchor candidate"],
    positive_scores: Float[Tensor, "anchor"],
    temperature: float | Float[Tensor, ""] = TEMPERATURE,
    *,
    synthetic_scores: Float[Tensor, "anchor synthetic"] | None = None,
    synthetic_allowed: Bool[Tensor, "anchor synthetic"] | None = None,
    noise_scores: Float[Tensor, "anchor noise"] | None = None,
) -> Float[Tensor, ""]:
    """One direction of InfoCMR (ITContrast, Eq. 7), mean over the anchors that have a negative; all scores are cosines.

    Its denominator is the positive, the candidates not marked in `positives`, the synthetic negatives (those allowed,
    if that is said) and the noise. Without the last two it is `info_nce`, to the last digit.
    """
    if synthetic_scores is not None:
        if synthetic_scores.ndim != 2 or len(synthetic_scores) != len(scores):
            raise ItmlabError(
                f"synthetic scores must be (anchor, synthetic) with {len(scores)} anchors, not "
                f"{tuple(synthetic_scores.shape)}"
            )
        if synthetic_allowed is None:
            synthetic_allowed = torch.ones_like(synthetic_scores, dtype=torch.bool)
        if synthetic_allowed.shape != synthetic_scores.shape:
            raise ItmlabError(
                f"{tuple(synthetic_scores.shape)} synthetic scores, but permissions of {tuple(synthetic_allowed.shape)}"
            )
        scores = torch.cat([scores, synthetic_scores], dim=1)
        positives = torch.cat([positives, ~synthetic_allowed], dim=1)
    return info_nce(scores, positives, positive_scores, temperature, extra_scores=noise_scores)


def gaussian_noise(
    number: int, features: Float[Tensor, "any dimension"], *, generator: torch.Generator
) -> Float[Tensor, "{number} dimension"]:
    """Random directions, evenly over the unit sphere: Eq. 7's noise vectors, which are nobody's negatives.

    They have the dimension, type and device of `features`; one set serves every anchor and both directions.
    """
    shape = number, features.shape[-1]
    drawn = torch.randn(shape, generator=generator, device=generator.device)
    return normalize(drawn, dim=1).to(features)
