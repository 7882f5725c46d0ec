"""InfoNCE, and ITContrast's InfoCMR, whose denominator also holds synthetic negatives and Gaussian noise.

One direction, of an anchor q with score s⁺ to its match (Wu et al. 2023, Eq. 7):

    L = −log exp(s⁺/τ) / (exp(s⁺/τ) + Σ_batch exp(s⁻/τ) + Σ_synthetic exp(s̄/τ) + Σ_z exp(cos(q, g_z)/τ))

Without the last two sums it is InfoNCE (van den Oord et al. 2018). Candidates marked in `positives` are in no sum:
neither the match twice nor other captions of its image. All are means over the anchors that have a negative.
"""

import math

import torch
from jaxtyping import Bool, Float
from torch import Tensor
from torch.nn.functional import normalize

from ..errors import ItmlabError
from .triplet import Each, Loss, Mask, Scores, check_shapes, mean_of, upcast

NOISE = 128  # Z in ITContrast
TEMPERATURE = 0.05  # τ there


def info_nce(
    scores: Scores,
    positives: Mask,
    positive_scores: Each,
    temperature: float | Float[Tensor, ""] = TEMPERATURE,
    extra_scores: Float[Tensor, "anchor extra"] | None = None,
) -> Loss:
    """−log of the match's share in a softmax over it and the anchor's negatives (van den Oord et al. 2018).

    `extra_scores` are further negatives that belong to no candidate, such as noise.

    >>> scores = torch.tensor([[1.0, 1.0]])
    >>> round(info_nce(scores, torch.tensor([[True, False]]), scores[:, 0]).exp().item(), 3)  # one of two alike
    2.0
    """
    check_shapes(scores, positives, positive_scores)
    if not isinstance(temperature, Tensor) and not temperature > 0:
        raise ItmlabError(f"the temperature of InfoNCE must be above 0, not {temperature}")
    positive = upcast(positive_scores)
    # masked after the division: a temperature that is learnt would get its gradient from -inf otherwise
    terms = [positive[:, None] / temperature, (upcast(scores) / temperature).masked_fill(positives, -math.inf)]
    allowed = ~positives.all(dim=1)
    if extra_scores is not None:
        _check_own("extra", extra_scores, len(scores))
        terms.append(upcast(extra_scores) / temperature)
        allowed = allowed | (extra_scores.shape[1] > 0)
    # the positive stands in every sum, so no row is empty and no gradient is 0/0
    losses = torch.cat(terms, dim=1).logsumexp(dim=1) - positive / temperature
    return mean_of(losses, allowed)


def info_cmr(
    scores: Scores,
    positives: Mask,
    positive_scores: Each,
    temperature: float | Float[Tensor, ""] = TEMPERATURE,
    *,
    synthetic_scores: Float[Tensor, "anchor synthetic"] | None = None,
    synthetic_allowed: Bool[Tensor, "anchor synthetic"] | None = None,
    noise_scores: Float[Tensor, "anchor noise"] | None = None,
) -> Loss:
    """One direction of InfoCMR (ITContrast 2023, Eq. 7; without noise Eq. 6); all scores are cosines.

    Synthetic negatives count where they are allowed (everywhere, if nothing is said). Without them and without noise
    it is `info_nce`, to the last digit.

    >>> scores, match = torch.ones(1, 2), torch.tensor([[True, False]])
    >>> round(info_cmr(scores, match, scores[:, 0], synthetic_scores=torch.ones(1, 2)).exp().item(), 3)
    4.0
    """
    if synthetic_scores is not None:
        _check_own("synthetic", synthetic_scores, len(scores))
        if synthetic_allowed is None:
            synthetic_allowed = torch.ones_like(synthetic_scores, dtype=torch.bool)
        if synthetic_allowed.shape != synthetic_scores.shape:
            raise ItmlabError(
                f"{tuple(synthetic_scores.shape)} synthetic scores, but permissions of {tuple(synthetic_allowed.shape)}"
            )
        scores = torch.cat([scores, synthetic_scores], dim=1)
        positives = torch.cat([positives, ~synthetic_allowed], dim=1)
    return info_nce(scores, positives, positive_scores, temperature, extra_scores=noise_scores)


def _check_own(name: str, scores: Tensor, anchors: int) -> None:
    if scores.ndim != 2 or len(scores) != anchors:
        raise ItmlabError(f"{name} scores must be (anchor, {name}) with {anchors} anchors, not {tuple(scores.shape)}")


def gaussian_noise(
    number: int, features: Float[Tensor, "any dimension"], *, generator: torch.Generator
) -> Float[Tensor, "{number} dimension"]:
    """The g_z of Eq. 7: random directions, evenly over the unit sphere, which are nobody's negatives.

    They have the dimension, type and device of `features`; one set serves every anchor and both directions (METHODS
    4.2).
    """
    shape = number, features.shape[-1]
    # drawn where the generator is, so that a GPU sees the same numbers as a processor
    drawn = torch.randn(shape, generator=generator, device=generator.device)
    return normalize(drawn, dim=1).to(features)
