"""Hinges on scores: of all negatives, of the hardest, or of the one that a sampler chose.

Faghri et al. (2018), VSE++, for an anchor with score s⁺ to its match and s⁻ to each of its negatives:

    SH = Σ [α − s⁺ + s⁻]₊        MH = max [α − s⁺ + s⁻]₊

Li et al. (2023), FNE, Eq. 15, takes the one negative that its sampler drew: then there is one candidate per anchor, and
both are the same. Each is a mean over the anchors that have a negative (VSE++ sums over the batch, B times this), so
that batches of different sizes share one scale.
"""

from dataclasses import dataclass
from typing import Literal

from ..fields import Weight
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

    margin: Weight = 0.2
    reduce: Literal["sum", "hardest"] = "hardest"

    def forward(self, scores: Scores, positives: Mask, positive_scores: PerAnchor) -> PerAnchor:
        """[α − s⁺ + s⁻]₊ per anchor, of all negatives or of the hardest."""
        hinges = (scores - positive_scores[:, None] + self.margin).relu()
        hinges = hinges.masked_fill(positives, 0)
        if self.reduce == "sum":
            return hinges.sum(dim=1)
        # `max` and not `amax`: among equal hinges one receives the gradient, like the negative that a sampler chose
        return hinges.max(dim=1).values
