"""Several runs as one, by the mean of their similarities (FNE's and its rivals' comparison tables)."""

from collections.abc import Sequence
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from ..data.captionset import CaptionSet
from ..errors import ItmlabError
from .evaluation import recall_table, similarity
from .run import Run


class Ensemble:
    """Runs, of whatever recipes, that vote with their similarities."""

    def __init__(self, runs: Sequence[Run]):
        self.runs = list(runs)
        if not self.runs:
            raise ItmlabError("an ensemble needs at least one run")

    def similarity(self, data: CaptionSet) -> Float[Tensor, "image caption"]:
        """The mean of the runs' similarities of every image and caption."""
        total = torch.zeros(len(data), len(data.captions))
        for run in self.runs:
            total += similarity(run.model, data)
        return total / len(self.runs)

    def evaluate(self, data: CaptionSet, split: str | None = "test", folds: int = 1) -> dict[str, Any]:
        """Recall as `Run.evaluate` gives it."""
        data = data if split is None else data.split(split)
        return recall_table(self.similarity(data), data, folds=folds)


def ensemble(runs: Sequence[Run]) -> Ensemble:
    """The ensemble of `runs`; the papers' tables take two seeds of one recipe."""
    return Ensemble(runs)
