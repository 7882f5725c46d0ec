"""Synthetic negatives of captions in one call: made, distinct, filtered, scored, the best kept (Algorithm 1)."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import torch

from ..errors import ItmlabError
from ..text import SceneGraph
from .candidates import distinct, one_each
from .false_negatives import Implied, without_false_negatives
from .negative import Negative
from .select import Score, best, scored

Generate = Callable[..., list[list[Negative]]]
Judge = Callable[[list[str], int], Sequence[bool | None]]  # sentences and the number of their caption → verdicts


class Tailored:
    """Any generator of candidates with what Algorithm 1 does to them (lines 8–12 and 15), for many captions at once.

    `generate` is a generator (`MaskedRefill`, `RuleSwaps`, any function called alike). Copies, duplicates and, if
    `filtered`, false negatives (with `implied`, see `without_false_negatives`) go before `score` sees a sentence; then
    the `keep` best stay (Eq. 6: m; None: all). Without a `score` the first `keep` stay. `judge` gives each that stayed
    its truth, where it is known.
    """

    def __init__(
        self,
        generate: Generate,
        *,
        score: Score | None = None,
        keep: int | None = 31,
        filtered: bool = True,
        implied: Implied | None = None,
        judge: Judge | None = None,
    ):
        if keep is not None and keep < 1:
            raise ItmlabError(f"{keep} negatives cannot be kept", remedy="give 1 or more, or None for all")
        self.generate, self.score, self.keep, self.judge = generate, score, keep, judge
        self.filtered, self.implied = filtered, implied

    def __call__(
        self,
        captions: Sequence[str],
        graphs: Sequence[SceneGraph],
        image_captions: Sequence[Sequence[str]],
        *,
        generator: torch.Generator,
    ) -> list[list[Negative]]:
        """The negatives of each caption, best first if they are scored; fewer than `keep` where fewer were made."""
        one_each(captions, graphs, image_captions)
        made = self.generate(captions, graphs, image_captions, generator=generator)
        found = [distinct(caption, row) for caption, row in zip(captions, made, strict=True)]
        if self.filtered:
            found = [
                without_false_negatives(row, [caption, *others], self.implied)
                for caption, row, others in zip(captions, found, image_captions, strict=True)
            ]
        if self.score is not None:
            found = [best(row, len(row) if self.keep is None else self.keep) for row in scored(found, self.score)]
        found = [row[: self.keep] for row in found]
        return found if self.judge is None else [self._judged(row, at) for at, row in enumerate(found)]

    def _judged(self, row: list[Negative], caption: int) -> list[Negative]:
        verdicts = self.judge([negative.sentence for negative in row], caption) if row else []
        return [replace(negative, truth=truth) for negative, truth in zip(row, verdicts, strict=True)]
