"""What an anchor's synthetic negatives are made of: the prototypes that their clusters' kernels weigh most."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .kernel_memory import Recollection, SynthesisBatch

LEAST = 0.005  # kernel weight below which a prototype is not worth showing


@dataclass(frozen=True)
class MadeOf:
    """One synthetic negative: its cluster's number, its cosine with the anchor, its prototypes with their weights.

    `prototypes` are numbers of candidates, the heaviest first; `verdicts` the world's (1, 0, −1), None without one.
    """

    cluster: int
    hardness: float
    prototypes: Sequence[int]
    weights: Sequence[float]
    verdicts: Sequence[int] | None = None


def made_of(batch: SynthesisBatch, recollection: Recollection, *, first: int = 6, prototypes: int = 3) -> list[MadeOf]:
    """The `first` hardest synthetic negatives of an anchor, each with its heaviest prototypes; empty clusters none."""
    hardness = np.nan_to_num(recollection.hardness.numpy(), nan=-2.0)
    order = [int(cluster) for cluster in np.argsort(-hardness, kind="stable") if hardness[cluster] > -2]
    rows = []
    for cluster in order[:first]:
        heaviest = recollection.prototypes(cluster)[:prototypes]
        heaviest = heaviest[(recollection.kernel[heaviest] >= LEAST) | (heaviest == heaviest[0])]
        verdicts = None if batch.truth is None else batch.truth[recollection.anchor, heaviest].tolist()
        weights = recollection.kernel[heaviest].tolist()
        rows.append(MadeOf(cluster, float(hardness[cluster]), heaviest.tolist(), weights, verdicts))
    return rows
