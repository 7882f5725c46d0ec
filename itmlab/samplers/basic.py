"""The samplers of one line: hardest, softest, any, FaceNet's semi-hard negative, and an oracle's."""

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

import torch
from torch import Generator

from ..context import Context
from ..errors import ItmlabError
from ..fields import FROM_0, Positive
from .base import Choice, Mask, PerAnchor, Sampler, Scores, best, draw, usable


@dataclass
class Hardest(Sampler):
    """Takes each anchor's best-scoring negative (Faghri et al. 2018, VSE++), or the one at `rank` below it.

    >>> scores, positives = torch.tensor([[0.9, 0.2, 0.6]]), torch.tensor([[True, False, False]])
    >>> Hardest()(scores, positives, scores[:, 0], generator=Generator())
    tensor([2])
    """

    rank: Annotated[int, FROM_0] = 0

    def choose(self, scores: Scores, positives: Mask, positive_scores: PerAnchor, *, generator: Generator) -> Choice:
        return best(scores, usable(scores, positives), self.rank)


@dataclass
class Softest(Hardest):
    """Takes each anchor's worst-scoring negative ("SN" of the semantic adaptive margin, Biten et al. 2022)."""

    def choose(self, scores: Scores, positives: Mask, positive_scores: PerAnchor, *, generator: Generator) -> Choice:
        return best(-scores, usable(scores, positives), self.rank)


@dataclass
class Random(Sampler):
    """Takes any of an anchor's negatives, each with the same probability: the baseline of every comparison."""

    def choose(self, scores: Scores, positives: Mask, positive_scores: PerAnchor, *, generator: Generator) -> Choice:
        return draw(usable(scores, positives).float(), generator=generator)


@dataclass
class SemiHard(Sampler):
    """Takes each anchor's hardest negative with s⁺ - margin < s < s⁺ (Schroff et al. 2015, FaceNet).

    An anchor without one takes the softest of those that score at least s⁺, which is the nearest to the band that still
    has a loss, and failing that the hardest of the easy ones.

    Args:
        margin: the width of the band below s⁺. It is the sampler's own and does not follow the loss's margin.

    >>> scores, positives = torch.tensor([[0.5, 0.7, 0.4, 0.1]]), torch.tensor([[True, False, False, False]])
    >>> SemiHard(0.2)(scores, positives, scores[:, 0], generator=Generator())
    tensor([2])
    """

    margin: Positive = 0.2

    def choose(self, scores: Scores, positives: Mask, positive_scores: PerAnchor, *, generator: Generator) -> Choice:
        may, positive = usable(scores, positives), positive_scores[:, None]
        inside = may & (scores < positive) & (scores > positive - self.margin)
        chosen = best(scores, inside)
        chosen = torch.where(chosen < 0, best(-scores, may & (scores >= positive)), chosen)
        return torch.where(chosen < 0, best(scores, may), chosen)


@dataclass
class Oracle(Sampler):
    """Takes the hardest candidate that the world calls false, or the hardest that is true: a control, not a method.

    It reads the truth from the context: 1 true, 0 false, -1 undecided. `take="true_negatives"` passes over what is true
    or undecided; an anchor with nothing else gets -1. `take="false_negatives"` takes what is true though not annotated,
    and the hardest where there is none.

    Args:
        take: "true_negatives" or "false_negatives".

    >>> scores, positives = torch.tensor([[0.9, 0.8, 0.6, 0.2]]), torch.tensor([[True, False, False, False]])
    >>> context = Context(truth=torch.tensor([[1, -1, 0, 1]], dtype=torch.int8))
    >>> for take in ("true_negatives", "false_negatives"):
    ...     Oracle(take)(scores, positives, scores[:, 0], generator=Generator(), context=context)
    tensor([2])
    tensor([3])
    """

    needs_truth: ClassVar[bool] = True
    take: Literal["true_negatives", "false_negatives"] = "true_negatives"

    def choose(
        self, scores: Scores, positives: Mask, positive_scores: PerAnchor, *, generator: Generator, context: Context
    ) -> Choice:
        """The index of each anchor's negative by the truth of every pair, -1 where none is allowed."""
        truth = context.truth
        if truth is None or truth.shape != scores.shape:
            raise ItmlabError(f"an oracle needs the truth of every pair, of shape {tuple(scores.shape)}")
        barred = positives | (truth != (1 if self.take == "false_negatives" else 0))
        chosen = best(scores, usable(scores, barred))
        if self.take == "true_negatives":
            return chosen
        return torch.where(chosen < 0, best(scores, usable(scores, positives)), chosen)
