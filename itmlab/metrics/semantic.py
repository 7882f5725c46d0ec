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
from statistics import fmean
from typing import Any, Self

import torch
from jaxtyping import Bool, Float, Float64, Int64
from torch import Tensor

from ..errors import ItmlabError
from .ranking import Mask, Pairs, Scores, Sense, check_k, check_matrices, check_sense, first_nan, pools, retrieval


def semantic_recall_of_each(
    similarity: Scores, relevance: Scores, k: int, *, relevant: int, sense: Sense = "share", **truth: Any
) -> Float64[Tensor, "anchor"]:
    """Return SR@k of each query in percent: the share of its most relevant candidates among its k best.

    A query to which nothing is relevant has NaN.

    Args:
        similarity: scores of the model.
        relevance: of each candidate to each query, not negative.
        k: how many candidates are retrieved.
        relevant: how many of the most relevant candidates are sought.
        sense: "share", or "any" for whether one of them is among the k best.
        **truth: `positives` and `keep_ground_truth`, as for `SemanticRanking.of`.

    Raises:
        ItmlabError: NaN, other shapes, too large a k or `relevant`, or negative relevance.

    >>> scores, relevance = torch.tensor([[0.9, 0.8, 0.7, 0.1]]), torch.tensor([[2.0, 0.0, 4.0, 6.0]])
    >>> semantic_recall_of_each(scores, relevance, 3, relevant=2).tolist()
    [50.0]
    """
    check_sense(sense)
    ranking = SemanticRanking.of(similarity, relevance, retrieved=k, ideal=relevant, **truth)
    return ranking.recalls(k, relevant, sense=sense)


def ncs(similarity: Scores, relevance: Scores, k: int, *, restrict: int | None = None, **truth: Any) -> float:
    """Return NCS@k in percent: the relevance of a query's k best over that of the k most relevant, mean over queries.

    This is what the authors' code computes. `restrict=m` is the formula as printed: of the k best only those that are
    among the m most relevant count, over the sum of those m. Queries to which nothing is relevant are left out, with a
    warning.

    Args:
        similarity: scores of the model.
        relevance: of each candidate to each query, not negative.
        k: how many candidates are retrieved.
        restrict: m of the printed formula.
        **truth: `positives` and `keep_ground_truth`, as for `SemanticRanking.of`.

    Raises:
        ItmlabError: as `semantic_recall_of_each`, or nothing is relevant to any query.

    >>> scores, relevance = torch.tensor([[0.9, 0.8, 0.7, 0.1]]), torch.tensor([[2.0, 0.0, 4.0, 6.0]])
    >>> ncs(scores, relevance, 3), ncs(scores, relevance, 3, restrict=2)
    (50.0, 40.0)
    """
    values = ncs_of_each(similarity, relevance, k, restrict=restrict, **truth)
    if without := int(values.isnan().sum()):
        message = f"NCS@{k}: nothing is relevant to {without} of {len(values)} queries, which are left out"
        warnings.warn(message, stacklevel=2)
    return _mean([values], f"NCS@{k}")


def ncs_of_each(
    similarity: Scores, relevance: Scores, k: int, *, restrict: int | None = None, **truth: Any
) -> Float64[Tensor, "anchor"]:
    """Return NCS@k of each query in percent, NaN where nothing is relevant. See `ncs`."""
    ranking = SemanticRanking.of(similarity, relevance, retrieved=k, ideal=restrict or k, **truth)
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


def _mean(folds: Sequence[Float64[Tensor, "anchor"]], name: str) -> float:
    """Return the mean over folds of the mean over the queries that have a value.

    Raises:
        ItmlabError: a fold in which no query has one.
    """
    if any(values.isnan().all() for values in folds):
        raise ItmlabError(f"{name}: nothing is relevant to any query", remedy="look at the relevance matrix")
    return fmean(values.nanmean().item() for values in folds)


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
        cls,
        similarity: Scores,
        relevance: Scores,
        *,
        retrieved: int,
        ideal: int,
        positives: Mask | None = None,
        keep_ground_truth: bool = True,
    ) -> Self:
        """Rank both matrices to these depths, in blocks of queries.

        Args:
            similarity: scores of the model; a transposed view is enough.
            relevance: of each candidate to each query, not negative.
            retrieved: how many of the model's first candidates are kept.
            ideal: how many of the most relevant candidates are kept.
            positives: the annotated pairs, needed without ground truth.
            keep_ground_truth: False (the paper's "N") neither ranks the positives nor calls them relevant.

        Raises:
            ItmlabError: shapes that differ, NaN, relevance that is negative or infinite, a depth above the candidates.
        """
        similarity, relevance = torch.as_tensor(similarity), torch.as_tensor(relevance)
        check_matrices(similarity, relevance, "relevance")
        if not similarity.numel():
            raise ItmlabError("there is nothing to rank: the similarity matrix is empty")
        similarity, relevance = (m if m.is_floating_point() else m.double() for m in (similarity, relevance))
        removed = None
        if not keep_ground_truth:
            if positives is None:
                raise ItmlabError("ground truth can only be left out when it is known", remedy="pass positives=")
            removed = torch.as_tensor(positives).bool()
            check_matrices(similarity, removed, "positives")
        candidates = similarity.shape[1] - (0 if removed is None else int(removed.sum(dim=1).max()))
        check_k(retrieved, candidates)
        check_k(ideal, candidates, name="k" if ideal == retrieved else "relevant")
        first, best = [], []
        size = max(1, BLOCK // similarity.shape[1])
        for start in range(0, len(similarity), size):
            block = slice(start, start + size)
            scores, gains = similarity[block].contiguous(), relevance[block].contiguous()
            _check_finite(scores, gains, start)
            left_out = torch.zeros_like(scores, dtype=torch.bool) if removed is None else removed[block]
            scores, gains = scores.masked_fill(left_out, -torch.inf), gains.masked_fill(left_out, 0)
            first.append(gains.gather(1, _first(scores, gains, retrieved, left_out)))
            best.append(gains.topk(ideal, dim=1).values)
        return cls(torch.cat(first), torch.cat(best))

    def recalls(self, k: int, relevant: int, *, sense: Sense = "share") -> Float64[Tensor, "anchor"]:
        """Return SR@k (Eq. 4) of each query in percent: the share of its most relevant among its first k."""
        above, ties, _ = self._among(k, relevant)
        sought = (self.ideal[:, :relevant] > 0).sum(dim=1)
        hits = (above.sum(dim=1) + ties).double()
        share = (hits > 0).double() if sense == "any" else hits / sought
        return torch.where(sought > 0, 100 * share, torch.nan)

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


def _check_finite(similarity: Scores, relevance: Scores, start: int) -> None:
    """Raise an ItmlabError that names the pair of a NaN, or of relevance that is negative or infinite."""
    for name, matrix in (("similarity", similarity), ("relevance", relevance)):
        if (pair := first_nan(matrix)) is not None:
            raise ItmlabError(f"{name} is NaN between query {pair[0] + start} and candidate {pair[1]}")
    least, most = relevance.aminmax()
    if least < 0 or most == torch.inf:
        row, column = ((relevance < 0) | (relevance == torch.inf)).nonzero()[0].tolist()
        message = f"relevance is {relevance[row, column].item():g} between query {row + start} and candidate {column}"
        raise ItmlabError(message, remedy="it must be finite and not negative")


# Every measure of a retrieval that SAM reports (Tables 2 to 4), in both directions, over one pool or several folds.


def semantic_retrieval(
    similarity: Float[Tensor, "image caption"],
    relevance: Float[Tensor, "caption image"],
    positives: Mask | Pairs | None = None,
    *,
    ks: Sequence[int] = (1, 5, 10),
    relevant: int = 10,
    restrict: int | None = None,
    folds: int = 1,
) -> dict[str, Any]:
    """Return R^V, R, SR and NCS of a score matrix, `table["NCS"]["i2t"][5]` in percent, and their sums.

    Measures: "RV" (any ground truth found), "R" (share found), "SR" (of the `relevant` most relevant) and "NCS" (as
    `ncs`, with its `restrict`); "SR(N)" and "NCS(N)" without ground truth. Sums: "Rsum" (of RV), "Nsum", "Nsum(N)".
    "unanswered" counts, by measure and direction, the queries that are left out because nothing is relevant to them.

    Args:
        similarity: scores of the model.
        relevance: of each image to each caption.
        positives: as for `retrieval`.
        ks: the cut-offs.
        relevant: how many of the most relevant SR seeks.
        restrict: as for `ncs`.
        folds: as for `retrieval`.

    Raises:
        ItmlabError: as `ncs`.
    """
    similarity, relevance = torch.as_tensor(similarity), torch.as_tensor(relevance)
    if similarity.ndim != 2 or relevance.shape != similarity.T.shape:
        shapes = f"{tuple(similarity.shape)} and {tuple(relevance.shape)}"
        raise ItmlabError(f"similarity must be (image, caption) and relevance (caption, image); got {shapes}")
    table: dict[str, Any] = {"unanswered": {}}
    for name, sense in (("RV", "any"), ("R", "share")):
        reached = retrieval(similarity, positives, ks=ks, folds=folds, sense=sense)
        table[name] = {side: reached[side] for side in ("i2t", "t2i")}
    depths = {"retrieved": max(ks), "ideal": max(*ks, relevant, restrict or 1)}
    values: dict[tuple[str, str, int], list[Tensor]] = {}  # by measure, direction and k: a value per query of each fold
    for pool in pools(similarity, positives, folds):
        scores, gains = (similarity, relevance.T) if folds == 1 else (pool.of(similarity), pool.of(relevance.T))
        for mark, keep in (("", True), ("(N)", False)):
            truth = torch.empty(0, 0) if keep else pool.positives  # a large mask, made only when it is needed
            for side, matrices in (("i2t", (scores, gains, truth)), ("t2i", (scores.T, gains.T, truth.T))):
                ranking = SemanticRanking.of(*matrices[:2], positives=matrices[2], keep_ground_truth=keep, **depths)
                for k in ks:
                    values.setdefault((f"SR{mark}", side, k), []).append(ranking.recalls(k, relevant))
                    values.setdefault((f"NCS{mark}", side, k), []).append(ranking.scores(k, restrict=restrict))
    for (name, side, k), of_folds in values.items():
        table.setdefault(name, {}).setdefault(side, {})[k] = _mean(of_folds, f"{name}@{k} {side}")
        unanswered = sum(int(fold.isnan().sum()) for fold in of_folds)
        table["unanswered"].setdefault(name, {})[side] = unanswered
    for name, measure in (("Rsum", "RV"), ("Nsum", "NCS"), ("Nsum(N)", "NCS(N)")):
        table[name] = sum(sum(sides.values()) for sides in table[measure].values())
    return table
