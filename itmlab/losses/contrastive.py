"""InfoNCE over a score matrix with a truth mask."""

import math

import torch
from jaxtyping import Bool, Float
from torch import Tensor
from torch.nn.functional import normalize

from ..errors import ItmlabError
from .triplet import check_shapes, precise


def info_nce(
    scores: Float[Tensor, "anchor candidate"],
    positives: Bool[Tensor, "anchor candidate"],
    positive_scores: Float[Tensor, "anchor"],
    temperature: float | Float[Tensor, ""] = 0.05,
    extra_scores: Float[Tensor, "anchor extra"] | None = None,
) -> Float[Tensor, ""]:
    """-log of exp(s⁺/τ) over itself plus Σ exp(s/τ) of the anchor's negatives, mean over the anchors that have any.

    Candidates marked in `positives` are in no denominator: neither the positive twice nor other captions of its image.
    `extra_scores` are further negatives that belong to no candidate, such as synthetic ones (van den Oord et al. 2018).
    """
    check_shapes(scores, positives, positive_scores)
    if not isinstance(temperature, Tensor) and not temperature > 0:
        raise ItmlabError(f"the temperature of InfoNCE must be above 0, not {temperature}")
    if extra_scores is not None and (extra_scores.ndim != 2 or len(extra_scores) != len(scores)):
        raise ItmlabError(
            f"extra scores must be (anchor, extra) with {len(scores)} anchors, not {tuple(extra_scores.shape)}"
        )
    positive = precise(positive_scores)
    # masked after the division: a temperature that is learnt would get its gradient from -inf otherwise
    terms = [positive[:, None] / temperature, (precise(scores) / temperature).masked_fill(positives, -math.inf)]
    allowed = ~positives.all(dim=1)
    if extra_scores is not None and extra_scores.shape[1]:
        terms.append(precise(extra_scores) / temperature)
        allowed = torch.ones_like(allowed)
    # the positive stands in every sum, so no row is empty and no gradient is 0/0
    losses = torch.cat(terms, dim=1).logsumexp(dim=1) - positive / temperature
    return torch.where(allowed, losses, 0).sum() / allowed.sum().clamp(min=1)


# ITContrast's loss: InfoNCE whose denominator also holds synthetic negatives and Gaussian noise.


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
