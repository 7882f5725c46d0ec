"""SR and NCS: recall that knows degrees of relevance (Biten et al. 2022, Sec. 3; readings in METHODS 2.4).

N[q, c] says how relevant candidate c is to query q (CIDEr's or SPICE's matrix). With top_k the k candidates that a
model ranks first, and top_m the m that N ranks first, the paper prints

    SR@k(q)  = |top_m ∩ top_k| / |top_m|                                                             (Eq. 4)
    NCS@k(q) = Σ N[q, c] over c in top_k ∩ top_m  /  Σ N[q, c] over c in top_m                       (Eq. 5)

The authors' code has another NCS: Σ N over top_k, over the largest sum that k candidates can have. That is the default,
and `restrict=m` is the printed one. Both measures of every depth follow from one `SemanticRanking`. The code's SR seeks
other candidates (`image_relevance`), and where nothing is relevant its NCS is 0 (`ncs_of_each(...).nan_to_num()`).
"""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import torch
from jaxtyping import Bool, Float, Float64, Int64
from torch import Tensor

from ..errors import ItmlabError
from .ranking import Mask, Scores, check_k, check_matrices, check_not_nan


def semantic_recall_of_each(
    similarity: Scores, relevance: Scores, k: int, *, relevant: int, without: Mask | None = None
) -> Float64[Tensor, "anchor"]:
    """Return SR@k of each query in percent: the share of its most relevant candidates among its k best.

    A query to which nothing is relevant has NaN.

    Args:
        similarity: scores of the model.
        relevance: of each candidate to each query, not negative.
        k: how many candidates are retrieved.
        relevant: how many of the most relevant candidates are sought.
        without: pairs that are neither ranked nor relevant, such as the ground truth (the paper's "N").

    Raises:
        ItmlabError: NaN, other shapes, too large a k or `relevant`, or negative relevance.

    >>> scores, relevance = torch.tensor([[0.9, 0.8, 0.7, 0.1]]), torch.tensor([[2.0, 0.0, 4.0, 6.0]])
    >>> semantic_recall_of_each(scores, relevance, 3, relevant=2).tolist()
    [50.0]
    """
    ranking = SemanticRanking.of(similarity, relevance, retrieved=k, ideal=relevant, without=without)
    return ranking.recalls(k, relevant)


def ncs(
    similarity: Scores, relevance: Scores, k: int, *, restrict: int | None = None, without: Mask | None = None
) -> float:
    """Return NCS@k in percent: the relevance of a query's k best over that of the k most relevant, mean over queries.

    This is what the authors' code computes. `restrict=m` is the formula as printed: of the k best only those that are
    among the m most relevant count, over the sum of those m. Queries to which nothing is relevant are left out, with a
    warning.

    Args:
        similarity: scores of the model.
        relevance: of each candidate to each query, not negative.
        k: how many candidates are retrieved.
        restrict: m of the printed formula.
        without: pairs that are neither ranked nor relevant, such as the ground truth (the paper's "N").

    Raises:
        ItmlabError: as `semantic_recall_of_each`, or nothing is relevant to any query.

    >>> scores, relevance = torch.tensor([[0.9, 0.8, 0.7, 0.1]]), torch.tensor([[2.0, 0.0, 4.0, 6.0]])
    >>> ncs(scores, relevance, 3), ncs(scores, relevance, 3, restrict=2)
    (50.0, 40.0)
    """
    values = ncs_of_each(similarity, relevance, k, restrict=restrict, without=without)
    if unanswered := int(values.isnan().sum()):
        message = f"NCS@{k}: nothing is relevant to {unanswered} of {len(values)} queries, which are left out"
        warnings.warn(message, stacklevel=2)
    return _mean(values, f"NCS@{k}")


def ncs_of_each(
    similarity: Scores, relevance: Scores, k: int, *, restrict: int | None = None, without: Mask | None = None
) -> Float64[Tensor, "anchor"]:
    """Return NCS@k of each query in percent, NaN where nothing is relevant. See `ncs`."""
    ranking = SemanticRanking.of(similarity, relevance, retrieved=k, ideal=restrict or k, without=without)
    return ranking.scores(k, restrict=restrict)


def image_relevance(
    relevance: Float[Tensor, "caption image"], positives: Bool[Tensor, "image caption"], *, depth: int = 30
) -> Float[Tensor, "image image"]:
    """Return how relevant images are to an image: φ of its captions to them, summed (the authors' SR; METHODS 2.4).

    Args:
        relevance: of each image to each caption.
        positives: the captions of each image.
        depth: a caption counts for so many of its most relevant images only; the code's largest cut-off.

    >>> relevance = torch.tensor([[9.0, 1.0], [7.0, 0.0], [2.0, 8.0]])
    >>> image_relevance(relevance, torch.tensor([[True, True, False], [False, False, True]])).tolist()
    [[16.0, 1.0], [2.0, 8.0]]
    """
    if depth < relevance.shape[1]:
        top = relevance.topk(depth, dim=1)
        relevance = torch.zeros_like(relevance).scatter(1, top.indices, top.values)
    return positives.to(relevance.dtype) @ relevance


def _mean(values: Float64[Tensor, "anchor"], name: str) -> float:
    """Return the mean over the queries that have a value; an ItmlabError where none has one."""
    if values.isnan().all():
        raise ItmlabError(f"{name}: nothing is relevant to any query", remedy="look at the relevance matrix")
    return values.nanmean().item()


BLOCK = 1 << 22  # scores ranked at once


@dataclass(frozen=True, eq=False)
class SemanticRanking:
    """What the model ranks first, and what is most relevant, for each query.

    Every SR and NCS up to that depth follows from these two. Of candidates with equal similarity the less relevant
    stand first (against the model). Candidates that are as relevant as the m-th are equally good answers, and fill the
    places that are left among the m, whichever are retrieved. A candidate of relevance 0 is never relevant: a query
    with fewer than m others has fewer relevant ones, and a query with none has no value (NaN).

    Attributes:
        retrieved: the relevance of the first candidates, in the model's order.
        ideal: the relevance of the most relevant candidates, in descending order.
    """

    retrieved: Float[Tensor, "anchor retrieved"]
    ideal: Float[Tensor, "anchor ideal"]

    @classmethod
    def of(
        cls, similarity: Scores, relevance: Scores, *, retrieved: int, ideal: int, without: Mask | None = None
    ) -> Self:
        """Rank both matrices to these depths, in blocks of queries.

        Args:
            similarity: scores of the model; a transposed view is enough.
            relevance: of each candidate to each query, not negative.
            retrieved: how many of the model's first candidates are kept.
            ideal: how many of the most relevant candidates are kept.
            without: pairs that are neither ranked nor relevant, such as the ground truth (the paper's "N").

        Raises:
            ItmlabError: shapes that differ, NaN, relevance that is negative or infinite, a depth above the candidates.
        """
        similarity, relevance = torch.as_tensor(similarity), torch.as_tensor(relevance)
        check_matrices(similarity, relevance, "relevance")
        if not similarity.numel():
            raise ItmlabError("there is nothing to rank: the similarity matrix is empty")
        similarity, relevance = (m if m.is_floating_point() else m.double() for m in (similarity, relevance))
        removed = torch.zeros_like(similarity, dtype=torch.bool) if without is None else torch.as_tensor(without).bool()
        check_matrices(similarity, removed, "without")
        check_not_nan(similarity, "similarity")
        check_not_nan(relevance, "relevance")
        if relevance.min() < 0 or relevance.max() == torch.inf:
            raise ItmlabError("relevance must be finite and not negative")
        candidates = similarity.shape[1] - int(removed.sum(dim=1).max())
        check_k(retrieved, candidates)
        check_k(ideal, candidates, name="k" if ideal == retrieved else "relevant")
        first, best = [], []
        size = max(1, BLOCK // similarity.shape[1])
        for start in range(0, len(similarity), size):
            left_out = removed[start : start + size]
            scores = similarity[start : start + size].masked_fill(left_out, -torch.inf)
            gains = relevance[start : start + size].masked_fill(left_out, 0)
            first.append(gains.gather(1, _first(scores, gains, retrieved, left_out)))
            best.append(gains.topk(ideal, dim=1).values)
        return cls(torch.cat(first), torch.cat(best))

    def recalls(self, k: int, relevant: int) -> Float64[Tensor, "anchor"]:
        """Return SR@k (Eq. 4) of each query in percent: the share of its most relevant among its first k."""
        above, ties, _ = self._among(k, relevant)
        sought = (self.ideal[:, :relevant] > 0).sum(dim=1)
        hits = (above.sum(dim=1) + ties).double()
        return torch.where(sought > 0, 100 * hits / sought, torch.nan)

    def scores(self, k: int, *, restrict: int | None = None) -> Float64[Tensor, "anchor"]:
        """Return NCS@k (Eq. 5) of each query in percent; see `itmlab.metrics.ncs`."""
        gained, most = self.retrieved[:, :k].double().sum(dim=1), self.ideal[:, : restrict or k].double().sum(dim=1)
        if restrict is not None:
            above, ties, threshold = self._among(k, restrict)
            gained = (self.retrieved[:, :k].double() * above).sum(dim=1) + ties * threshold.double()
        return torch.where(most > 0, 100 * (gained / most).clamp(max=1), torch.nan)

    def _among(self, k: int, relevant: int) -> tuple[Tensor, Tensor, Tensor]:
        """Return which of the first k are above the m-th relevance, how many more are among the m, that relevance."""
        threshold = self.ideal[:, relevant - 1]
        above = self.retrieved[:, :k] > threshold[:, None]
        places = relevant - (self.ideal[:, :relevant] > threshold[:, None]).sum(dim=1)
        equal = (self.retrieved[:, :k] == threshold[:, None]).sum(dim=1)
        return above, torch.where(threshold > 0, torch.minimum(equal, places), 0), threshold


def _first(similarity: Scores, relevance: Scores, k: int, removed: Mask) -> Int64[Tensor, "anchor k"]:
    """Return the candidates of the k largest similarities, the less relevant first where they are equal."""
    top = similarity.topk(min(k + 1, similarity.shape[1]), dim=1)  # one more, to see whether the k-th is tied with it
    tied = (top.values[:, 1:] == top.values[:, :-1]).any(dim=1)
    order = top.indices[:, :k].clone()
    if tied.any():  # what is removed scores -inf, and stands behind all others that do
        by_relevance = relevance[tied].masked_fill(removed[tied], torch.inf).argsort(dim=1, stable=True)
        scores = similarity[tied].gather(1, by_relevance)
        order[tied] = by_relevance.gather(1, scores.argsort(dim=1, descending=True, stable=True)[:, :k])
    return order


# SR and NCS as SAM reports them (Tables 2 to 4), both directions. The recalls R^V are those of `ranking.retrieval`.


def semantic_retrieval(
    similarity: Float[Tensor, "image caption"],
    relevance: Float[Tensor, "caption image"],
    positives: Bool[Tensor, "image caption"],
    *,
    ks: Sequence[int] = (1, 5, 10),
    relevant: int = 10,
) -> dict[str, Any]:
    """Return SR and NCS of a score matrix, `table["NCS"]["i2t"][5]` in percent, and the sums of NCS.

    Measures: "SR" (of the `relevant` most relevant) and "NCS" (as `ncs`); "SR(N)" and "NCS(N)" without ground truth.
    Sums: "Nsum", "Nsum(N)". "unanswered" counts, by measure and direction, the queries that are left out because
    nothing is relevant to them.

    Args:
        similarity: scores of the model.
        relevance: of each image to each caption.
        positives: the ground truth.
        ks: the cut-offs.
        relevant: how many of the most relevant SR seeks.

    Raises:
        ItmlabError: as `ncs`.
    """
    similarity, relevance = torch.as_tensor(similarity), torch.as_tensor(relevance)
    check_matrices(similarity, relevance.T, "the transpose of relevance")
    table: dict[str, Any] = {"unanswered": {}}
    depths = {"retrieved": max(ks), "ideal": max(*ks, relevant)}
    sides = {"i2t": (similarity, relevance.T, positives), "t2i": (similarity.T, relevance, positives.T)}
    for mark in ("", "(N)"):
        for side, (scores, gains, truth) in sides.items():
            ranking = SemanticRanking.of(scores, gains, without=truth if mark else None, **depths)
            measures = {
                f"SR{mark}": {k: ranking.recalls(k, relevant) for k in ks},
                f"NCS{mark}": {k: ranking.scores(k) for k in ks},
            }
            for name, of_k in measures.items():
                table.setdefault(name, {})[side] = {k: _mean(of_k[k], f"{name}@{k} {side}") for k in ks}
                table["unanswered"].setdefault(name, {})[side] = int(of_k[max(ks)].isnan().sum())
        table[f"Nsum{mark}"] = sum(sum(values.values()) for values in table[f"NCS{mark}"].values())
    return table
