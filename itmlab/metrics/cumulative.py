"""Normalized cumulative semantic score: how relevant what is found is (Biten et al. 2022, Eq. 5)."""

from jaxtyping import Bool, Float, Float64
from torch import Tensor

from itmlab.metrics.semantic_checks import mean_of_answered
from itmlab.metrics.semantic_ranking import SemanticRanking


def ncs(
    similarity: Float[Tensor, "anchor candidate"],
    relevance: Float[Tensor, "anchor candidate"],
    k: int,
    *,
    restrict: int | None = None,
    positives: Bool[Tensor, "anchor candidate"] | None = None,
    keep_ground_truth: bool = True,
) -> float:
    """NCS@k in percent: the relevance of a query's k best over that of the k most relevant, mean over queries.

    This is what the authors' code computes. `restrict=m` is the formula as printed: of the k best only those that are
    among the m most relevant count, over the sum of those m. Without ground truth (their "N") the `positives` are
    neither ranked nor relevant. Ties: see `SemanticRanking`; queries to which nothing is relevant are left out, with a
    warning that counts them. ItmlabError: NaN, shapes that differ, k or m above the candidates, negative relevance.
    """
    values = ncs_of_each(
        similarity, relevance, k, restrict=restrict, positives=positives, keep_ground_truth=keep_ground_truth
    )
    return mean_of_answered(values, f"NCS@{k}")


def ncs_of_each(
    similarity: Float[Tensor, "anchor candidate"],
    relevance: Float[Tensor, "anchor candidate"],
    k: int,
    *,
    restrict: int | None = None,
    positives: Bool[Tensor, "anchor candidate"] | None = None,
    keep_ground_truth: bool = True,
) -> Float64[Tensor, "anchor"]:
    """NCS@k of each query in percent, NaN where nothing is relevant; see `ncs`."""
    ranking = SemanticRanking.of(
        similarity,
        relevance,
        retrieved=k,
        ideal=k if restrict is None else restrict,
        positives=positives,
        keep_ground_truth=keep_ground_truth,
    )
    return ranking.scores(k, restrict=restrict)
