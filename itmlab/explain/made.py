"""Negatives that were made of captions, and what is asked of all of them: scores, difficulty, truth (TAGS, Sec. 4)."""

from dataclasses import dataclass, replace
from typing import Any

import torch
from jaxtyping import Float, Int8, Int64
from torch import Tensor

from ..data.captionset import CaptionSet
from ..errors import ItmlabError
from ..metrics import TrueNegatives, true_negative_rate
from ..synthesis import Negative
from .matching import as_score


@dataclass(frozen=True, eq=False)
class Made:
    """Negatives of captions `captions[i]` of `data`: `negatives[i]`, best-scoring first where a model scored them.

    `positive[i]` is the matching score of the caption itself. Scores are the scoring model's own numbers: a one
    tower's logit, else a cosine; `scores` and `difficulty` are on the paper's scale (s of Eq. 3, between 0 and 1).
    """

    data: CaptionSet
    generator: str
    captions: tuple[int, ...]
    negatives: list[list[Negative]]
    positive: Float[Tensor, "caption"] | None
    scorer: Any = None

    def __repr__(self) -> str:
        return f"Made({self.generator}: {len(self)} negatives of {len(self.captions)} captions of {self.data.name})"

    def __len__(self) -> int:
        """The number of negatives."""
        return sum(map(len, self.negatives))

    def all(self) -> list[Negative]:
        """The negatives one after another."""
        return [negative for row in self.negatives for negative in row]

    @property
    def images(self) -> Int64[Tensor, "negative"]:
        """The number of each negative's image."""
        return torch.tensor([negative.image for negative in self.all()], dtype=torch.int64)

    @property
    def matched(self) -> tuple[Float[Tensor, "negative"], Float[Tensor, "negative"]]:
        """How well the caption that each negative was made of, and the negative itself, match, in the model's numbers.

        An ItmlabError if nothing was scored.
        """
        if self.positive is None:
            raise ItmlabError("these negatives have no scores", remedy="make them with run= or scorer=")
        positive = self.positive.repeat_interleave(torch.tensor([len(row) for row in self.negatives]))
        return positive, torch.tensor([one.score for one in self.all()])

    @property
    def scores(self) -> tuple[Float[Tensor, "negative"], Float[Tensor, "negative"]]:
        """The same as s(I, T) and s(I, T⁻) of Eq. (3): sigmoids of a one tower's logits; cosines as they are."""
        positive, negative = self.matched
        return as_score(self.scorer, positive), as_score(self.scorer, negative)

    @property
    def difficulty(self) -> Float[Tensor, "negative"]:
        """s(I, T⁻) − s(I, T) of each negative (Sec. 4.1): the greater, the harder."""
        positive, negative = self.scores
        return negative - positive

    @property
    def verdicts(self) -> Int8[Tensor, "negative"]:
        """The world's verdict on each: 1 true (a false negative), 0 false, -1 undecided or not asked."""
        found = [-1 if negative.truth is None else int(negative.truth) for negative in self.all()]
        return torch.tensor(found, dtype=torch.int8)

    @property
    def truth(self) -> TrueNegatives:
        """How many are truly negative by the world's verdict."""
        return true_negative_rate([negative.truth for negative in self.all()], self.images)

    def only(self, at: int) -> "Made":
        """The same of the `at`-th caption alone."""
        positive = None if self.positive is None else self.positive[at : at + 1]
        return replace(self, captions=(self.captions[at],), negatives=[self.negatives[at]], positive=positive)

    def first(self, number: int = 1) -> "Made":
        """The same with the first `number` negatives of each caption: the hardest, where they are scored."""
        return replace(self, negatives=[row[:number] for row in self.negatives])
