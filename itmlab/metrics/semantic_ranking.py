"""What semantic measures need of two matrices: how relevant each query's first candidates are, and its best ones."""

from dataclasses import dataclass
from typing import Self

import torch
from jaxtyping import Bool, Float, Float64, Int64
from torch import Tensor

from itmlab.metrics.semantic_checks import check_depth, check_finite, check_matrices

BLOCK = 1 << 22  # scores ranked at once


@dataclass(frozen=True, eq=False)
class SemanticRanking:
    """`retrieved`: the relevance of each query's first candidates, in the model's order; `ideal`: of its most relevant.

    Every SR and NCS up to that depth follows from these two. Ties are settled without chance and without regard to
    the order of candidates: of candidates with equal similarity the less relevant stand first (against the model); of
    candidates that are as relevant as the m-th all are equally good answers, and fill the places among the m that are
    left, whichever are retrieved. A candidate of relevance 0 is never relevant: a query with fewer than m others has
    fewer relevant ones, and a query with none has no value (NaN).
    """

    retrieved: Float[Tensor, "anchor retrieved"]
    ideal: Float[Tensor, "anchor ideal"]

    @classmethod
    def of(
        cls,
        similarity: Float[Tensor, "anchor candidate"],
        relevance: Float[Tensor, "anchor candidate"],
        *,
        retrieved: int,
        ideal: int,
        positives: Bool[Tensor, "anchor candidate"] | None = None,
        keep_ground_truth: bool = True,
    ) -> Self:
        """Rank both matrices as deep as asked, in blocks of queries; transposed views are as good as matrices.

        Without ground truth each query's positives are neither ranked nor relevant. ItmlabError: shapes that differ,
        NaN, relevance that is negative or infinite, a depth above the candidates that a query has.
        """
        similarity, relevance, removed = check_matrices(similarity, relevance, positives, keep_ground_truth)
        candidates = similarity.shape[1]
        most = int(removed[0].bincount().max()) if len(removed[0]) else 0
        check_depth("k", retrieved, candidates, most)
        check_depth("k" if ideal == retrieved else "relevant", ideal, candidates, most)
        found, best = [], []
        for rows in torch.arange(len(similarity)).split(max(1, BLOCK // candidates)):
            mine = slice(int(rows[0]), int(rows[-1]) + 1)
            scores, gains = similarity[mine].contiguous(), relevance[mine].contiguous()
            check_finite(scores, gains, mine.start)
            out = None
            if most:
                here = (removed[0] >= mine.start) & (removed[0] < mine.stop)
                out = removed[0][here] - mine.start, removed[1][here]
                scores, gains = scores.clone(), gains.clone()
                scores[out], gains[out] = -torch.inf, 0
            found.append(gains.gather(1, _first(scores, gains, retrieved, out)))
            best.append(gains.topk(ideal, dim=1).values)
        return cls(torch.cat(found), torch.cat(best))

    def recalls(self, k: int, relevant: int, *, any_of_them: bool = False) -> Float64[Tensor, "anchor"]:
        """SR@k (Eq. 4) of each query in percent: the share of its `relevant` most relevant among its first k."""
        above, ties, _, sought = self._among(k, relevant)
        hits = (above.sum(dim=1) + ties).double()
        share = (hits > 0).double() if any_of_them else hits / sought
        return torch.where(sought > 0, 100 * share, torch.nan)

    def scores(self, k: int, *, restrict: int | None = None) -> Float64[Tensor, "anchor"]:
        """NCS@k (Eq. 5) of each query in percent; see `itmlab.metrics.ncs`."""
        if restrict is None:
            gained, most = self.retrieved[:, :k].double().sum(dim=1), self.ideal[:, :k].double().sum(dim=1)
        else:
            above, ties, threshold, _ = self._among(k, restrict)
            gained = (self.retrieved[:, :k].double() * above).sum(dim=1) + ties * threshold.double()
            most = self.ideal[:, :restrict].double().sum(dim=1)
        return torch.where(most > 0, 100 * (gained / most).clamp(max=1), torch.nan)

    def _among(self, k: int, relevant: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Which of the first k are above the m-th relevance, how many more are among the m, that relevance, and |m|."""
        threshold = self.ideal[:, relevant - 1]
        above = self.retrieved[:, :k] > threshold[:, None]
        places = relevant - (self.ideal[:, :relevant] > threshold[:, None]).sum(dim=1)
        equal = (self.retrieved[:, :k] == threshold[:, None]).sum(dim=1)
        ties = torch.where(threshold > 0, torch.minimum(equal, places), 0)
        return above, ties, threshold, (self.ideal[:, :relevant] > 0).sum(dim=1)


def _first(
    similarity: Float[Tensor, "anchor candidate"],
    relevance: Float[Tensor, "anchor candidate"],
    k: int,
    removed: tuple[Int64[Tensor, "pair"], Int64[Tensor, "pair"]] | None,
) -> Int64[Tensor, "anchor k"]:
    """The candidates of the k largest similarities in their order, the less relevant first where they are equal."""
    top = similarity.topk(min(k + 1, similarity.shape[1]), dim=1)
    tied = (top.values[:, 1:] == top.values[:, :-1]).any(dim=1)
    order = top.indices[:, :k].clone()
    if tied.any():
        last = relevance
        if removed is not None:  # what is removed scores -inf, and stands behind all that do so themselves
            last = relevance.clone()
            last[removed] = torch.inf
        by_relevance = last[tied].argsort(dim=1, stable=True)
        scores = similarity[tied].gather(1, by_relevance)
        order[tied] = by_relevance.gather(1, scores.argsort(dim=1, descending=True, stable=True)[:, :k])
    return order
