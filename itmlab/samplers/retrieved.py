"""Offline retrieved negatives: some candidates at random are scored, the best of them are trained on.

UNITER (Chen et al. 2020, its released settings) and TAGS-DC (Fan et al. 2022, A.1) draw 399 and keep 31 of a whole data
set; a model scores the pairs that were drawn.
"""

import math
from collections.abc import Callable

import torch
from jaxtyping import Float, Int64
from torch import Generator, Tensor

from .base import Mask, Scores

# Scores of pairs (anchor number, candidate number), repeated where a pair was drawn twice.
PairScores = Callable[[Int64[Tensor, "pair"], Int64[Tensor, "pair"]], Float[Tensor, "pair"]]


def mined_negatives(
    score: PairScores, positives: Mask, *, candidates: int, top_k: int, generator: Generator, part: slice = slice(None)
) -> Int64[Tensor, "anchor kept"]:
    """Each anchor's `top_k` hardest of `candidates` random negatives (TAGS-DC, A.1), -1 where too few exist.

    `score` is asked once, without gradients, for all pairs of anchors and what was drawn for them; putting a model into
    evaluation mode and cutting the pairs into chunks are its business. Only a `part` of the anchors, numbered from 0,
    is scored, with what was drawn for them among all.
    """
    pool = random_negatives(positives, candidates, generator=generator)[part]
    if top_k >= candidates:  # nothing to choose, so nothing is scored
        return pool
    anchors, columns = (pool >= 0).nonzero(as_tuple=True)
    with torch.no_grad():
        mined_scores = score(anchors, pool[anchors, columns]).detach()
    scores = mined_scores.new_full(pool.shape, -math.inf).index_put((anchors, columns), mined_scores)
    slots = hardest_negatives(scores, pool >= 0, top_k)
    return torch.where(slots >= 0, pool.gather(1, slots.clamp(min=0)), -1)


def random_negatives(positives: Mask, count: int, *, generator: Generator) -> Int64[Tensor, "anchor count"]:
    """`count` different candidates that are not positives of each anchor, all equally likely; -1 where fewer exist.

    >>> random_negatives(torch.tensor([[True, True, False]]), 2, generator=Generator())
    tensor([[ 2, -1]])
    """
    drawn = torch.full((len(positives), count), -1, dtype=torch.int64)
    for row, row_positives in zip(drawn, positives.cpu(), strict=True):
        # with as many spare ones as could be its own, enough are left whatever chance does
        order = torch.randperm(len(row_positives), generator=generator)[: count + int(row_positives.sum())]
        others = order[~row_positives[order]][:count]
        row[: len(others)] = others
    return drawn.to(positives.device)


def hardest_negatives(scores: Scores, allowed: Mask, count: int) -> Int64[Tensor, "anchor kept"]:
    """The columns of each anchor's `count` best-scoring allowed candidates, best first (argmax-m, TAGS-DC Eq. 6).

    Ties go to the lowest index; a NaN comes last, as -inf does; -1 behind where fewer are allowed. The result has
    `count` columns, or as many as there are candidates.

    >>> hardest_negatives(torch.tensor([[0.1, 0.9, 0.5]]), torch.tensor([[True, False, True]]), 3)
    tensor([[ 2,  0, -1]])
    """
    ranked = scores.detach().nan_to_num(nan=-math.inf, posinf=math.inf, neginf=-math.inf)
    # a candidate that is not allowed is behind an allowed -inf
    ranked = ranked.clamp(min=torch.finfo(scores.dtype).min).masked_fill(~allowed, -math.inf)
    index = ranked.sort(dim=1, descending=True, stable=True).indices[:, :count]
    return torch.where(allowed.gather(1, index), index, -1)
