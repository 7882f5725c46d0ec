"""The samplers of one line: hardest, softest, any, and FaceNet's semi-hard negative."""

import torch
from torch import Generator

from ..errors import ItmlabError
from .base import Choice, Mask, PerAnchor, Sampler, Scores, best, draw, usable


class Hardest(Sampler):
    """Takes each anchor's best-scoring negative (Faghri et al. 2018, VSE++), or the one at `rank` below it.

    >>> scores, positives = torch.tensor([[0.9, 0.2, 0.6]]), torch.tensor([[True, False, False]])
    >>> Hardest()(scores, positives, scores[:, 0], generator=Generator())
    tensor([2])
    """

    def __init__(self, rank: int = 0):
        if rank < 0:
            raise ItmlabError(f"the rank of a negative counts from 0, not {rank}")
        self.rank = rank

    def choose(self, scores: Scores, positives: Mask, positive_scores: PerAnchor, *, generator: Generator) -> Choice:
        return best(scores, usable(scores, positives), self.rank)


class Softest(Hardest):
    """Takes each anchor's worst-scoring negative ("SN" of the semantic adaptive margin, Biten et al. 2022)."""

    def choose(self, scores: Scores, positives: Mask, positive_scores: PerAnchor, *, generator: Generator) -> Choice:
        return best(-scores, usable(scores, positives), self.rank)


class Random(Sampler):
    """Takes any of an anchor's negatives, each with the same probability: the baseline of every comparison."""

    def choose(self, scores: Scores, positives: Mask, positive_scores: PerAnchor, *, generator: Generator) -> Choice:
        return draw(usable(scores, positives).float(), generator=generator)


class SemiHard(Sampler):
    """Takes each anchor's hardest negative with s⁺ - margin < s < s⁺ (Schroff et al. 2015, FaceNet).

    An anchor without one takes the softest of those that score at least s⁺, which is the nearest to the band that still
    has a loss, and failing that the hardest of the easy ones.

    >>> scores, positives = torch.tensor([[0.5, 0.7, 0.4, 0.1]]), torch.tensor([[True, False, False, False]])
    >>> SemiHard(0.2)(scores, positives, scores[:, 0], generator=Generator())
    tensor([2])
    """

    def __init__(self, margin: float = 0.2):
        if not margin > 0:
            raise ItmlabError(f"the margin of semi-hard negatives must be above 0, not {margin}")
        self.margin = margin

    def choose(self, scores: Scores, positives: Mask, positive_scores: PerAnchor, *, generator: Generator) -> Choice:
        may, positive = usable(scores, positives), positive_scores[:, None]
        inside = may & (scores < positive) & (scores > positive - self.margin)
        chosen = best(scores, inside)
        chosen = torch.where(chosen < 0, best(-scores, may & (scores >= positive)), chosen)
        return torch.where(chosen < 0, best(scores, may), chosen)
