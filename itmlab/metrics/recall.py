"""Recall at k in both of its senses."""

from typing import Literal

import torch
from jaxtyping import Bool, Float, Int64
from torch import Tensor

from itmlab.errors import ItmlabError
from itmlab.metrics.ranks import positive_pairs, ranks

Sense = Literal["any", "share"]


def recall(
    similarity: Float[Tensor, "anchor candidate"],
    positives: Bool[Tensor, "anchor candidate"],
    k: int,
    *,
    sense: Sense = "any",
) -> float:
    """Recall at k in percent, from text to image with the transposes of both (a view is enough).

    `sense="any"`: the share of queries with a positive among their k best, which the field reports (R^V@k).
    `sense="share"`: the share of its positives that a query finds among its k best, mean over queries (R@k). Ties are
    counted against the model. ItmlabError: NaN, k above the candidates, shapes that differ, a query without a positive.
    """
    similarity, positives = torch.as_tensor(similarity), torch.as_tensor(positives).bool()
    anchor, candidate = positive_pairs(similarity, positives)
    check_k(k, similarity.shape[1])
    return recalls(similarity, anchor, candidate, (k,), sense=sense)[k]


def recalls(
    similarity: Float[Tensor, "anchor candidate"],
    anchor: Int64[Tensor, "pair"],
    candidate: Int64[Tensor, "pair"],
    ks: tuple[int, ...],
    *,
    sense: Sense = "any",
) -> dict[int, float]:
    """Recall in percent for each k, of positives given as index pairs."""
    if sense not in ("any", "share"):
        raise ItmlabError(f"recall has no sense {sense!r}", remedy='choose "any" or "share"')
    owner, rank = ranks(similarity, anchor, candidate, best_only=sense == "any")
    sought = torch.bincount(owner, minlength=len(similarity))
    found = {k: torch.bincount(owner[rank < k], minlength=len(similarity)) for k in ks}
    return {k: 100 * (found[k].double() / sought).mean().item() for k in ks}


def check_k(k: int, candidates: int) -> None:
    """ItmlabError unless k is a whole number from 1 to the number of candidates."""
    if isinstance(k, bool) or not isinstance(k, int) or not 1 <= k <= candidates:
        raise ItmlabError(f"recall at k={k} of {candidates} candidates", remedy=f"choose k from 1 to {candidates}")
