"""SR and NCS: recall that knows degrees of relevance (Biten et al. 2022, Sec. 3; readings in METHODS 2.4).

N[q, c] says how relevant candidate c is to query q (CIDEr's or SPICE's matrix). With top_k the k candidates that a
model ranks first, and top_m the m that N ranks first, the paper prints

    SR@k(q)  = |top_m ∩ top_k| / |top_m|                                                             (Eq. 4)
    NCS@k(q) = Σ N[q, c] over c in top_k ∩ top_m  /  Σ N[q, c] over c in top_m                       (Eq. 5)

The authors' code has another NCS: Σ N over top_k, over the largest sum that k candidates can have. That is the default,
`restrict=m` the printed one. Both measures of every depth follow from one `SemanticRanking`. The code's SR asks for
other candidates (`image_relevance`), and where nothing is relevant its NCS is 0 (`unanswered="zero"`).
"""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any, Literal, Self

import torch
from jaxtyping import Bool, Float, Float64, Int64
from torch import Tensor

from ..errors import ItmlabError
from .ranking import Mask, Numbers, Scores, Sense, marked_pairs, pools, retrieval

Unanswered = Literal["left_out", "zero"]


def semantic_recall(
    similarity: Scores,
    relevance: Scores,
    k: int,
    *,
    relevant: int,
    sense: Sense = "share",
    positives: Mask | None = None,
    keep_ground_truth: bool = True,
    unanswered: Unanswered = "left_out",
) -> float:
    """SR@k in percent: the share of a query's `relevant` most relevant candidates among its k best, mean over queries.

    `sense="any"`: whether one of them is among the k best. Without ground truth (the paper's "N") the `positives` are
    neither ranked nor relevant. Ties and relevance 0: see `SemanticRanking`; queries to which nothing is relevant are
    left out, and a warning counts them (with `unanswered="zero"` they count 0, as in the authors' code). ItmlabError:
    NaN, other shapes, too large k or `relevant`, negative relevance.

    >>> scores, relevance = torch.tensor([[0.9, 0.8, 0.7, 0.1]]), torch.tensor([[2.0, 0.0, 4.0, 6.0]])
    >>> semantic_recall(scores, relevance, 3, relevant=2)
    50.0
    """
    options = {"sense": sense, "positives": positives, "keep_ground_truth": keep_ground_truth}
    found = semantic_recall_of_each(similarity, relevance, k, relevant=relevant, **options)
    return _mean_of_answered(found, f"SR@{k}", unanswered)


def semantic_recall_of_each(
    similarity: Scores, relevance: Scores, k: int, *, relevant: int, sense: Sense = "share", **truth: Any
) -> Float64[Tensor, "anchor"]:
    """SR@k of each query in percent, NaN where nothing is relevant; options and errors as `semantic_recall`."""
    if sense not in ("any", "share"):
        raise ItmlabError(f"recall has no sense {sense!r}", remedy='choose "any" or "share"')
    ranking = SemanticRanking.of(similarity, relevance, retrieved=k, ideal=relevant, **truth)
    return ranking.recalls(k, relevant, any_of_them=sense == "any")


def ncs(
    similarity: Scores,
    relevance: Scores,
    k: int,
    *,
    restrict: int | None = None,
    positives: Mask | None = None,
    keep_ground_truth: bool = True,
    unanswered: Unanswered = "left_out",
) -> float:
    """NCS@k in percent: the relevance of a query's k best over that of the k most relevant, mean over queries.

    This is what the authors' code computes. `restrict=m` is the formula as printed: of the k best only those that are
    among the m most relevant count, over the sum of those m. All else is as in `semantic_recall`.

    >>> scores, relevance = torch.tensor([[0.9, 0.8, 0.7, 0.1]]), torch.tensor([[2.0, 0.0, 4.0, 6.0]])
    >>> ncs(scores, relevance, 3), ncs(scores, relevance, 3, restrict=2)
    (50.0, 40.0)
    """
    options = {"restrict": restrict, "positives": positives, "keep_ground_truth": keep_ground_truth}
    return _mean_of_answered(ncs_of_each(similarity, relevance, k, **options), f"NCS@{k}", unanswered)


def ncs_of_each(
    similarity: Scores, relevance: Scores, k: int, *, restrict: int | None = None, **truth: Any
) -> Float64[Tensor, "anchor"]:
    """NCS@k of each query in percent, NaN where nothing is relevant; options and errors as `ncs`."""
    depths = {"retrieved": k, "ideal": k if restrict is None else restrict}
    return SemanticRanking.of(similarity, relevance, **depths, **truth).scores(k, restrict=restrict)


def image_relevance(
    relevance: Float[Tensor, "caption image"], positives: Bool[Tensor, "image caption"], *, depth: int | None = 30
) -> Float[Tensor, "image image"]:
    """How relevant images are to an image: φ of its captions to them, summed (SR of the authors' code; METHODS 2.4).

    Each caption counts for its `depth` most relevant images alone, as many as the code's largest cut-off (None: all).

    >>> relevance = torch.tensor([[9.0, 1.0], [7.0, 0.0], [2.0, 8.0]])
    >>> image_relevance(relevance, torch.tensor([[True, True, False], [False, False, True]])).tolist()
    [[16.0, 1.0], [2.0, 8.0]]
    """
    if depth is not None and depth < relevance.shape[1]:
        top = relevance.topk(depth, dim=1)
        relevance = torch.zeros_like(relevance).scatter(1, top.indices, top.values)
    image, caption = torch.as_tensor(positives).bool().nonzero(as_tuple=True)
    return relevance.new_zeros(len(positives), relevance.shape[1]).index_add_(0, image, relevance[caption])


def _mean_of_answered(values: Float64[Tensor, "anchor"], what: str, unanswered: Unanswered) -> float:
    """The mean over the queries that have a value; a warning counts the others, and none at all is an ItmlabError."""
    if _as_zero(unanswered):
        return values.nan_to_num(0).mean().item()
    without = int(values.isnan().sum())
    if without == len(values):
        raise ItmlabError(f"{what}: nothing is relevant to any query", remedy="look at the relevance matrix: all is 0")
    if without:
        warnings.warn(
            f"{what}: nothing is relevant to {without} of {len(values)} queries, which are left out", stacklevel=3
        )
    return values.nanmean().item()


def _as_zero(unanswered: Unanswered) -> bool:
    if unanswered not in ("left_out", "zero"):
        raise ItmlabError(f"no way {unanswered!r} with unanswered queries", remedy='choose "left_out" or "zero"')
    return unanswered == "zero"


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
        similarity: Scores,
        relevance: Scores,
        *,
        retrieved: int,
        ideal: int,
        positives: Mask | None = None,
        keep_ground_truth: bool = True,
    ) -> Self:
        """Rank both matrices as deep as asked, in blocks of queries; transposed views are as good as matrices.

        Without ground truth each query's positives are neither ranked nor relevant. ItmlabError: shapes that differ,
        NaN, relevance that is negative or infinite, a depth above the candidates that a query has.
        """
        similarity, relevance = torch.as_tensor(similarity), torch.as_tensor(relevance)
        if similarity.ndim != 2 or relevance.shape != similarity.shape:
            raise ItmlabError(
                f"similarity and relevance must both be (anchor, candidate); "
                f"got {tuple(similarity.shape)} and {tuple(relevance.shape)}",
                remedy="a (caption, image) matrix is transposed for images as anchors",
            )
        if not similarity.numel():
            raise ItmlabError("there is nothing to rank: the similarity matrix is empty")
        similarity, relevance = (m if m.is_floating_point() else m.double() for m in (similarity, relevance))
        removed = (torch.empty(0, dtype=torch.int64),) * 2
        if not keep_ground_truth:
            if positives is None:
                raise ItmlabError("ground truth can only be left out when it is known", remedy="pass positives=")
            removed = marked_pairs(similarity, torch.as_tensor(positives).bool())
        candidates = similarity.shape[1]
        most = int(removed[0].bincount().max()) if len(removed[0]) else 0
        _check_depth("k", retrieved, candidates, most)
        _check_depth("k" if ideal == retrieved else "relevant", ideal, candidates, most)
        found, best = [], []
        for rows in torch.arange(len(similarity)).split(max(1, BLOCK // candidates)):
            mine = slice(int(rows[0]), int(rows[-1]) + 1)
            scores, gains = similarity[mine].contiguous(), relevance[mine].contiguous()
            _check_finite(scores, gains, mine.start)
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
    similarity: Scores, relevance: Scores, k: int, removed: tuple[Numbers, Numbers] | None
) -> Int64[Tensor, "anchor k"]:
    """The candidates of the k largest similarities in their order, the less relevant first where they are equal."""
    top = similarity.topk(min(k + 1, similarity.shape[1]), dim=1)  # one more, to see whether the k-th is tied with it
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


def _check_depth(name: str, depth: int, candidates: int, removed: int) -> None:
    if isinstance(depth, bool) or not isinstance(depth, int) or not 1 <= depth <= candidates - removed:
        left = f" (after up to {removed} of ground truth are left out)" if removed else ""
        raise ItmlabError(
            f"{name}={depth} of {candidates - removed} candidates{left}",
            remedy=f"choose {name} from 1 to {candidates - removed}" if candidates > removed else "use a larger pool",
        )


def _check_finite(similarity: Scores, relevance: Scores, first: int) -> None:
    """ItmlabError naming the pair: a NaN, or relevance that is negative or infinite (rows count from `first`)."""
    for name, matrix in (("similarity", similarity), ("relevance", relevance)):
        if bool(matrix.sum().isnan()) and bool(matrix.isnan().any()):  # a sum is the cheapest pass that shows a NaN
            row, column = matrix.isnan().nonzero()[0].tolist()
            raise ItmlabError(f"{name} is NaN between query {row + first} and candidate {column}")
    least, most = relevance.aminmax()
    if least < 0 or most == torch.inf:
        row, column = ((relevance < 0) | (relevance == torch.inf)).nonzero()[0].tolist()
        raise ItmlabError(
            f"relevance is {relevance[row, column].item():g} between query {row + first} and candidate {column}",
            remedy="it must be finite and not negative",
        )


# Every measure of a retrieval that SAM reports (Tables 2 to 4), in both directions, over one pool or several folds.

DIRECTIONS = ("i2t", "t2i")


def semantic_retrieval(
    similarity: Float[Tensor, "image caption"],
    relevance: Float[Tensor, "caption image"],
    positives: Mask | None = None,
    *,
    ks: Sequence[int] = (1, 5, 10),
    relevant: int = 10,
    restrict: int | None = None,
    folds: int = 1,
    relevant_items: Literal["pairs", "images"] = "pairs",
    unanswered: Unanswered = "left_out",
) -> dict[str, Any]:
    """R^V, R, SR and NCS of a score matrix, `table["NCS"]["i2t"][5]` in percent, and their sums over both directions.

    Measures: "RV" (any ground truth found), "R" (share found), "SR" (of the `relevant` most relevant) and "NCS" (as
    `ncs`, with its `restrict`); "SR(N)" and "NCS(N)" without ground truth. Sums: "Rsum" (of RV), "Nsum", "Nsum(N)".
    "unanswered" counts, by measure and direction, the queries that are left out because nothing is relevant to them.
    Pools and folds are those of `retrieval`; relevance stays what it is in the whole. ItmlabError: as `ncs`.

    As the authors' code (METHODS 2.4): `relevant_items="images"` makes SR's relevant ones `relevant` images, those of
    largest `image_relevance` to the query's image, and all their captions; `unanswered="zero"` counts such queries 0.
    """
    if relevant_items not in ("pairs", "images"):
        raise ItmlabError(f"no relevant items {relevant_items!r}", remedy='choose "pairs" or "images"')
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
    without: dict[str, dict[str, int]] = {}
    for mark, keep in (("", True), ("(N)", False)):
        options = {"retrieved": max(ks), "ideal": max(*ks, relevant, restrict or 1), "keep_ground_truth": keep}
        rankings: dict[str, list[SemanticRanking]] = {side: [] for side in DIRECTIONS}
        recalls: dict[str, list[dict[int, Float64[Tensor, "anchor"]]]] = {side: [] for side in DIRECTIONS}
        for pool in blocks:
            scores, gains = (similarity, relevance.T) if folds == 1 else (pool.of(similarity), pool.of(relevance.T))
            truth = torch.empty(0, 0) if keep else pool.positives  # a large mask, made only when it is asked for
            rankings["i2t"].append(SemanticRanking.of(scores, gains, positives=truth, **options))
            rankings["t2i"].append(SemanticRanking.of(scores.T, gains.T, positives=truth.T, **options))
            sought = dict.fromkeys(DIRECTIONS, relevant)
            found = {side: rankings[side][-1] for side in DIRECTIONS}
            if relevant_items == "images":
                found, sought = _by_images(scores, gains, pool.positives, max(ks), relevant, keep)
            for side in DIRECTIONS:
                recalls[side].append({k: found[side].recalls(k, sought[side]) for k in ks})
        for side, of_folds in rankings.items():
            shares = {k: [fold[k] for fold in recalls[side]] for k in ks}
            scores = {k: [ranking.scores(k, restrict=restrict) for ranking in of_folds] for k in ks}
            for name, values in ((f"SR{mark}", shares), (f"NCS{mark}", scores)):
                means = {k: _mean(values[k], f"{name}@{k} {side}", unanswered) for k in ks}
                table.setdefault(name, {})[side] = means
                without.setdefault(name, {})[side] = sum(int(fold.isnan().sum()) for fold in values[ks[0]])
    for name, measure in (("Rsum", "RV"), ("Nsum", "NCS"), ("Nsum(N)", "NCS(N)")):
        table[name] = sum(sum(table[measure][side].values()) for side in DIRECTIONS)
    return table | {"unanswered": without}


def _by_images(
    similarity: Float[Tensor, "image caption"],
    gains: Float[Tensor, "image caption"],
    positives: Bool[Tensor, "image caption"],
    k: int,
    images: int,
    keep_ground_truth: bool,
) -> tuple[dict[str, SemanticRanking], dict[str, int]]:
    """Rankings whose relevant candidates are whole images, and how many candidates these are, by direction."""
    held, owner = positives.sum(dim=1), positives.to(torch.uint8).argmax(dim=0)
    if bool((held != held[0]).any()) or bool((positives.sum(dim=0) != 1).any()):
        raise ItmlabError('relevant_items="images" needs as many captions for each image, and one image for each')
    relevance, sought = image_relevance(gains.T, positives), {"i2t": images * int(held[0]), "t2i": images}
    options = {"retrieved": k, "keep_ground_truth": keep_ground_truth}
    from_image, from_caption = relevance[:, owner], relevance[owner]
    found = {
        "i2t": SemanticRanking.of(similarity, from_image, ideal=sought["i2t"], positives=positives, **options),
        "t2i": SemanticRanking.of(similarity.T, from_caption, ideal=images, positives=positives.T, **options),
    }
    return found, sought


def _mean(folds: Sequence[Float64[Tensor, "anchor"]], what: str, unanswered: Unanswered) -> float:
    """The mean over folds of the mean over the queries that have a value."""
    if _as_zero(unanswered):
        return fmean(values.nan_to_num(0).mean().item() for values in folds)
    for number, values in enumerate(folds):
        if bool(values.isnan().all()):
            where = f" in fold {number}" if len(folds) > 1 else ""
            raise ItmlabError(f"{what}: nothing is relevant to any query{where}", remedy="look at the relevance matrix")
    return fmean(values.nanmean().item() for values in folds)
