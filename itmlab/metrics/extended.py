"""Retrieval by extended relevance, any number of positives for a query: mAP@R and R-Precision."""

import torch
from jaxtyping import Bool, Float, Int64
from torch import Tensor

from itmlab.metrics.ranks import positive_pairs, ranks


def map_at_r(similarity: Float[Tensor, "anchor candidate"], positives: Bool[Tensor, "anchor candidate"]) -> float:
    """mAP@R in percent (Musgrave et al., ECCV 2020): for a query with R positives, the precision at each of the first
    R places that holds one, summed and divided by R; the mean over queries.

    From text to image with the transposes of both. Ties are counted against the model. ItmlabError: as `recall`.
    """
    similarity, positives = torch.as_tensor(similarity), torch.as_tensor(positives).bool()
    return at_r(similarity, *positive_pairs(similarity, positives))["map_at_r"]


def r_precision(similarity: Float[Tensor, "anchor candidate"], positives: Bool[Tensor, "anchor candidate"]) -> float:
    """R-Precision in percent: the share of positives among a query's R best, R being how many it has; the mean.

    From text to image with the transposes of both. Ties are counted against the model. ItmlabError: as `recall`.
    """
    similarity, positives = torch.as_tensor(similarity), torch.as_tensor(positives).bool()
    return at_r(similarity, *positive_pairs(similarity, positives))["rprecision"]


def at_r(
    similarity: Float[Tensor, "anchor candidate"],
    anchor: Int64[Tensor, "pair"],
    candidate: Int64[Tensor, "pair"],
    sought: Int64[Tensor, "anchor"] | None = None,
) -> dict[str, float]:
    """`map_at_r` and `rprecision` in percent, of positives given as index pairs.

    `sought` is R, where a query has positives that are not among the candidates; else R is how many pairs it has.
    """
    owner, rank = ranks(similarity, anchor, candidate, best_only=False)
    order = rank.sort(stable=True).indices
    order = order[owner[order].sort(stable=True).indices]
    owner, rank = owner[order], rank[order]
    held = torch.bincount(owner, minlength=len(similarity))
    sought = held if sought is None else sought
    before = torch.arange(len(owner), device=owner.device) - (held.cumsum(0) - held)[owner]  # positives, in its ranking
    inside = rank < sought[owner]
    precision = torch.where(inside, (before + 1).double() / (rank + 1), 0.0)
    summed = torch.zeros(len(similarity), dtype=torch.float64, device=owner.device).index_add(0, owner, precision)
    counted = torch.bincount(owner[inside], minlength=len(similarity))
    return {
        "map_at_r": 100 * (summed / sought).mean().item(),
        "rprecision": 100 * (counted.double() / sought).mean().item(),
    }
