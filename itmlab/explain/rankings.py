"""What a model retrieves for one query, and how good that is by each measure: the ranked results of SAM's Figure 1."""

from dataclasses import dataclass

from jaxtyping import Bool, Float, Int
from numpy import ndarray
from torch import Tensor

from ..errors import ItmlabError
from ..metrics import ncs_of_each, semantic_recall_of_each


@dataclass(frozen=True)
class Ranking:
    """One query's best `k` candidates, best first.

    `relevance` is φ of each with the query and `best` the largest φ that any candidate has; `annotated` marks ground
    truth (None: the query was typed and has none); `verdict` what a world says (1 true, 0 false, −1 undecided; None:
    no world). `measures` in percent, by name.
    """

    index: Int[ndarray, "k"]
    relevance: Float[ndarray, "k"]
    best: float
    annotated: Bool[ndarray, "k"] | None
    verdict: Int[ndarray, "k"] | None
    measures: dict[str, float]


def rank(
    scores: Float[Tensor, "candidate"],
    relevance: Float[Tensor, "candidate"],
    *,
    k: int,
    positives: Bool[Tensor, "candidate"] | None = None,
    truth: Int[Tensor, "candidate"] | None = None,
    relevant: int | None = None,
) -> Ranking:
    """The `k` best of one query's candidates (equal scores: the lowest index first) with R, SR and NCS at k.

    SR counts the `relevant` candidates of largest φ (default: as many as are annotated, or k). Scores that are not
    numbers, lengths that differ and a k above the candidates are an ItmlabError.
    """
    if scores.ndim != 1 or relevance.shape != scores.shape:
        raise ItmlabError(
            f"a query's scores and relevance have shapes {tuple(scores.shape)}, {tuple(relevance.shape)}",
            remedy="one number a candidate, both in the same order",
        )
    if scores.isnan().any():
        raise ItmlabError("a score is not a number (NaN), so nothing can be ranked")
    index = scores.sort(descending=True, stable=True).indices[:k]
    annotated = None if positives is None else positives[index].numpy()
    return Ranking(
        index=index.numpy(),
        relevance=relevance[index].numpy(),
        best=float(relevance.max()),
        annotated=annotated,
        verdict=None if truth is None else truth[index].numpy(),
        measures=_measures(scores, relevance, positives, k, relevant),
    )


def _measures(
    scores: Float[Tensor, "candidate"],
    relevance: Float[Tensor, "candidate"],
    positives: Bool[Tensor, "candidate"] | None,
    k: int,
    relevant: int | None,
) -> dict[str, float]:
    """R where something is annotated, SR and NCS where something is relevant: a sum of nothing has no share."""
    measures: dict[str, float] = {}
    one, phi = scores[None], relevance[None]
    annotated = 0 if positives is None else int(positives.sum())
    if annotated:
        measures[f"R@{k}"] = float(semantic_recall_of_each(one, positives[None].float(), k, relevant=annotated))
    if relevance.gt(0).any():
        sought = min(relevant or annotated or k, len(scores))
        measures[f"SR@{k}"] = float(semantic_recall_of_each(one, phi, k, relevant=sought))
        measures[f"NCS@{k}"] = float(ncs_of_each(one, phi, k))
    return measures
