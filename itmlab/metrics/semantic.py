"""Every measure of a retrieval that SAM reports (Tables 2 to 4), in both directions, over one pool or several folds."""

from collections.abc import Sequence
from statistics import fmean
from typing import Any

import torch
from jaxtyping import Bool, Float, Float64
from torch import Tensor

from itmlab.errors import ItmlabError
from itmlab.metrics.retrieval import Pool, pools, retrieval
from itmlab.metrics.semantic_ranking import SemanticRanking

DIRECTIONS = ("i2t", "t2i")


def semantic_retrieval(
    similarity: Float[Tensor, "image caption"],
    relevance: Float[Tensor, "caption image"],
    positives: Bool[Tensor, "image caption"] | None = None,
    *,
    ks: Sequence[int] = (1, 5, 10),
    relevant: int = 10,
    restrict: int | None = None,
    folds: int = 1,
) -> dict[str, Any]:
    """R^V, R, SR and NCS of a score matrix, `table["NCS"]["i2t"][5]` in percent, and their sums over both directions.

    Measures: "RV" (any ground truth found), "R" (share found), "SR" (of the `relevant` most relevant) and "NCS" (as
    `ncs`, with its `restrict`); "SR(N)" and "NCS(N)" without ground truth. Sums: "Rsum" (of RV), "Nsum", "Nsum(N)".
    "unanswered" counts, by measure and direction, the queries that are left out because nothing is relevant to them.
    Pools and folds are those of `retrieval`; relevance stays what it is in the whole. ItmlabError: as `ncs`.
    """
    similarity, relevance = torch.as_tensor(similarity), torch.as_tensor(relevance)
    if similarity.ndim != 2 or relevance.shape != similarity.T.shape:
        raise ItmlabError(
            f"similarity must be (image, caption) and relevance (caption, image); "
            f"got {tuple(similarity.shape)} and {tuple(relevance.shape)}"
        )
    table: dict[str, Any] = {}
    for name, sense in (("RV", "any"), ("R", "share")):
        found = retrieval(similarity, positives, ks=ks, folds=folds, sense=sense)
        table[name] = {side: found[side] for side in DIRECTIONS}
    blocks = pools(similarity, positives, folds)
    unanswered: dict[str, dict[str, int]] = {}
    for mark, keep in (("", True), ("(N)", False)):
        depths = {"retrieved": max(ks), "ideal": max(*ks, relevant, restrict or 1)}
        rankings = [_rankings(similarity, relevance, pool, folds, keep, depths) for pool in blocks]
        for side, of_folds in zip(DIRECTIONS, zip(*rankings, strict=True), strict=True):
            recalls = {k: [ranking.recalls(k, relevant) for ranking in of_folds] for k in ks}
            scores = {k: [ranking.scores(k, restrict=restrict) for ranking in of_folds] for k in ks}
            for name, values in ((f"SR{mark}", recalls), (f"NCS{mark}", scores)):
                table.setdefault(name, {})[side] = {k: _mean(values[k], f"{name}@{k} {side}") for k in ks}
                missing = sum(int(fold.isnan().sum()) for fold in values[ks[0]])
                unanswered.setdefault(name, {})[side] = missing
    for name, measure in (("Rsum", "RV"), ("Nsum", "NCS"), ("Nsum(N)", "NCS(N)")):
        table[name] = sum(sum(table[measure][side].values()) for side in DIRECTIONS)
    return table | {"unanswered": unanswered}


def _rankings(
    similarity: Float[Tensor, "image caption"],
    relevance: Float[Tensor, "caption image"],
    pool: Pool,
    folds: int,
    keep: bool,
    depths: dict[str, int],
) -> tuple[SemanticRanking, SemanticRanking]:
    """A pool ranked from images to captions and from captions to images."""
    scores, gains = (similarity, relevance.T) if folds == 1 else (pool.of(similarity), pool.of(relevance.T))
    if keep:
        return SemanticRanking.of(scores, gains, **depths), SemanticRanking.of(scores.T, gains.T, **depths)
    without = pool.positives
    return (
        SemanticRanking.of(scores, gains, positives=without, keep_ground_truth=False, **depths),
        SemanticRanking.of(scores.T, gains.T, positives=without.T, keep_ground_truth=False, **depths),
    )


def _mean(folds: Sequence[Float64[Tensor, "anchor"]], what: str) -> float:
    """The mean over folds of the mean over the queries that have a value."""
    for number, values in enumerate(folds):
        if bool(values.isnan().all()):
            where = f" in fold {number}" if len(folds) > 1 else ""
            raise ItmlabError(f"{what}: nothing is relevant to any query{where}", remedy="look at the relevance matrix")
    return fmean(values.nanmean().item() for values in folds)
