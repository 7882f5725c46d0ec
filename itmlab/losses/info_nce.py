"""InfoNCE over a score matrix with a truth mask."""

import math

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from itmlab.errors import ItmlabError
from itmlab.losses.check import check_shapes, precise


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
