"""Hinges on scores, one direction at a time: of all negatives, of the hardest, or of one that a sampler chose.

Faghri et al. 2018 (VSE++), for an anchor with score s⁺ to its match and s⁻ to each of its negatives:

    SH = Σ [α − s⁺ + s⁻]₊        MH = max [α − s⁺ + s⁻]₊

Li et al. 2023 (FNE), Eq. 15, takes the one negative that its sampler drew; Biten et al. 2022 (SAM), Eq. 7, puts a
margin of its own for every anchor in the place of α. Each is a mean over the anchors that have a negative (VSE++ sums
over the batch, B times this), so that all of them, and batches of different sizes, share one scale.
"""

import math

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from ..errors import ItmlabError

Scores = Float[Tensor, "anchor candidate"]
Mask = Bool[Tensor, "anchor candidate"]
Each = Float[Tensor, "anchor"]
Loss = Float[Tensor, ""]


def sum_of_hinges(scores: Scores, positives: Mask, positive_scores: Each, margin: float | Each = 0.2) -> Loss:
    """The sum of the hinges of all candidates that are not marked in `positives` (VSE++'s SH, 2018).

    >>> scores = torch.tensor([[0.75, 0.5, 0.75]])
    >>> round(sum_of_hinges(scores, torch.tensor([[True, False, False]]), scores[:, 0], margin=0.5).item(), 2)
    0.75
    """
    check_shapes(scores, positives, positive_scores)
    offset = margin - upcast(positive_scores)
    hinges = (upcast(scores) + offset[:, None]).relu().masked_fill(positives, 0)
    return hinges.sum() / (~positives.all(dim=1)).sum().clamp(min=1)


def max_of_hinges(scores: Scores, positives: Mask, positive_scores: Each, margin: float | Each = 0.2) -> Loss:
    """The hinge of each anchor's hardest negative (VSE++'s MH, 2018; FNE, Eq. 3).

    >>> scores = torch.tensor([[0.75, 0.5, 0.75]])
    >>> round(max_of_hinges(scores, torch.tensor([[True, False, False]]), scores[:, 0], margin=0.5).item(), 2)
    0.5
    """
    check_shapes(scores, positives, positive_scores)
    allowed = ~positives.all(dim=1)
    if scores.shape[1] == 0:
        return sampled_triplet(positive_scores, positive_scores, allowed, margin)
    # `max` and not `amax`: of equal scores one gets the gradient, as of a sampler's choice
    hardest = scores.masked_fill(positives, -math.inf).max(dim=1).values
    return sampled_triplet(positive_scores, hardest, allowed, margin)


def sampled_triplet(
    positive_scores: Each, negative_scores: Each, allowed: Bool[Tensor, "anchor"], margin: float | Each = 0.2
) -> Loss:
    """[α − s⁺ + s⁻]₊ of each anchor's one negative (FNE 2023, one direction of Eq. 15), mean over `allowed`.

    Where an anchor is not allowed its negative score is not read; with none allowed the loss is 0, and has a gradient.

    >>> round(sampled_triplet(torch.tensor([0.75, 0.5]), torch.tensor([0.5, 9]), torch.tensor([True, False])).item(), 2)
    0.0
    """
    if not positive_scores.shape == negative_scores.shape == allowed.shape:
        raise ItmlabError(
            f"a sampled triplet needs one positive, one negative and one permission an anchor; got "
            f"{tuple(positive_scores.shape)}, {tuple(negative_scores.shape)} and {tuple(allowed.shape)}"
        )
    return mean_of((upcast(negative_scores) - upcast(positive_scores) + margin).relu(), allowed)


def adaptive_margin(
    positive_relevance: Each, negative_relevance: Each, temperature: float, ceiling: float = 1.0
) -> Each:
    """(φ⁺ − φ⁻) / τ of each anchor, at most `ceiling` (SAM 2022, Eq. 7): the margin that `sampled_triplet` takes.

    φ⁺ is the relevance of the anchor's match and φ⁻ that of its negative. From an image: of the caption taken, to the
    captions G of the anchor's image. From a caption: of the anchor itself, to the captions of the image taken. (The
    printed subscripts are swapped; for the other readings see METHODS 2.5.) A negative that describes the image better
    than the match does has a margin below 0, and keeps it.

    >>> adaptive_margin(torch.tensor([3.0, 1.0]), torch.tensor([1.0, 2.0]), temperature=4.0)
    tensor([ 0.5000, -0.2500])
    """
    if positive_relevance.shape != negative_relevance.shape or positive_relevance.ndim != 1:
        raise ItmlabError(
            f"an adaptive margin needs two relevances an anchor; got {tuple(positive_relevance.shape)} and "
            f"{tuple(negative_relevance.shape)}"
        )
    if not 0 < temperature < math.inf:
        raise ItmlabError(f"the temperature of an adaptive margin must be above 0, not {temperature}")
    return ((positive_relevance - negative_relevance) / temperature).clamp(max=ceiling)


def mean_of(losses: Each, allowed: Bool[Tensor, "anchor"]) -> Loss:
    """The mean over the anchors that are `allowed`; 0, with a gradient, where none is."""
    return torch.where(allowed, losses, 0).sum() / allowed.sum().clamp(min=1)


def upcast(values: Float[Tensor, "*any"]) -> Float[Tensor, "*any"]:
    """bf16 and fp16 values in single precision: their own steps are coarser than a hinge near its corner."""
    return values if values.dtype.itemsize >= 4 else values.float()


def check_shapes(scores: Scores, positives: Mask, positive_scores: Each) -> None:
    """ItmlabError unless the three fit each other: (anchor, candidate) twice, and (anchor,)."""
    if scores.ndim != 2 or positives.shape != scores.shape or positive_scores.shape != scores.shape[:1]:
        raise ItmlabError(
            f"a loss needs scores (anchor, candidate), positives of the same shape and one positive score an anchor; "
            f"got {tuple(scores.shape)}, {tuple(positives.shape)} and {tuple(positive_scores.shape)}"
        )
