"""SynHNC and InfoCMR over a whole batch: the hardness of synthetic negatives, and the terms of the loss.

InfoCMR (Eq. 7) of an anchor is -log(e^(s⁺/τ) / Σ e^(s/τ)), summed over its match, the negatives of the batch, the
synthetic ones and Gaussian noise (METHODS 4.2). A term's share of that sum is its share of the gradient.

References:
    Wu et al. (2023), ITContrast.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
import torch
from jaxtyping import Bool, Float
from numpy import ndarray
from torch import Tensor

from itmlab.losses import gaussian_noise
from itmlab.metrics.statistics import share
from itmlab.synthesis import SynHNC
from itmlab.synthesis.synhnc import Weights

from .kernel_memory import SynthesisBatch, memories
from .scoring import require_truth

ROUNDING = 1e-4  # of a cosine: a narrow kernel recalls the hardest negative itself, which is no harder than it
NOISE = 128  # random directions beside the negatives


@dataclass(frozen=True, eq=False)
class MemorySweep:
    """A batch's synthetic negatives over the values of a parameter.

    Args:
        batch: the batch.
        values: of the parameter.
        curves: by kind of weights and measure, see `MEASURES`.
    """

    batch: SynthesisBatch
    values: Float[ndarray, "value"]
    curves: Mapping[str, Mapping[str, Float[ndarray, "value"]]]


MEASURES = (
    "hardness",  # the mean over anchors of the cosine of the hardest synthetic negative
    "lower",  # the quartiles of that cosine
    "upper",
    "effective",  # how many prototypes share a cluster's kernel weights (geometric mean)
    "length",  # the mean of ‖q̄‖
    "above hardest",  # the percentage of anchors whose hardest synthetic negative is nearer than every real one
    "above match",  # the percentage of anchors whose hardest synthetic negative is nearer than the match
)


def memory_sweep(
    batch: SynthesisBatch,
    parameter: Literal["sigma", "clusters"],
    values: Sequence[float],
    *,
    weights: Sequence[Weights] = get_args(Weights),
    **settings: Any,
) -> MemorySweep:
    """Measure the batch's synthetic negatives at each value of "sigma" or "clusters" of `memories`."""
    curves = {}
    for kind in weights:
        rows = [_measured(batch, weights=kind, **settings, **{parameter: value}) for value in values]
        curves[kind] = dict(zip(MEASURES, np.array(rows).T, strict=True))
    return MemorySweep(batch, np.array(values, dtype=float), curves)


def _measured(batch: SynthesisBatch, **settings: Any) -> list[float]:
    """Return the `MEASURES` of one value."""
    _, association, points = memories(batch, **settings)
    length = points.norm(dim=-1)
    is_filled = length > 0  # an empty cluster recalls nothing
    cosines = torch.cosine_similarity(points, batch.anchors[:, None], dim=-1).masked_fill(~is_filled, -1)
    nearest = cosines.max(dim=1).values
    entropy = -torch.special.xlogy(association.kernel, association.kernel).sum(1) / is_filled.sum(1)
    quartiles = nearest.quantile(torch.tensor([0.25, 0.75]))
    above = [100 * (nearest > other + ROUNDING).float().mean() for other in (batch.hardest(), batch.positive_scores)]
    measures = nearest.mean(), *quartiles, entropy.exp().mean(), length[is_filled].mean(), *above
    return [float(value) for value in measures]


def hardness(batch: SynthesisBatch, synthesis: SynHNC) -> dict[str, Float[ndarray, "score"]]:
    """Return the cosines that a loss gets for the batch, by what they are of."""
    scores, allowed, random = _synthesised(batch, synthesis)
    kinds = {
        "matches": batch.positive_scores,
        "negatives of the batch": batch.scores[~batch.positives],
        "the hardest of them": batch.hardest(),
        "synthetic negatives": scores[allowed],
        "the hardest synthetic": scores.masked_fill(~allowed, -1).max(dim=1).values,
        "Gaussian noise": random.flatten(),
    }
    return {kind: values.numpy() for kind, values in kinds.items()}


def true_prototypes(batch: SynthesisBatch, **settings: Any) -> dict[str, tuple[float, float, float]]:
    """Return how many negatives are in truth matches, in percent with Wilson's 95 % interval.

    Compared are the hardest negative of the batch, the heaviest prototype of the hardest synthetic negative, and the
    heaviest prototypes of all clusters. Undecided pairs do not count. `settings` are those of `memories`.

    Raises:
        ItmlabError: the data have no world.
    """
    require_truth(batch.truth, batch.data)
    membership, association, points = memories(batch, **settings)
    mine = membership[:, None] == torch.arange(points.shape[1])[:, None]
    heaviest = association.kernel[:, None].masked_fill(~mine, -1).max(dim=2).indices
    truth_labels = batch.truth.gather(1, heaviest).masked_fill(~mine.any(2), -1)
    cosines = torch.cosine_similarity(points, batch.anchors[:, None], dim=-1).masked_fill(~mine.any(2), -2)
    nearest = batch.scores.masked_fill(batch.positives, -2).max(dim=1, keepdim=True).indices
    kinds = {
        "hardest negative of the batch": batch.truth.gather(1, nearest),
        "main part of the hardest synthetic": truth_labels.gather(1, cosines.max(dim=1, keepdim=True).indices),
        "main part of any synthetic": truth_labels,
    }
    shares = {kind: share(labels[labels >= 0] == 1) for kind, labels in kinds.items()}
    return {kind: (true.percent, true.lower, true.upper) for kind, true in shares.items()}


# The terms of InfoCMR: their shares of its denominator, and with them of the gradient.

TERMS = ("match", "negatives of the batch", "synthetic negatives", "Gaussian noise")


def shares_by_temperature(
    batch: SynthesisBatch, temperatures: Sequence[float], synthesis: SynHNC
) -> dict[str, Float[ndarray, "temperature"]]:
    """Return the share of each of `TERMS` in the denominator, mean over anchors, in percent, at each temperature.

    The gradient of the loss by a negative's score is the negative's share over τ.
    """
    synthetic, allowed, random = _synthesised(batch, synthesis)
    columns = [
        batch.positive_scores[:, None],
        batch.scores.masked_fill(batch.positives, -torch.inf),
        synthetic.masked_fill(~allowed, -torch.inf),
        random,
    ]
    scores, sizes = torch.cat(columns, dim=1), [column.shape[1] for column in columns]
    rows = []
    for temperature in temperatures:
        shares = 100 * (scores / temperature).softmax(1).mean(0)
        rows.append([float(part.sum()) for part in shares.split(sizes)])
    return dict(zip(TERMS, np.array(rows).T, strict=True))


def _synthesised(
    batch: SynthesisBatch, synthesis: SynHNC
) -> tuple[Float[Tensor, "anchor cluster"], Bool[Tensor, "anchor cluster"], Float[Tensor, "anchor noise"]]:
    """Return the cosines with the synthetic negatives, which of them exist, and the cosines with the noise."""
    generator = torch.Generator().manual_seed(0)  # first the clusters, then the noise, as the loss draws
    synthetic = synthesis(batch.anchors, batch.candidates, batch.positives, generator=generator)
    random = gaussian_noise(NOISE, batch.anchors, generator=generator)
    return synthetic.scores(batch.anchors), synthetic.allowed, batch.anchors @ random.T
