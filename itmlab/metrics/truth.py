"""mAP@R and R-Precision (Musgrave et al. 2020), and measures against everything that is true in a drawn world.

For a query with R positives, R-Precision is the share of them among its R best; mAP@R = 1/R Σ_i P(i), where P(i) is the
precision at place i ≤ R if a positive stands there, else 0. `truth_retrieval` has a world's truth as positives, as ECCV
Caption has people's judgements (METHODS 2.3).
"""

from collections.abc import Sequence
from typing import Any

import torch
from jaxtyping import Bool, Float, Float64, Int8, Int64
from torch import Tensor

from ..errors import ItmlabError
from .ranking import Mask, Numbers, Scores, check_matrices, expected_recalls, marked_pairs, ranks


def at_r_of_each(
    similarity: Scores, anchor: Numbers, candidate: Numbers, sought: Int64[Tensor, "anchor"] | None = None
) -> dict[str, Float64[Tensor, "anchor"]]:
    """Return "map_at_r" and "rprecision" of each query, 0 to 1, NaN where R is 0.

    Args:
        similarity: scores of the model.
        anchor: of each positive pair.
        candidate: of each positive pair.
        sought: R, where a query has positives that are not among the candidates.
    """
    owner, rank = ranks(similarity, anchor, candidate, best_only=False)
    held = torch.bincount(owner, minlength=len(similarity))
    sought = held if sought is None else sought
    before = torch.arange(len(owner), device=owner.device) - (held.cumsum(0) - held)[owner]  # positives, in its ranking
    inside = rank < sought[owner]
    precision = torch.where(inside, (before + 1).double() / (rank + 1), 0.0)
    summed = torch.zeros(len(similarity), dtype=torch.float64, device=owner.device).index_add(0, owner, precision)
    counted = torch.bincount(owner[inside], minlength=len(similarity)).double()
    return {"map_at_r": summed / sought, "rprecision": counted / sought}


# Against everything that is true, where a world knows it.

Truth = Int8[Tensor, "anchor candidate"]  # as `World.truth`: 1 true, 0 false, -1 undecided
PLACES = ("false", "undecided", "unannotated", "annotated")  # what may stand first; among equal scores the earlier does


def truth_retrieval(
    similarity: Float[Tensor, "image caption"],
    truth: Int8[Tensor, "image caption"],
    positives: Bool[Tensor, "image caption"],
    *,
    ks: Sequence[int] = (1, 5, 10),
) -> dict[str, Any]:
    """Return how good a score matrix is against all that is true (`World.truth`), and the recall of two oracles.

    By direction, in percent: "map_at_r" and "rprecision", with every true candidate a positive and the undecided
    removed, over the queries with something true ("left_out" counts the others); "first", what stands first in
    the whole ranking: an annotated candidate (which is R@1), one that is true but "unannotated", "undecided" or
    "false". "oracle" has the recall that `oracle_scores` are expected to reach. A model may exceed the oracle "truth":
    one that prefers specific captions finds the annotated ones more often than truth alone would.

    Args:
        similarity: scores of the model.
        truth: 1 true, 0 false, -1 undecided.
        positives: as for `retrieval`.
        ks: as for `retrieval`.

    Raises:
        ItmlabError: as `retrieval`, or nothing is true.

    >>> scores, truth = torch.tensor([[0.5, 0.9], [0.1, 0.8]]), torch.tensor([[1, 1], [0, 1]])
    >>> table = truth_retrieval(scores, truth, torch.eye(2).bool(), ks=(1,))
    >>> table["i2t"]["map_at_r"], table["i2t"]["first"]["unannotated"], table["oracle"]["truth"]["i2t"]
    (100.0, 50.0, {1: 75.0})
    """
    similarity, truth = torch.as_tensor(similarity), torch.as_tensor(truth)
    check_matrices(similarity, truth, "truth")
    return {
        "oracle": oracle_recall(truth, positives, ks=ks),
        "i2t": _against_truth(similarity, truth, positives),
        "t2i": _against_truth(similarity.T, truth.T, positives.T),
    }


def oracle_recall(
    truth: Int8[Tensor, "image caption"], positives: Bool[Tensor, "image caption"], *, ks: Sequence[int] = (1, 5, 10)
) -> dict[str, dict[str, Any]]:
    """Return what the oracles "truth" and "specific" (`oracle_scores`) are expected to reach, as `retrieval` does.

    Args:
        truth: as `World.truth`.
        positives: the annotated pairs.
        ks: the cut-offs.

    >>> recalls = oracle_recall(torch.tensor([[1, 1], [0, 1]]), torch.eye(2).bool(), ks=(1,))
    >>> recalls["truth"]["i2t"], recalls["specific"]["i2t"], recalls["truth"]["rsum"]
    ({1: 75.0}, {1: 100.0}, 150.0)
    """
    tables: dict[str, dict[str, Any]] = {}
    for side, labels, annotated in (("i2t", truth, positives), ("t2i", truth.T, positives.T)):
        for kind, scores in oracle_scores(labels).items():
            recalls = expected_recalls(scores, annotated, ks)
            table = tables.setdefault(kind, {"rsum": 0.0})
            table[side] = {k: 100 * values.mean().item() for k, values in recalls.items()}
            table["rsum"] += sum(table[side].values())
    return tables


def oracle_scores(truth: Truth) -> dict[str, Scores]:
    """Return the scores of two oracles: what is true before what is undecided before what is false, ties at random.

    "truth" knows truth alone, so that it cannot tell the annotated from the other true ones. "specific" takes, among
    the true, first what is true of the fewest queries: the most specific caption, or the picture that the fewest
    captions fit. Neither knows which candidate is annotated.
    """
    order = torch.tensor([0.0, 2.0, 1.0], device=truth.device)[truth.long()]
    true = truth == 1
    return {"truth": order, "specific": order - true * (true.sum(dim=0) / (len(true) + 1))}


def true_at_r(similarity: Scores, truth: Truth) -> dict[str, Float64[Tensor, "anchor"]]:
    """Return `at_r_of_each` with all that is true as positives and the undecided removed; NaN where nothing is true."""
    anchor, candidate = marked_pairs(similarity, truth == 1)
    if len(anchor) == 0:
        raise ItmlabError("nothing is true of any query", remedy="the labels are: 1 true, 0 false, -1 undecided")
    # behind all others is as good as removed: R never reaches so far
    return at_r_of_each(similarity.masked_fill(truth == -1, -torch.inf), anchor, candidate)


def first_of_each(similarity: Scores, truth: Truth, positives: Mask) -> Int64[Tensor, "anchor"]:
    """Return which of PLACES stands first in each query's whole ranking, as its index.

    Args:
        similarity: scores of the model.
        truth: as `World.truth`.
        positives: the annotated pairs.
    """
    place = torch.tensor([0, 2, 1], device=truth.device)[truth.long()].masked_fill(positives, PLACES.index("annotated"))
    return place.masked_fill(similarity < similarity.amax(dim=1, keepdim=True), len(PLACES)).amin(dim=1)


def _against_truth(similarity: Scores, truth: Truth, positives: Mask) -> dict[str, Any]:
    """Return the measures of one direction of one fold."""
    at_r, place = true_at_r(similarity, truth), first_of_each(similarity, truth, positives)
    first = {name: 100 * (place == PLACES.index(name)).double().mean().item() for name in reversed(PLACES)}
    shares = {name: 100 * values.nanmean().item() for name, values in at_r.items()}
    return {**shares, "first": first, "left_out": int(at_r["map_at_r"].isnan().sum())}
