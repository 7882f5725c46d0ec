"""Hinges on scores: of all negatives, of the hardest, or of the one that a sampler chose.

Faghri et al. (2018), VSE++, for an anchor with score s⁺ to its match and s⁻ to each of its negatives:

    SH = Σ [α − s⁺ + s⁻]₊        MH = max [α − s⁺ + s⁻]₊

Li et al. (2023), FNE, Eq. 15, takes the one negative that its sampler drew: then there is one candidate per anchor, and
both are the same. Each is a mean over the anchors that have a negative (VSE++ sums over the batch, B times this), so
that batches of different sizes share one scale.
"""

import math
from dataclasses import dataclass
from typing import Literal

from ..errors import ItmlabError
from .base import Loss, Mask, PerAnchor, Scores


@dataclass
class TripletLoss(Loss):
    """Hinge loss on the similarity of positives and negatives.

    Args:
        margin: α, the required difference between the positive's and a negative's similarity.
        reduce: "sum" adds the hinges of all negatives, "hardest" takes the largest.

    References:
        Faghri et al. (2018), VSE++, Eqs. 4 and 5.

    >>> import torch
    >>> scores = torch.tensor([[0.75, 0.5, 0.75]])
    >>> TripletLoss(0.5, "sum")(scores, torch.tensor([[True, False, False]]), scores[:, 0])
    tensor(0.7500)
    """

    margin: float = 0.2
    reduce: Literal["sum", "hardest"] = "hardest"

    def __post_init__(self) -> None:
        if not 0 <= self.margin < math.inf:
            raise ItmlabError(f"the margin of a triplet loss must be 0 or more, not {self.margin}")
        if self.reduce not in ("sum", "hardest"):
            raise ItmlabError(f"a triplet loss has no reduction {self.reduce!r}", remedy="choose 'sum' or 'hardest'")

    def forward(self, scores: Scores, positives: Mask, positive_scores: PerAnchor) -> PerAnchor:
        """[α − s⁺ + s⁻]₊ per anchor, of all negatives or of the hardest."""
        hinges = (scores - positive_scores[:, None] + self.margin).relu()
        hinges = hinges.masked_fill(positives, 0)
        if self.reduce == "sum":
            return hinges.sum(dim=1)
        # `max` and not `amax`: among equal hinges one receives the gradient, like the negative that a sampler chose
        return hinges.max(dim=1).values


def adaptive_margin(
    positive_relevance: PerAnchor, negative_relevance: PerAnchor, temperature: float, ceiling: float = 1.0
) -> PerAnchor:
    """(φ⁺ − φ⁻) / τ per anchor, at most `ceiling`: the margin of SAM.

    Args:
        positive_relevance: φ⁺, how well the match's caption describes the anchor's image.
        negative_relevance: φ⁻, the same of the negative. From an image: of the caption taken, to the captions of the
            anchor's image. From a caption: of the anchor itself, to the captions of the image taken. The printed
            subscripts are swapped; for the other readings see METHODS 2.5.
        temperature: τ.
        ceiling: the largest margin. A negative that describes the image better than the match does has a margin below
            0, and keeps it.

    References:
        Biten et al. (2022), SAM, Eq. 7.

    >>> import torch
    >>> adaptive_margin(torch.tensor([3.0, 1.0]), torch.tensor([1.0, 2.0]), temperature=4.0)
    tensor([ 0.5000, -0.2500])
    """
    if positive_relevance.shape != negative_relevance.shape or positive_relevance.ndim != 1:
        raise ItmlabError(
            f"an adaptive margin needs two relevances per anchor; got {tuple(positive_relevance.shape)} and "
            f"{tuple(negative_relevance.shape)}"
        )
    if not 0 < temperature < math.inf:
        raise ItmlabError(f"the temperature of an adaptive margin must be above 0, not {temperature}")
    return ((positive_relevance - negative_relevance) / temperature).clamp(max=ceiling)
