"""How hard negatives are: how close their scores come to the match's (TAGS-DC, Figure 3), counted in fixed bins."""

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from ..losses import matching_score

BINS = 40  # over [−1, 1]


def difficulty(
    positive_logits: Float[Tensor, "anchor"],
    negative_logits: Float[Tensor, "anchor negative"],
    allowed: Bool[Tensor, "anchor negative"],
) -> list[int]:
    """How many of the allowed negatives have s(I, T⁻) − s(I, T⁺) in each of 40 bins from −1 to 1."""
    with torch.no_grad():
        gaps = (matching_score(negative_logits) - matching_score(positive_logits)[:, None])[allowed]
        return torch.histc(gaps.float().cpu(), bins=BINS, min=-1, max=1).long().tolist()
