"""Several negatives an anchor from a whole data set: drawn at random, scored, and the best-scoring of them kept."""

import math
from collections.abc import Callable

import torch
from jaxtyping import Bool, Float, Int64
from torch import Tensor

from itmlab.errors import ItmlabError

DRAWN, KEPT = 399, 31  # TAGS-DC, appendix A.1

# Scores of pairs (anchor number, candidate number), each as often as it is asked for.
PairScores = Callable[[Int64[Tensor, "pair"], Int64[Tensor, "pair"]], Float[Tensor, "pair"]]


def random_negatives(
    anchor_images: Int64[Tensor, "anchor"],
    candidate_images: Int64[Tensor, "candidate"],
    count: int,
    *,
    generator: torch.Generator,
) -> Int64[Tensor, "anchor count"]:
    """`count` different candidates of other images for each anchor, all equally likely; -1 behind where fewer exist.

    The images are those that anchors and candidates belong to: captions of one image are never each other's negatives,
    and an image is none of its own captions'.
    """
    _check(count, "drawn")
    drawn = torch.full((len(anchor_images), count), -1, dtype=torch.int64)
    candidates = candidate_images.cpu()
    for row, image in zip(drawn, anchor_images.cpu(), strict=True):
        own = candidates == image
        # with as many spare ones as could be its own, enough are left whatever chance does
        order = torch.randperm(len(candidates), generator=generator)[: count + int(own.sum())]
        others = order[~own[order]][:count]
        row[: len(others)] = others
    return drawn.to(anchor_images.device)


def hardest_negatives(
    scores: Float[Tensor, "anchor candidate"], allowed: Bool[Tensor, "anchor candidate"], count: int
) -> Int64[Tensor, "anchor kept"]:
    """The columns of each anchor's `count` best-scoring allowed candidates, best first (argmax-m, TAGS-DC Eq. 6).

    Ties go to the lowest index; a NaN comes last, as -inf does; -1 behind where fewer are allowed. The result has
    `count` columns, or as many as there are candidates.
    """
    _check(count, "kept")
    if scores.ndim != 2 or allowed.shape != scores.shape:
        raise ItmlabError(
            f"scores (anchor, candidate) and permissions must have one shape, not {tuple(scores.shape)} and "
            f"{tuple(allowed.shape)}"
        )
    ranked = scores.detach().nan_to_num(nan=-math.inf, posinf=math.inf, neginf=-math.inf)
    # a candidate that is not allowed is behind an allowed -inf
    ranked = ranked.clamp(min=torch.finfo(scores.dtype).min).masked_fill(~allowed, -math.inf)
    index = ranked.sort(dim=1, descending=True, stable=True).indices[:, :count]
    return torch.where(allowed.gather(1, index), index, -1)


def mined_negatives(
    score: PairScores,
    anchor_images: Int64[Tensor, "anchor"],
    candidate_images: Int64[Tensor, "candidate"],
    *,
    drawn: int = DRAWN,
    kept: int = KEPT,
    generator: torch.Generator,
) -> Int64[Tensor, "anchor kept"]:
    """Each anchor's `kept` hardest of `drawn` random candidates of other images (TAGS-DC, A.1), -1 where too few exist.

    `score` is asked once, without gradients, for all pairs of anchors and what was drawn for them; putting a model into
    evaluation mode and cutting the pairs into chunks are its business.
    """
    pool = random_negatives(anchor_images, candidate_images, drawn, generator=generator)
    anchors, columns = (pool >= 0).nonzero(as_tuple=True)
    with torch.no_grad():
        found = score(anchors, pool[anchors, columns]).detach()
    if found.shape != anchors.shape:
        raise ItmlabError(f"{len(anchors)} pairs were to be scored, but {tuple(found.shape)} scores came back")
    scores = found.new_full(pool.shape, -math.inf).index_put((anchors, columns), found)
    hardest = hardest_negatives(scores, pool >= 0, kept)
    return torch.where(hardest >= 0, pool.gather(1, hardest.clamp(min=0)), -1)


def _check(count: int, what: str) -> None:
    if isinstance(count, bool) or not isinstance(count, int) or count < 1:
        raise ItmlabError(f"{count!r} negatives cannot be {what}", remedy="give a whole number from 1")
