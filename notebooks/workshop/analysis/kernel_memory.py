"""SynHNC for one anchor, step by step, and over a whole batch: what memories recall, and the terms of InfoCMR.

An anchor's negatives are clustered. Asked with the anchor q, the kernel associative memory of each cluster recalls a
point q̄ made of its prototypes (Eqs. 2 to 5, as METHODS 4.1 reads them).

InfoCMR (Eq. 7) of an anchor is -log(e^(s⁺/τ) / Σ e^(s/τ)), summed over its match, the negatives of the batch, the
synthetic ones and Gaussian noise (METHODS 4.2). A term's share of that sum is its share of the gradient.

References:
    Wu et al. (2023), ITContrast, Sec. 3.2.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, get_args

import numpy as np
import torch
from jaxtyping import Bool, Float, Int8, Int64
from numpy import ndarray
from torch import Tensor
from torch.nn.functional import normalize

from itmlab.data.captionset import CaptionSet
from itmlab.errors import ItmlabError
from itmlab.losses import gaussian_noise
from itmlab.metrics.statistics import share
from itmlab.models.encoded import evaluating
from itmlab.models.pairs import looked_at
from itmlab.synthesis import SynHNC
from itmlab.synthesis.synhnc import Association, Weights, associate, kmeans, recall, squared_distances
from itmlab.train.scores import features_of

from .scoring import drawn_captions, dual_encoder_of, require_truth


@dataclass(frozen=True, eq=False)
class SynthesisBatch:
    """A batch as training sees it: row i holds picture `images[i]` and one of its captions, `captions[i]`.

    Args:
        data: the set.
        images: numbers of the pictures.
        captions: numbers of the captions.
        anchors: unit-length features of the pictures.
        candidates: unit-length features of the captions.
        positives: which candidates belong to the anchor's image.
        truth: what the world says of (anchor, candidate): 1, 0, -1 undecided; None without a world.
    """

    data: CaptionSet
    images: Int64[Tensor, "pair"]
    captions: Int64[Tensor, "pair"]
    anchors: Float[Tensor, "pair dimension"]
    candidates: Float[Tensor, "pair dimension"]
    positives: Bool[Tensor, "pair pair"]
    truth: Int8[Tensor, "pair pair"] | None

    @property
    def scores(self) -> Float[Tensor, "pair pair"]:
        """The cosine of each anchor with each candidate."""
        return self.anchors @ self.candidates.T

    @property
    def positive_scores(self) -> Float[Tensor, "pair"]:
        """The cosine of each anchor with its match."""
        return (self.anchors * self.candidates).sum(dim=1)

    def candidate_name(self, index: int) -> str:
        """Return the words of a candidate caption."""
        return self.data.captions[int(self.captions[index])]

    def hardest(self) -> Float[Tensor, "pair"]:
        """Return the cosine of each anchor with its nearest negative."""
        return self.scores.masked_fill(self.positives, -1).max(dim=1).values


@dataclass(frozen=True, eq=False)
class ReadOut:
    """What the memories of one anchor's clusters recall. Candidates are in the batch's order.

    Args:
        anchor: the row of the anchor.
        membership: the cluster of each candidate; -1 for the anchor's own.
        score: the cosine of each candidate with the anchor.
        kernel: the kernel weight of each candidate.
        coefficients: the coefficient of each candidate in what its memory recalls.
        points: the recalled q̄.
        hardness: the cosine of each q̄ with the anchor; NaN for an empty cluster.
        place: the candidates on a map: the distance from the origin is the angle to the anchor in radians (exact), the
            direction is a projection.
        points_place: the recalled points on that map.
    """

    anchor: int
    membership: Int64[Tensor, "candidate"]
    score: Float[Tensor, "candidate"]
    kernel: Float[Tensor, "candidate"]
    coefficients: Float[Tensor, "candidate"]
    points: Float[Tensor, "cluster dimension"]
    hardness: Float[Tensor, "cluster"]
    place: Float[Tensor, "candidate 2"]
    points_place: Float[Tensor, "cluster 2"]

    def prototypes(self, cluster: int) -> Int64[Tensor, "prototype"]:
        """Return the candidates of one cluster, those with the largest kernel weights first."""
        mine = (self.membership == cluster).nonzero().squeeze(1)
        return mine[self.kernel[mine].argsort(descending=True, stable=True)]

    def effective(self, cluster: int) -> float:
        """Return the effective number of prototypes of a cluster: the exponential of the entropy of its weights."""
        weights = self.kernel[self.membership == cluster]
        return float((-torch.special.xlogy(weights, weights).sum()).exp())


def synthesis_batch(run: Any, data: CaptionSet, *, pairs: int = 128, seed: int = 0) -> SynthesisBatch:
    """Draw `pairs` pictures of a split at random, each with one of its captions, and compute their features.

    Args:
        run: a Run or a model with one feature per side, of pictures or regions.
        data: the split.
        pairs: the number of pictures.
        seed: of the draws.

    Raises:
        ItmlabError: the model has no such features, an image has no caption, or there are fewer than two pictures.
    """
    generator = torch.Generator().manual_seed(seed)
    images = torch.randperm(len(data), generator=generator)[:pairs]
    captions = drawn_captions(data, images, generator)
    if len(images) < 2:
        raise ItmlabError(f"{len(images)} pictures have no negatives among them", where=data.name)
    model = dual_encoder_of(run)
    inputs = looked_at(model, data)
    with evaluating(model):
        pictures = features_of(model, [inputs[image] for image in images.tolist()], "images")
        sentences = features_of(model, [data.captions[caption] for caption in captions.tolist()], "captions")
    sides = [normalize(features, dim=1) for features in (pictures, sentences)]
    truth = None if data.world is None else data.world.truth(images, captions)
    return SynthesisBatch(data, images, captions, *sides, torch.eye(len(images), dtype=torch.bool), truth)


def memories(
    batch: SynthesisBatch, anchors: slice = slice(None), *, clusters: int = 8, sigma: float = 0.1, **settings: Any
) -> tuple[Int64[Tensor, "anchor candidate"], Association, Float[Tensor, "anchor cluster dimension"]]:
    """Return for some anchors each candidate's cluster (-1: their own), its weights, and what every memory recalls.

    Args:
        batch: what `synthesis_batch` returned.
        anchors: the rows of the anchors.
        clusters: m. The clusters depend on nothing else.
        sigma: σ of the kernel.
        settings: weights and regularisation, as in `SynHNC`.
    """
    squared = squared_distances(batch.candidates, batch.candidates)
    generator = torch.Generator().manual_seed(0)
    membership = kmeans(squared, ~batch.positives[anchors], clusters, generator=generator)
    to_anchors = squared_distances(batch.anchors[anchors], batch.candidates)
    association = associate(to_anchors, squared, membership, clusters=clusters, sigma=sigma, **settings)
    return membership, association, recall(batch.candidates, membership, association.coefficients, clusters=clusters)


def read_out(batch: SynthesisBatch, anchor: int, **settings: Any) -> ReadOut:
    """Run the steps of SynHNC for one anchor of the batch; `settings` are those of `memories`."""
    row = slice(anchor, anchor + 1)
    (membership,), association, (points,) = memories(batch, row, **settings)
    query, is_empty = batch.anchors[anchor], points.norm(dim=1) == 0
    place, points_place = _sky(query, batch.candidates, points)
    return ReadOut(
        anchor=anchor,
        membership=membership,
        score=batch.scores[anchor],
        kernel=association.kernel[0],
        coefficients=association.coefficients[0],
        points=points,
        hardness=torch.cosine_similarity(points, query[None], dim=1).masked_fill(is_empty, torch.nan),
        place=place,
        points_place=points_place.masked_fill(is_empty[:, None], torch.nan),
    )


def _sky(query: Float[Tensor, "dimension"], *sides: Float[Tensor, "point dimension"]) -> list[Float[Tensor, "point 2"]]:
    """Place each point at its angle from the anchor, in the direction of two principal components.

    The components are those of the first side's directions as seen from the anchor, so that neither σ nor the clusters
    move a candidate.
    """
    directions = [normalize(side - (side @ query)[:, None] * query, dim=1) for side in sides]
    _, _, axes = torch.linalg.svd(directions[0] - directions[0].mean(dim=0), full_matrices=False)
    angles = [torch.cosine_similarity(side, query, dim=1).clamp(-1, 1).arccos() for side in sides]
    flat = [normalize(direction @ axes[:2].T, dim=1) for direction in directions]
    return [angle[:, None] * places for angle, places in zip(angles, flat, strict=True)]


# What an anchor's synthetic negatives are made of: the prototypes that their clusters' kernels weigh most.

LEAST = 0.005  # kernel weight below which a prototype is not worth showing


@dataclass(frozen=True)
class Attribution:
    """One synthetic negative and the prototypes that it is made of.

    Args:
        hardness: its cosine with the anchor.
        prototypes: numbers of candidates, the heaviest first.
        weights: their kernel weights.
        truth_labels: what the world says of them (1, 0, -1); None without a world.
    """

    hardness: float
    prototypes: Sequence[int]
    weights: Sequence[float]
    truth_labels: Sequence[int] | None = None


def attribution(batch: SynthesisBatch, read_out: ReadOut) -> list[Attribution]:
    """Return the six hardest synthetic negatives of an anchor, each with its three heaviest prototypes."""
    order = read_out.hardness.argsort(descending=True, stable=True)
    rows = []
    for cluster in order[~read_out.hardness[order].isnan()][:6].tolist():
        heaviest = read_out.prototypes(cluster)[:3]
        heaviest = heaviest[(read_out.kernel[heaviest] >= LEAST) | (heaviest == heaviest[0])]
        truth_labels = None if batch.truth is None else batch.truth[read_out.anchor, heaviest].tolist()
        weights, hardness = read_out.kernel[heaviest].tolist(), float(read_out.hardness[cluster])
        rows.append(Attribution(hardness, heaviest.tolist(), weights, truth_labels))
    return rows


# A whole batch: the hardness of its synthetic negatives, and the terms of InfoCMR.

ROUNDING = 1e-4  # of a cosine: a narrow kernel recalls the hardest negative itself, which is no harder than it
NOISE = 128  # random directions beside the negatives


@dataclass(frozen=True, eq=False)
class MemorySweep:
    """A batch's synthetic negatives over the values of a parameter.

    Args:
        batch: the batch.
        values: of the parameter.
        curves: by kind of weights and measure, see `measures`.
    """

    batch: SynthesisBatch
    values: Float[ndarray, "value"]
    curves: Mapping[str, Mapping[str, Float[ndarray, "value"]]]


def memory_sweep(batch: SynthesisBatch, parameter: str, values: Sequence[float], **settings: Any) -> MemorySweep:
    """Measure the batch's synthetic negatives, by both kinds of weights, at each value of a parameter of `memories`."""
    curves = {}
    for kind in get_args(Weights):
        rows = [measures(batch, weights=kind, **{**settings, parameter: value}) for value in values]
        curves[kind] = {name: np.array([float(row[name]) for row in rows]) for name in rows[0]}
    return MemorySweep(batch, np.array(values, dtype=float), curves)


def measures(batch: SynthesisBatch, **settings: Any) -> dict[str, Float[Tensor, ""]]:
    """Return measures of a batch's synthetic negatives; `settings` are those of `memories`.

    Returns:
        "hardness" is the mean over anchors of the cosine of the hardest synthetic negative, "lower" and "upper" are its
        quartiles. "effective" is how many prototypes share a cluster's kernel weights (geometric mean), "length" the
        mean of ‖q̄‖. The others are percentages of anchors whose hardest synthetic negative is nearer than every real
        one, or than the match.
    """
    _, association, points = memories(batch, **settings)
    length = points.norm(dim=-1)
    is_filled = length > 0  # an empty cluster recalls nothing
    cosines = torch.cosine_similarity(points, batch.anchors[:, None], dim=-1).masked_fill(~is_filled, -1)
    nearest = cosines.max(dim=1).values
    entropy = -torch.special.xlogy(association.kernel, association.kernel).sum(1) / is_filled.sum(1)
    return {
        "hardness": nearest.mean(),
        "lower": nearest.quantile(0.25),
        "upper": nearest.quantile(0.75),
        "effective": entropy.exp().mean(),
        "length": length[is_filled].mean(),
        "above hardest": 100 * (nearest > batch.hardest() + ROUNDING).float().mean(),
        "above match": 100 * (nearest > batch.positive_scores + ROUNDING).float().mean(),
    }


def hardness(batch: SynthesisBatch, synthesis: SynHNC) -> dict[str, Float[ndarray, "score"]]:
    """Return the cosines that a loss gets for the batch, by what they are of."""
    match, negatives, synthetic, random = terms(batch, synthesis).values()
    kinds = {
        "matches": match,
        "negatives of the batch": negatives,
        "the hardest of them": negatives.amax(dim=1),
        "synthetic negatives": synthetic,
        "the hardest synthetic": synthetic.amax(dim=1),
        "Gaussian noise": random,
    }
    return {kind: cosines[cosines.isfinite()].numpy() for kind, cosines in kinds.items()}


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


def terms(batch: SynthesisBatch, synthesis: SynHNC) -> dict[str, Float[Tensor, "anchor score"]]:
    """Return the cosines in the denominator by what they are of; -inf where an anchor has none."""
    generator = torch.Generator().manual_seed(0)  # first the clusters, then the noise, as the loss draws
    synthetic = synthesis(batch.anchors, batch.candidates, batch.positives, generator=generator)
    random = gaussian_noise(NOISE, batch.anchors, generator=generator)
    return {
        "match": batch.positive_scores[:, None],
        "negatives of the batch": batch.scores.masked_fill(batch.positives, -torch.inf),
        "synthetic negatives": synthetic.scores(batch.anchors).masked_fill(~synthetic.allowed, -torch.inf),
        "Gaussian noise": batch.anchors @ random.T,
    }


def shares_by_temperature(
    batch: SynthesisBatch, temperatures: Sequence[float], synthesis: SynHNC
) -> dict[str, Float[ndarray, "temperature"]]:
    """Return the share of each of the `terms` in the denominator, mean over anchors, in percent, at each temperature.

    The gradient of the loss by a negative's score is the negative's share over τ.
    """
    cosines, rows = terms(batch, synthesis), []
    sizes = [values.shape[1] for values in cosines.values()]
    for temperature in temperatures:
        shares = 100 * (torch.cat([*cosines.values()], dim=1) / temperature).softmax(1).mean(0)
        rows.append([float(part.sum()) for part in shares.split(sizes)])
    return dict(zip(cosines, np.array(rows).T, strict=True))
