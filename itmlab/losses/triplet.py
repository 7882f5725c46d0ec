"""The triplet hinge in three forms: over all negatives, the hardest, or one that a sampler chose.

Each is a mean over the anchors that have a negative (VSE++ sums over the batch: B times this), so that the three, and
batches of different sizes, share one scale. The margin is a number or one value an anchor.
"""

import math

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from itmlab.errors import ItmlabError
from itmlab.losses.check import check_shapes, precise


def sampled_triplet(
    positive_scores: Float[Tensor, "anchor"],
    negative_scores: Float[Tensor, "anchor"],
    allowed: Bool[Tensor, "anchor"],
    margin: float | Float[Tensor, "anchor"] = 0.2,
) -> Float[Tensor, ""]:
    """[margin - s⁺ + s⁻]₊ of each anchor's one negative (FNE, one direction of Eq. 3 and 15), mean over `allowed`.

    Where an anchor is not allowed its negative score is not read; with none allowed the loss is 0, and has a gradient.
    """
    if not positive_scores.shape == negative_scores.shape == allowed.shape:
        raise ItmlabError(
            f"a sampled triplet needs one positive, one negative and one permission an anchor; got "
            f"{tuple(positive_scores.shape)}, {tuple(negative_scores.shape)} and {tuple(allowed.shape)}"
        )
    hinges = (precise(negative_scores) - precise(positive_scores) + margin).relu()
    return torch.where(allowed, hinges, 0).sum() / allowed.sum().clamp(min=1)


def max_of_hinges(
    scores: Float[Tensor, "anchor candidate"],
    positives: Bool[Tensor, "anchor candidate"],
    positive_scores: Float[Tensor, "anchor"],
    margin: float | Float[Tensor, "anchor"] = 0.2,
) -> Float[Tensor, ""]:
    """The hinge of each anchor's hardest negative (VSE++'s MH); the gradient reaches one of equals."""
    check_shapes(scores, positives, positive_scores)
    allowed = ~positives.all(dim=1)
    if scores.shape[1] == 0:
        return sampled_triplet(positive_scores, positive_scores, allowed, margin)
    hardest = scores.masked_fill(positives, -math.inf).max(dim=1).values
    return sampled_triplet(positive_scores, hardest, allowed, margin)


def sum_of_hinges(
    scores: Float[Tensor, "anchor candidate"],
    positives: Bool[Tensor, "anchor candidate"],
    positive_scores: Float[Tensor, "anchor"],
    margin: float | Float[Tensor, "anchor"] = 0.2,
) -> Float[Tensor, ""]:
    """The sum of the hinges of all of an anchor's negatives (VSE++'s SH)."""
    check_shapes(scores, positives, positive_scores)
    offset = margin - precise(positive_scores)
    hinges = (precise(scores) + offset[:, None]).relu().masked_fill(positives, 0)
    return hinges.sum() / (~positives.all(dim=1)).sum().clamp(min=1)
