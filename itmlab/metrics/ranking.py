"""Recall, the table that the field reports: R@k and R^V@k (Biten et al. 2022, Eq. 1 and 2), both directions, their sum.

Positives are found by counting what scores at least as much, not by sorting, and a transposed view is walked as it lies
in memory: no copy of the matrix is ever made. Ties are counted against the model (METHODS 2.3).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any, Literal

import torch
from jaxtyping import Bool, Float, Float64, Int64
from torch import Tensor

from ..errors import ItmlabError

Scores = Float[Tensor, "anchor candidate"]
Mask = Bool[Tensor, "anchor candidate"]
Numbers = Int64[Tensor, "pair"]  # of anchors, of candidates: (anchor, candidate) are the pairs that belong together
Sense = Literal["any", "share"]


def recall(similarity: Scores, positives: Mask, k: int, *, sense: Sense = "any") -> float:
    """Recall at k in percent, from text to image with the transposes of both (a view is enough).

    `sense="any"`: the share of queries with a positive among their k best, which the field reports (R^V@k, Eq. 2).
    `sense="share"`: the share of its positives that a query finds among its k best, mean over queries (R@k, Eq. 1).
    ItmlabError: NaN, k above the candidates, shapes that differ, a query without a positive.

    >>> scores, positives = torch.tensor([[0.9, 0.5, 0.1, 0.2]]), torch.tensor([[True, False, True, False]])
    >>> recall(scores, positives, 2), recall(scores, positives, 2, sense="share")
    (100.0, 50.0)
    """
    similarity, positives = torch.as_tensor(similarity), torch.as_tensor(positives).bool()
    anchor, candidate = positive_pairs(similarity, positives)
    check_k(k, similarity.shape[1])
    return recalls(similarity, anchor, candidate, (k,), sense=sense)[k]


def recalls(
    similarity: Scores, anchor: Numbers, candidate: Numbers, ks: tuple[int, ...], *, sense: Sense = "any"
) -> dict[int, float]:
    """Recall in percent for each k, of positives given as index pairs."""
    return measured(similarity, anchor, candidate, ks, sense=sense)[0]


def measured(
    similarity: Scores, anchor: Numbers, candidate: Numbers, ks: tuple[int, ...], *, sense: Sense = "any"
) -> tuple[dict[int, float], dict[str, float]]:
    """`recalls`, and the "median" and "mean" over queries of the rank, from 1 on, of their best positive.

    The median of an even number of queries is rounded down, as in the code of VSE++ and all that came of it.
    """
    if sense not in ("any", "share"):
        raise ItmlabError(f"recall has no sense {sense!r}", remedy='choose "any" or "share"')
    owner, rank = ranks(similarity, anchor, candidate, best_only=sense == "any")
    sought = torch.bincount(owner, minlength=len(similarity))
    found = {k: torch.bincount(owner[rank < k], minlength=len(similarity)) for k in ks}
    best = torch.full_like(sought, similarity.shape[1]).scatter_reduce(0, owner, rank, "amin").sort().values
    median = (best[(len(best) - 1) // 2] + best[len(best) // 2]) // 2 + 1
    typical = {"median": float(median), "mean": best.double().mean().item() + 1}
    return {k: 100 * (found[k].double() / sought).mean().item() for k in ks}, typical


def ranks(
    similarity: Scores, anchor: Numbers, candidate: Numbers, *, best_only: bool
) -> tuple[Int64[Tensor, "kept"], Int64[Tensor, "kept"]]:
    """The anchor and the rank (0 is first) of every positive pair, or of each anchor's best one alone.

    Ties are counted against the model: a negative that scores the same as a positive stands before it, so that a model
    which scores everything alike finds nothing. With distinct scores this is the rank of a sort. NaN is an ItmlabError.
    """
    scores = similarity[anchor, candidate]
    order = scores.sort(descending=True, stable=True).indices
    order = order[anchor[order].sort(stable=True).indices]  # by anchor, and within one from its best positive on
    anchor, scores = anchor[order], scores[order]
    held = torch.bincount(anchor, minlength=len(similarity))
    place = torch.arange(len(anchor), device=anchor.device) - (held.cumsum(0) - held)[anchor]
    found = []
    for turn in range(1 if best_only else int(held.max())):  # every anchor's best positive, every second best, ...
        mine = place == turn
        thresholds = scores.new_zeros(len(similarity))
        thresholds[anchor[mine]] = scores[mine]
        at_least = _count_at_least(similarity, thresholds, check=turn == 0)
        # the positives among them stand where they stand, whatever their ties
        equals = torch.bincount(anchor[scores >= thresholds[anchor]], minlength=len(similarity))
        found.append((anchor[mine], (at_least - equals + turn)[anchor[mine]]))
    return torch.cat([pair[0] for pair in found]), torch.cat([pair[1] for pair in found])


def expected_recalls(similarity: Scores, positives: Mask, ks: Sequence[int]) -> dict[int, float]:
    """Recall in percent for each k (any positive among the k best), expected when ties are broken at random.

    A place among N equal scores, P of them positives, i of them placed before, holds a positive with the chance
    P / (N - i), if none of those i did (hypergeometric). ItmlabError: k above the candidates.

    >>> expected_recalls(torch.tensor([[1, 1, 1, 1, 0]]), torch.tensor([[True, False, False, False, False]]), (1, 2, 4))
    {1: 25.0, 2: 50.0, 4: 100.0}
    """
    return {k: 100 * each.mean().item() for k, each in expected_recalls_of_each(similarity, positives, ks).items()}


def expected_recalls_of_each(
    similarity: Scores, positives: Mask, ks: Sequence[int]
) -> dict[int, Float64[Tensor, "anchor"]]:
    """`expected_recalls` of each query, 0 to 1."""
    for k in ks:
        check_k(k, similarity.shape[1])
    best = similarity.topk(max(ks), dim=1).values
    missed, found = torch.ones(len(similarity), dtype=torch.float64, device=similarity.device), {}
    for place, value in enumerate(best.split(1, dim=1)):
        equal = similarity == value
        left = (equal.sum(dim=1) + (similarity > value).sum(dim=1) - place).double()
        missed = missed * (1 - (equal & positives).sum(dim=1) / left).clamp(min=0)
        found[place + 1] = 1 - missed
    return {k: found[k] for k in ks}


BLOCK = 1 << 20  # scores compared at once: a few megabytes, which stay in the processor's cache


def _count_at_least(similarity: Scores, thresholds: Float[Tensor, "anchor"], *, check: bool) -> Int64[Tensor, "anchor"]:
    """How many candidates score at least each anchor's threshold, walking the matrix as it lies in memory."""
    counts = torch.zeros(len(similarity), dtype=torch.int64, device=similarity.device)
    axis = int(similarity.stride(0) < similarity.stride(1))  # that of blocks: rows, or columns of a transposed view
    size, counter = max(1, BLOCK // similarity.shape[1 - axis]), torch.int64
    if axis:  # so many candidates at once can be counted in a byte, which is twice as fast
        size, counter = min(size, 255), torch.uint8
    for number, block in enumerate(similarity.split(size, dim=axis)):
        start = number * size
        # a sum is the cheapest pass that a NaN cannot hide from; infinities of both signs make one too
        if check and bool(block.sum().isnan()) and bool(block.isnan().any()):
            row, column = block.isnan().nonzero()[0].tolist()
            row, column = (row, column + start) if axis else (row + start, column)
            raise ItmlabError(f"similarity is NaN between query {row} and candidate {column}")
        mine = slice(None) if axis else slice(start, start + size)
        counts[mine] += (block >= thresholds[mine, None]).view(torch.uint8).sum(dim=1, dtype=counter)
    return counts


def positive_pairs(similarity: Scores, positives: Mask) -> tuple[Numbers, Numbers]:
    """The (anchor, candidate) indices of a truth mask; ItmlabError when shapes differ or an anchor has no positive."""
    anchor, candidate = marked_pairs(similarity, positives)
    if len(similarity) == 0:
        raise ItmlabError("there is nothing to rank: the similarity matrix is empty")
    require_positives(anchor, len(similarity), "query")
    return anchor, candidate


def marked_pairs(similarity: Scores, positives: Mask) -> tuple[Numbers, Numbers]:
    """The (anchor, candidate) indices of a mask; ItmlabError when the shapes differ."""
    if similarity.ndim != 2 or positives.shape != similarity.shape:
        raise ItmlabError(
            f"similarity and positives must both be (anchor, candidate); "
            f"got {tuple(similarity.shape)} and {tuple(positives.shape)}"
        )
    if positives.stride(0) < positives.stride(1):  # a transposed view, of which `nonzero` would make a copy
        return positives.T.nonzero(as_tuple=True)[::-1]
    return positives.nonzero(as_tuple=True)


def require_positives(anchor: Numbers, anchors: int, what: str) -> None:
    """ItmlabError that counts, and names the first of, those that no pair has."""
    if without := (torch.bincount(anchor, minlength=anchors) == 0).nonzero().squeeze(1).tolist():
        raise ItmlabError(
            f"{len(without)} of {anchors} have no positive, the first is {what} {without[0]}",
            remedy="leave out what nothing can be found for",
        )


class FewCandidates(ItmlabError):
    """A k that is no whole number from 1 to the number of `candidates`, which a caller may say in words of its own."""

    def __init__(self, k: int, candidates: int, *, where: str | None = None, remedy: str | None = None):
        self.k, self.candidates = k, max(candidates, 0)
        super().__init__(f"recall at k={k} of {self.candidates} candidates", where=where, remedy=remedy)


def check_k(k: int, candidates: int, *, where: str | None = None, remedy: str | None = None) -> None:
    """FewCandidates unless k is a whole number from 1 to the number of candidates (METHODS 2.3)."""
    if isinstance(k, bool) or not isinstance(k, int) or not 1 <= k <= candidates:
        choice = f"choose k from 1 to {candidates}, or " if candidates > 0 else ""
        raise FewCandidates(k, candidates, where=where, remedy=remedy or f"{choice}rank more candidates")


# Both directions, over one pool of images and captions or several folds.


def retrieval(
    similarity: Float[Tensor, "image caption"],
    positives: Bool[Tensor, "image caption"] | None = None,
    *,
    ks: Sequence[int] = (1, 5, 10),
    folds: int = 1,
    sense: Sense = "any",
) -> dict[str, Any]:
    """`{"i2t": {k: percent}, "t2i": {k: percent}, "rsum": sum of them all}` of a score matrix, and beside it "rank".

    That is the median and the mean rank, from 1 on, of the best positive of each query, in both directions.

    Without `positives` the captions lie image by image, as many for each. With folds (COCO's 1K is 5 folds of 1,000)
    the images are cut into consecutive blocks of equal size, each retrieved among its own captions only, and the
    recalls averaged. ItmlabError: as `recall`, and images that do not divide.

    >>> table = retrieval(torch.eye(3).repeat_interleave(2, dim=1), ks=(1, 2))
    >>> table["i2t"], table["rsum"], table["rank"]["t2i"]
    ({1: 100.0, 2: 100.0}, 400.0, {'median': 1.0, 'mean': 1.0})
    """
    similarity = torch.as_tensor(similarity)
    tables: dict[str, list[tuple[dict[int, float], dict[str, float]]]] = {"i2t": [], "t2i": []}
    for pool in pools(similarity, positives, folds):
        # one block is a 1/folds² of the matrix; the whole of it is never copied
        block = similarity if folds == 1 else pool.of(similarity)
        for k in ks:
            check_k(k, min(block.shape))
        tables["i2t"].append(measured(block, pool.row, pool.column, tuple(ks), sense=sense))
        tables["t2i"].append(measured(block.T, pool.column, pool.row, tuple(ks), sense=sense))
    table, rank = ({side: _mean([fold[part] for fold in folds]) for side, folds in tables.items()} for part in (0, 1))
    table["rsum"] = sum(table["i2t"].values()) + sum(table["t2i"].values())
    return table | {"rank": rank}


def _mean(tables: list[dict[Any, float]]) -> dict[Any, float]:
    """The mean of each entry."""
    return {name: fmean(table[name] for table in tables) for name in tables[0]}


@dataclass(frozen=True, eq=False)
class Pool:
    """A block of images with all their captions, and the pairs (row, column) in it that belong together."""

    images: slice
    captions: Int64[Tensor, "caption"]
    row: Numbers
    column: Numbers

    def of(self, matrix: Float[Tensor, "image caption"]) -> Float[Tensor, "image caption"]:
        """The block of an (image, caption) matrix, copied."""
        return matrix[self.images].index_select(1, self.captions)

    @property
    def positives(self) -> Bool[Tensor, "image caption"]:
        """The truth mask of the block."""
        mask = torch.zeros(self.images.stop - self.images.start, len(self.captions), dtype=torch.bool)
        mask[self.row, self.column] = True
        return mask


def pools(
    similarity: Float[Tensor, "image caption"], positives: Bool[Tensor, "image caption"] | None, folds: int
) -> list[Pool]:
    """Consecutive blocks of equally many images; without `positives` the captions lie image by image, as many for each.

    ItmlabError: not a matrix, an image or a caption without a positive, captions or images that do not divide.
    """
    if similarity.ndim != 2:
        raise ItmlabError(f"similarity must be (image, caption), not {tuple(similarity.shape)}")
    images, captions = similarity.shape
    if positives is None:
        if images == 0 or captions == 0 or captions % images:
            raise ItmlabError(
                f"{captions} captions are not the same number for each of {images} images", remedy="pass positives="
            )
        caption = torch.arange(captions, device=similarity.device)
        image = caption // (captions // images)
    else:
        image, caption = positive_pairs(similarity, torch.as_tensor(positives).bool())
        require_positives(caption, captions, "caption")
    return blocks(image, caption, images, folds)


def blocks(image: Numbers, caption: Numbers, images: int, folds: int) -> list[Pool]:
    """The `pools` of so many images, from the pairs alone."""
    if isinstance(folds, bool) or not isinstance(folds, int) or folds < 1 or images % folds:
        raise ItmlabError(f"{images} images cannot be cut into folds={folds} equal blocks")
    found = []
    for first in range(0, images, size := images // folds):
        mine = (image >= first) & (image < first + size)
        columns, column = caption[mine].unique(return_inverse=True)
        found.append(Pool(slice(first, first + size), columns, image[mine] - first, column))
    return found
