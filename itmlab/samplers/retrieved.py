"""Offline retrieved negatives: some candidates at random are scored, the best of them are trained on."""

import math
from collections.abc import Callable

import torch
from jaxtyping import Bool, Float, Int64
from torch import Tensor

from ..errors import ItmlabError
from .base import Sampler, draw, usable


class Retrieved(Sampler):
    """Scores `candidates` random negatives an anchor and keeps the `top` of them (UNITER and TAGS: 399 and 31).

    As a sampler of one negative it draws one of the kept, each with the same probability.
    """

    def __init__(self, candidates: int = 399, top: int = 31):
        if not 1 <= top <= candidates:
            raise ItmlabError(f"retrieved negatives need 1 ≤ top ≤ candidates, not top={top}, candidates={candidates}")
        self.candidates, self.top = candidates, top

    def propose(
        self, allowed: Bool[Tensor, "anchor candidate"], *, generator: torch.Generator
    ) -> Int64[Tensor, "anchor proposal"]:
        """What is to be scored: at most `candidates` different random ones an anchor in ascending order, then -1."""
        keys = torch.rand(allowed.shape, generator=generator, device=generator.device).to(allowed.device)
        keys, index = keys.masked_fill(~allowed, -1).topk(min(self.candidates, allowed.shape[1]), dim=1)
        beyond = allowed.shape[1]  # sorts what was not allowed to the end
        index = index.masked_fill(keys < 0, beyond).sort(dim=1).values
        return index.masked_fill(index == beyond, -1)

    def retrieve(
        self,
        scores: Float[Tensor, "anchor candidate"],
        positives: Bool[Tensor, "anchor candidate"],
        *,
        generator: torch.Generator,
    ) -> Int64[Tensor, "anchor top"]:
        """At most `top` negatives an anchor from the hardest on (equals by index), then -1."""
        proposed = self.propose(usable(scores, positives), generator=generator)
        values = scores.gather(1, proposed.clamp(min=0)).nan_to_num(nan=-torch.inf, posinf=torch.inf, neginf=-torch.inf)
        missing = proposed < 0  # lie behind every real proposal, so a stable order leaves them behind equals of -inf
        order = values.masked_fill(missing, -torch.inf).sort(dim=1, descending=True, stable=True).indices
        return proposed.gather(1, order[:, : self.top])

    def choose(
        self,
        scores: Float[Tensor, "anchor candidate"],
        positives: Bool[Tensor, "anchor candidate"],
        positive_scores: Float[Tensor, "anchor"],
        *,
        generator: torch.Generator,
    ) -> Int64[Tensor, "anchor"]:
        kept = self.retrieve(scores, positives, generator=generator)
        slot = draw((kept >= 0).float(), generator=generator)
        return kept.gather(1, slot.clamp(min=0)[:, None]).squeeze(1)  # a row without any holds -1 in every slot


# Several negatives an anchor from a whole data set: drawn at random, scored, and the best-scoring of them kept.


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
