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
from jaxtyping import Bool, Float, Int64
from numpy import ndarray
from torch import Tensor

from itmlab.errors import ItmlabError
from itmlab.losses import gaussian_noise
from itmlab.metrics.statistics import share
from itmlab.synthesis import SynHNC
from itmlab.synthesis.synhnc import Association, Weights, associate, kmeans, recall, squared_distances

from .kernel_memory import SynthesisBatch
from .scoring import require_truth

ROUNDING = 1e-4  # of a cosine: a narrow kernel recalls the hardest negative itself, which is no harder than it
NOISE = 128  # random directions beside the negatives
Parameter = Literal["sigma", "clusters"]


@dataclass(frozen=True, eq=False)
class Curve:
    """Measures of synthetic negatives over the values of a parameter, for one kind of weights.

    Args:
        hardness: the mean over anchors of the cosine of the hardest synthetic negative.
        quartiles: the quartiles of that cosine.
        effective: how many prototypes share a cluster's kernel weights (geometric mean).
        length: the mean of ‖q̄‖.
        above_hardest: the percentage of anchors whose hardest synthetic negative is nearer than every real one.
        above_match: the percentage of anchors whose hardest synthetic negative is nearer than the match.
    """

    hardness: Float[ndarray, "value"]
    quartiles: Float[ndarray, "2 value"]
    effective: Float[ndarray, "value"]
    length: Float[ndarray, "value"]
    above_hardest: Float[ndarray, "value"]
    above_match: Float[ndarray, "value"]


@dataclass(frozen=True, eq=False)
class MemorySweep:
    """A batch's synthetic negatives over the values of a parameter.

    Args:
        values: of the parameter.
        curves: by kind of weights.
        hardest: the mean cosine of the batch's hardest negatives.
        match: the mean cosine of the matches.
        anchors: the number of anchors.
    """

    values: Float[ndarray, "value"]
    curves: Mapping[str, Curve]
    hardest: float
    match: float
    anchors: int


def memory_sweep(
    batch: SynthesisBatch,
    parameter: Parameter,
    values: Sequence[float],
    *,
    weights: Sequence[Weights] = get_args(Weights),
    sigma: float = 0.1,
) -> MemorySweep:
    """Measure the batch's synthetic negatives at each value of "sigma" (with eight clusters) or of "clusters"."""
    if parameter not in get_args(Parameter):
        raise ItmlabError(f"no sweep over {parameter!r}", remedy="take sigma or clusters")
    hardest = batch.hardest()
    columns: dict[str, list[list[float]]] = {kind: [] for kind in weights}
    for value in values:
        settings = {"sigma": sigma, "clusters": 8, parameter: value}
        membership = _clusters(batch, settings["clusters"])
        for kind in weights:
            association, points = _recalled(batch, membership, weights=kind, **settings)
            columns[kind].append(_measured(batch, association, points, hardest))
    rows = {kind: np.array(column).T for kind, column in columns.items()}
    curves = {kind: Curve(row[0], row[1:3], *row[3:]) for kind, row in rows.items()}
    match = float(batch.positive_scores.mean())
    return MemorySweep(np.array(values, dtype=float), curves, float(hardest.mean()), match, len(hardest))


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


def true_prototypes(
    batch: SynthesisBatch, *, sigma: float = 0.1, clusters: int = 8
) -> dict[str, tuple[float, float, float]]:
    """Return how many negatives are in truth matches, in percent with Wilson's 95 % interval.

    Compared are the hardest negative of the batch, the heaviest prototype of the hardest synthetic negative, and the
    heaviest prototypes of all clusters. Undecided pairs do not count.

    Raises:
        ItmlabError: the data have no world.
    """
    require_truth(batch.truth, batch.data)
    membership = _clusters(batch, clusters)
    association, points = _recalled(batch, membership, clusters=clusters, sigma=sigma)
    mine = membership[:, None] == torch.arange(clusters)[:, None]
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


def _clusters(batch: SynthesisBatch, clusters: int) -> Int64[Tensor, "anchor candidate"]:
    """Return each candidate's cluster, -1 for the anchor's own."""
    between, generator = squared_distances(batch.candidates, batch.candidates), torch.Generator().manual_seed(0)
    return kmeans(between, ~batch.positives, clusters, generator=generator)


def _recalled(
    batch: SynthesisBatch, membership: Int64[Tensor, "anchor candidate"], *, clusters: int, **settings: Any
) -> tuple[Association, Float[Tensor, "anchor cluster dimension"]]:
    """Return each candidate's weights, and what every memory recalls."""
    distances = [squared_distances(side, batch.candidates) for side in (batch.anchors, batch.candidates)]
    association = associate(*distances, membership, clusters=clusters, **settings)
    return association, recall(batch.candidates, membership, association.coefficients, clusters=clusters)


def _measured(
    batch: SynthesisBatch,
    association: Association,
    points: Float[Tensor, "anchor cluster dimension"],
    hardest: Float[Tensor, "anchor"],
) -> list[float]:
    """Return the fields of `Curve` for one value, in their order."""
    length = points.norm(dim=-1)
    is_filled = length > 0  # an empty cluster recalls nothing
    cosines = torch.cosine_similarity(points, batch.anchors[:, None], dim=-1).masked_fill(~is_filled, -1)
    nearest = cosines.max(dim=1).values
    entropy = -torch.special.xlogy(association.kernel, association.kernel).sum(1) / is_filled.sum(1)
    quartiles = nearest.quantile(torch.tensor([0.25, 0.75]))
    above = [100 * (nearest > other + ROUNDING).float().mean() for other in (hardest, batch.positive_scores)]
    return [
        float(value) for value in (nearest.mean(), *quartiles, entropy.exp().mean(), length[is_filled].mean(), *above)
    ]


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
