"""Semantic recall: how many of the most relevant candidates are found (Biten et al. 2022, Eq. 4)."""

from jaxtyping import Bool, Float, Float64
from torch import Tensor

from itmlab.errors import ItmlabError
from itmlab.metrics.recall import Sense
from itmlab.metrics.semantic_checks import mean_of_answered
from itmlab.metrics.semantic_ranking import SemanticRanking


def semantic_recall(
    similarity: Float[Tensor, "anchor candidate"],
    relevance: Float[Tensor, "anchor candidate"],
    k: int,
    *,
    relevant: int,
    sense: Sense = "share",
    positives: Bool[Tensor, "anchor candidate"] | None = None,
    keep_ground_truth: bool = True,
) -> float:
    """SR@k in percent: the share of a query's `relevant` most relevant candidates among its k best, mean over queries.

    `sense="any"`: whether one of them is among the k best. Without ground truth the `positives` are neither ranked nor
    relevant. Ties and relevance 0: see `SemanticRanking`; queries to which nothing is relevant are left out, with a
    warning that counts them. ItmlabError: NaN, shapes that differ, k or `relevant` above the candidates.
    """
    values = semantic_recall_of_each(
        similarity,
        relevance,
        k,
        relevant=relevant,
        sense=sense,
        positives=positives,
        keep_ground_truth=keep_ground_truth,
    )
    return mean_of_answered(values, f"SR@{k}")


def semantic_recall_of_each(
    similarity: Float[Tensor, "anchor candidate"],
    relevance: Float[Tensor, "anchor candidate"],
    k: int,
    *,
    relevant: int,
    sense: Sense = "share",
    positives: Bool[Tensor, "anchor candidate"] | None = None,
    keep_ground_truth: bool = True,
) -> Float64[Tensor, "anchor"]:
    """SR@k of each query in percent, NaN where nothing is relevant; see `semantic_recall`."""
    if sense not in ("any", "share"):
        raise ItmlabError(f"recall has no sense {sense!r}", remedy='choose "any" or "share"')
    ranking = SemanticRanking.of(
        similarity,
        relevance,
        retrieved=k,
        ideal=relevant,
        positives=positives,
        keep_ground_truth=keep_ground_truth,
    )
    return ranking.recalls(k, relevant, any_of_them=sense == "any")
