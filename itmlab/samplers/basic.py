"""The samplers of one line: hardest, softest, any, FaceNet's semi-hard negative, and an oracle's."""

from typing import Literal

import torch
from jaxtyping import Int8
from torch import Generator, Tensor

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


class Oracle(Hardest):
    """Takes the hardest candidate that the world calls false, or the hardest that is true: a control, not a method.

    It alone is given `truth`, 1 true, 0 false, -1 undecided. `take="true_negatives"` passes over what is true or
    undecided; an anchor with nothing else gets -1. `take="false_negatives"` takes what is true though not annotated,
    and the hardest where there is none. Wrong options, or no truth of the scores' shape, are an ItmlabError.

    >>> scores, positives = torch.tensor([[0.9, 0.8, 0.6, 0.2]]), torch.tensor([[True, False, False, False]])
    >>> truth = torch.tensor([[1, -1, 0, 1]], dtype=torch.int8)
    >>> for take in ("true_negatives", "false_negatives"):
    ...     Oracle(take)(scores, positives, scores[:, 0], generator=Generator(), truth=truth)
    tensor([2])
    tensor([3])
    """

    def __init__(self, take: Literal["true_negatives", "false_negatives"] = "true_negatives"):
        super().__init__()
        if take not in ("true_negatives", "false_negatives"):
            raise ItmlabError(f"an oracle takes 'true_negatives' or 'false_negatives', not {take!r}")
        self.take = take

    def __call__(
        self,
        scores: Scores,
        positives: Mask,
        positive_scores: PerAnchor,
        *,
        generator: Generator,
        truth: Int8[Tensor, "anchor candidate"] | None = None,
    ) -> Choice:
        """The index of each anchor's negative by the truth of every pair, -1 where none is allowed."""
        if truth is None or truth.shape != scores.shape:
            given = "none" if truth is None else tuple(truth.shape)
            raise ItmlabError(f"an oracle needs the truth of every pair, {tuple(scores.shape)}; got {given}")
        barred = positives | (truth != (1 if self.take == "false_negatives" else 0))
        chosen = super().__call__(scores, barred, positive_scores, generator=generator)
        if self.take == "true_negatives":
            return chosen
        return torch.where(
            chosen < 0, super().__call__(scores, positives, positive_scores, generator=generator), chosen
        )
