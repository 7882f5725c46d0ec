"""Recall, the table that the field reports: R@k and R^V@k (Biten et al. 2022, Eq. 1 and 2), both directions, their sum.

Positives are found by counting what scores at least as much, not by sorting. Ties are counted against the model
(METHODS 2.3).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any, Literal

import torch
from jaxtyping import Bool, Float, Float64, Int64, Shaped
from torch import Tensor

from ..data.captionset import CaptionSet
from ..errors import ItmlabError
from ..fields import check_known

Scores = Float[Tensor, "anchor candidate"]
Mask = Bool[Tensor, "anchor candidate"]
Numbers = Int64[Tensor, "pair"]  # of anchors, of candidates: (anchor, candidate) are the pairs that belong together
Pairs = tuple[Numbers, Numbers]
Sense = Literal["any", "share"]


def recall(similarity: Scores, positives: Mask, k: int, *, sense: Sense = "any") -> float:
    """Return recall at k in percent, from text to image with the transposes of both (a view is enough).

    Args:
        similarity: scores of the model.
        positives: the pairs that belong together.
        k: how many candidates are retrieved.
        sense: "any" is the share of queries with a positive among their k best, which the field reports (R^V@k, Eq. 2);
            "share" the share of its positives that a query finds among its k best, mean over queries (R@k, Eq. 1).

    Raises:
        ItmlabError: NaN, k above the candidates, shapes that differ, or a query without a positive.

    >>> scores, positives = torch.tensor([[0.9, 0.5, 0.1, 0.2]]), torch.tensor([[True, False, True, False]])
    >>> recall(scores, positives, 2), recall(scores, positives, 2, sense="share")
    (100.0, 50.0)
    """
    similarity = torch.as_tensor(similarity)
    pairs = positive_pairs(similarity, positives)
    return recalls_at(similarity, pairs, (k,), sense)[k]


def recalls_at(similarity: Scores, pairs: Pairs, ks: Sequence[int], sense: Sense = "any") -> dict[int, float]:
    """Return `recall` for each k, of positives as indices."""
    check_known(sense, ("any", "share"), "sense of recall")
    for k in ks:
        check_k(k, similarity.shape[1])
    owner, rank = ranks(similarity, *pairs, best_only=sense == "any")
    sought = torch.bincount(owner, minlength=len(similarity))
    hits = {k: torch.bincount(owner[rank < k], minlength=len(similarity)) for k in ks}
    return {k: 100 * (hits[k].double() / sought).mean().item() for k in ks}


def ranks(similarity: Scores, anchor: Numbers, candidate: Numbers, *, best_only: bool) -> Pairs:
    """Return the anchor and the rank (0 is first) of every positive pair, or of each anchor's best one only, in order.

    Ties are counted against the model: a negative that scores the same as a positive stands before it, so that a model
    which scores everything alike finds nothing. With distinct scores this is the rank of a sort.

    Args:
        similarity: scores of the model.
        anchor: of each positive pair.
        candidate: of each positive pair.
        best_only: only the best positive of each anchor.

    Raises:
        ItmlabError: a score is NaN.
    """
    check_not_nan(similarity)
    scores = similarity[anchor, candidate]
    order = scores.sort(descending=True, stable=True).indices
    order = order[anchor[order].sort(stable=True).indices]  # by anchor, and within one from its best positive on
    anchor, scores = anchor[order], scores[order]
    held = torch.bincount(anchor, minlength=len(similarity))
    place = torch.arange(len(anchor), device=anchor.device) - (held.cumsum(0) - held)[anchor]
    owners, pair_ranks = [], []
    for turn in range(1 if best_only else int(held.max())):  # every anchor's best positive, every second best, ...
        chosen = place == turn
        thresholds = scores.new_zeros(len(similarity))
        thresholds[anchor[chosen]] = scores[chosen]
        at_least = (similarity >= thresholds[:, None]).sum(dim=1)
        # the positives among them keep their places, whatever their ties
        equals = torch.bincount(anchor[scores >= thresholds[anchor]], minlength=len(similarity))
        owners.append(anchor[chosen])
        pair_ranks.append((at_least - equals + turn)[anchor[chosen]])
    owner = torch.cat(owners)
    order = owner.sort(stable=True).indices
    return owner[order], torch.cat(pair_ranks)[order]


def expected_recalls(similarity: Scores, positives: Mask, ks: Sequence[int]) -> dict[int, Float64[Tensor, "anchor"]]:
    """Return recall of each query (0 to 1) for each k, expected when ties are broken at random.

    A place among N equal scores, P of them positives, i of them placed before, holds a positive with the chance
    P / (N - i), if none of those i did (hypergeometric).

    Args:
        similarity: scores of the model.
        positives: the pairs that belong together.
        ks: the cut-offs.

    Raises:
        ItmlabError: a k above the candidates.

    >>> scores, positives = torch.tensor([[1, 1, 1, 1, 0]]), torch.tensor([[True, False, False, False, False]])
    >>> {k: recall.item() for k, recall in expected_recalls(scores, positives, (1, 2, 4)).items()}
    {1: 0.25, 2: 0.5, 4: 1.0}
    """
    for k in ks:
        check_k(k, similarity.shape[1])
    best = similarity.topk(max(ks), dim=1).values
    missed = torch.ones(len(similarity), dtype=torch.float64, device=similarity.device)
    recalls = {}
    for place, value in enumerate(best.split(1, dim=1)):
        equal = similarity == value
        left = (equal.sum(dim=1) + (similarity > value).sum(dim=1) - place).double()
        missed = missed * (1 - (equal & positives).sum(dim=1) / left).clamp(min=0)
        recalls[place + 1] = 1 - missed
    return {k: recalls[k] for k in ks}


def check_not_nan(matrix: Scores, name: str = "similarity") -> None:
    """Raise an ItmlabError that names the first NaN."""
    # a sum is the cheapest pass that a NaN cannot hide from; infinities of both signs make one too
    if bool(matrix.sum().isnan()) and bool(matrix.isnan().any()):
        row, column = matrix.isnan().nonzero()[0].tolist()
        raise ItmlabError(f"{name} is NaN between query {row} and candidate {column}")


def check_matrices(similarity: Scores, other: Tensor, name: str) -> None:
    """Raise an ItmlabError unless both are matrices of one shape."""
    if similarity.ndim != 2 or other.shape != similarity.shape:
        shapes = f"{tuple(similarity.shape)} and {tuple(other.shape)}"
        raise ItmlabError(f"similarity and {name} must be matrices of one shape; got {shapes}")


def positive_pairs(similarity: Scores, positives: Mask) -> Pairs:
    """Return the (anchor, candidate) indices of positives in which every anchor has one, else an ItmlabError."""
    pairs = marked_pairs(similarity, torch.as_tensor(positives))
    if len(similarity) == 0:
        raise ItmlabError("there is nothing to rank: the similarity matrix is empty")
    require_positives(pairs[0], len(similarity), "query")
    return pairs


def marked_pairs(similarity: Scores, positives: Mask) -> Pairs:
    """Return the (anchor, candidate) indices of a mask; an ItmlabError when the shapes differ."""
    check_matrices(similarity, positives, "positives")
    return positives.nonzero(as_tuple=True)


def require_positives(anchor: Numbers, anchors: int, kind: str) -> None:
    """Raise an ItmlabError that counts the anchors without a pair and names the first."""
    without = (torch.bincount(anchor, minlength=anchors) == 0).nonzero().squeeze(1).tolist()
    if without:
        message = f"{len(without)} of {anchors} have no positive, the first is {kind} {without[0]}"
        raise ItmlabError(message, remedy="leave out what nothing can be found for")


def check_k(k: int, candidates: int, *, name: str = "k", where: str | None = None, remedy: str | None = None) -> None:
    """Raise an ItmlabError unless k is a whole number from 1 to the number of candidates (METHODS 2.3)."""
    if isinstance(k, bool) or not isinstance(k, int) or not 1 <= k <= candidates:
        choice = f"choose {name} from 1 to {candidates}" if candidates > 0 else "rank more candidates"
        raise ItmlabError(f"{name}={k} of {max(candidates, 0)} candidates", where=where, remedy=remedy or choice)


# Both directions.


def chance_rsum(positives: Mask, ks: Sequence[int]) -> float:
    """Return the sum of recalls that a random order of the candidates stays below in 19 of 20 cases or more.

    Recalls at different k are taken as perfectly correlated, which makes the bound wider.

    Args:
        positives: which caption (column) belongs to which image (row).
        ks: the cut-offs of the recalls.

    >>> round(chance_rsum(torch.eye(1000, dtype=torch.bool), (1, 5, 10)), 1)
    4.7
    """
    mean, variance = 0.0, 0.0
    for mask in (positives, positives.T):
        count, candidates, deviation = mask.sum(dim=1).double(), mask.shape[1], 0.0
        missed = torch.ones_like(count)
        for place in range(min(max(ks), candidates)):  # as in `expected_recalls`, with all scores equal
            missed = missed * (1 - count / (candidates - place)).clamp(min=0)
            if place + 1 in ks:
                mean += 100 * float((1 - missed).mean())
                deviation += 100 * float((missed * (1 - missed)).mean() / len(missed)) ** 0.5
        variance += deviation**2
    return mean + 1.645 * variance**0.5


def retrieval(
    similarity: Float[Tensor, "image caption"],
    positives: Bool[Tensor, "image caption"],
    *,
    ks: Sequence[int] = (1, 5, 10),
) -> dict[str, Any]:
    """Return recall of a score matrix in both directions: {"i2t": {k: percent}, "t2i": ..., "rsum": their sum}.

    Args:
        similarity: scores of the model.
        positives: the pairs that belong together; each image and each caption must have one.
        ks: the cut-offs.

    Raises:
        ItmlabError: as `recall`.

    >>> positives = torch.eye(3).repeat_interleave(2, dim=1).bool()
    >>> table = retrieval(positives.float(), positives, ks=(1, 2))
    >>> table["i2t"], table["rsum"]
    ({1: 100.0, 2: 100.0}, 400.0)
    """
    similarity, positives = torch.as_tensor(similarity), torch.as_tensor(positives)
    i2t = recalls_at(similarity, positive_pairs(similarity, positives), ks)
    t2i = recalls_at(similarity.T, positive_pairs(similarity.T, positives.T), ks)
    return {"i2t": i2t, "t2i": t2i, "rsum": sum(i2t.values()) + sum(t2i.values())}


def over_folds(tables: Sequence[Any]) -> Any:
    """Return the mean of each measure and the sum of each count (a whole number) of the equally nested tables of folds.

    >>> over_folds([{"map_at_r": 40.0, "left_out": 1}, {"map_at_r": 60.0, "left_out": 2}])
    {'map_at_r': 50.0, 'left_out': 3}
    """
    if isinstance(tables[0], dict):
        return {name: over_folds([table[name] for table in tables]) for name in tables[0]}
    return sum(tables) if isinstance(tables[0], int) else fmean(tables)


PROTOCOLS = ("field", "corrected")


def positives_by(protocol: str, data: CaptionSet) -> Bool[Tensor, "image caption"]:
    """Return the positives of a data set by the name of a protocol.

    "field" is what papers report: an image and its own captions. Images of equal content are one image, with the
    captions of all. "corrected" adds the captions that other images have word for word (capital letters, blanks and
    punctuation aside, as in training and mining: `CaptionSet.matches`). The text alone does not say which of the images
    is meant. These are 314 captions of COCO's 5K test split.

    Args:
        protocol: "field" or "corrected".
        data: the images and captions.

    Raises:
        ItmlabError: another protocol.
    """
    check_known(protocol, PROTOCOLS, "protocol")
    return data.matches() if protocol == "corrected" else data.positives


@dataclass(frozen=True, eq=False)
class Pool:
    """A block of images with all their captions."""

    images: slice
    captions: Int64[Tensor, "caption"]

    def of(self, matrix: Shaped[Tensor, "image caption"]) -> Shaped[Tensor, "image caption"]:
        """Return the block of an (image, caption) matrix; the matrix itself if it is the only block."""
        rows = matrix[self.images]
        return rows if len(self.captions) == rows.shape[1] else rows.index_select(1, self.captions)


def blocks(image_of_caption: Int64[Tensor, "caption"], images: int, folds: int) -> list[Pool]:
    """Return consecutive blocks of equally many images, each with its own captions (COCO's 1K: 5 folds of 1,000).

    Args:
        image_of_caption: the image of each caption.
        images: the number of images.
        folds: the number of blocks.
    """
    if isinstance(folds, bool) or not isinstance(folds, int) or folds < 1 or images % folds:
        raise ItmlabError(f"{images} images cannot be cut into folds={folds} equal blocks")
    size = images // folds
    consecutive = []
    for first in range(0, images, size):
        inside = (image_of_caption >= first) & (image_of_caption < first + size)
        consecutive.append(Pool(slice(first, first + size), inside.nonzero().flatten()))
    return consecutive
