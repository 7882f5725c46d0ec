"""How difficult negatives were while a model learnt: s(I, T-) - s(I, T+) over the steps of a run (TAGS-DC, Fig. 3)."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float, Int
from numpy import ndarray

from ..errors import ItmlabError


@dataclass(frozen=True, eq=False)
class DifficultyHistory:
    """How many negatives of each recorded step fell into each bin of difficulty, all equally wide over [-1, 1]."""

    steps: Int[ndarray, "step"]
    counts: Int[ndarray, "step bin"]

    @property
    def edges(self) -> Float[ndarray, "edge"]:
        """Where the bins begin and end."""
        return np.linspace(-1, 1, self.counts.shape[1] + 1)

    def quantile(self, share: float) -> Float[ndarray, "step"]:
        """The difficulty below which this share of a step's negatives lies, even within a bin; NaN for none."""
        totals = self.counts.sum(axis=1)
        found = np.full(len(totals), np.nan)
        for row in totals.nonzero()[0]:
            below = np.concatenate([[0], np.cumsum(self.counts[row])]) / totals[row]
            bin_of = max(int(np.searchsorted(below, share)) - 1, 0)
            within = (share - below[bin_of]) / max(below[bin_of + 1] - below[bin_of], 1e-12)
            found[row] = self.edges[bin_of] + within * (self.edges[bin_of + 1] - self.edges[bin_of])
        return found

    def as_hard(self) -> Float[ndarray, "step"]:
        """The share of a step's negatives that scored at least as high as the caption; NaN where there was none."""
        totals, above = self.counts.sum(axis=1), self.counts[:, self.counts.shape[1] // 2 :].sum(axis=1)
        return np.where(totals > 0, above / np.maximum(totals, 1), np.nan)

    def grouped(self, groups: int) -> "DifficultyHistory":
        """At most so many columns: neighbouring steps added up, each group at its mean step."""
        parts = np.array_split(np.arange(len(self.steps)), min(groups, len(self.steps)))
        steps = np.array([self.steps[part].mean() for part in parts])
        return DifficultyHistory(steps, np.stack([self.counts[part].sum(axis=0) for part in parts]))


def difficulty_history(run: Any, negatives: str = "synthetic") -> DifficultyHistory:
    """The record of a Run's training, of its "synthetic" or "retrieved" negatives.

    A run that kept none is an ItmlabError.
    """
    records = [record for record in run.history if negatives in record.get("difficulty", {})]
    if not records:
        kept = sorted({name for record in run.history for name in record.get("difficulty", {})})
        raise ItmlabError(
            f"the run's record has no difficulty of {negatives!r} negatives",
            where=str(run.directory),
            remedy=f"there are {', '.join(kept)}" if kept else "take a run of `tags`, `tags_dc` or `sg`",
        )
    counts = np.array([record["difficulty"][negatives] for record in records])
    return DifficultyHistory(np.array([record["step"] for record in records]), counts)
