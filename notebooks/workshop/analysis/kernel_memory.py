"""SynHNC for one anchor, step by step: clusters, kernel weights, and what each memory recalls.

An anchor's negatives are clustered. Asked with the anchor q, the kernel associative memory of each cluster recalls a
point q̄ made of its prototypes (Eqs. 2 to 5, as METHODS 4.1 reads them).

References:
    Wu et al. (2023), ITContrast, Sec. 3.2.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Bool, Float, Int8, Int64
from torch import Tensor
from torch.nn.functional import normalize

from itmlab.data.captionset import CaptionSet
from itmlab.errors import ItmlabError
from itmlab.models.encoded import evaluating
from itmlab.models.pairs import looked_at
from itmlab.synthesis.synhnc import associate, kmeans, recall, squared_distances
from itmlab.train.scores import features_of

from .embeddings import features_apart
from .scoring import Direction, require_captions


@dataclass(frozen=True, eq=False)
class SynthesisBatch:
    """A batch as training sees it: row i holds picture `images[i]` and one of its captions, `captions[i]`.

    Args:
        data: the set.
        direction: whether the anchors are images or captions.
        images: numbers of the pictures.
        captions: numbers of the captions.
        anchors: unit-length features of the anchors.
        candidates: unit-length features of the other side.
        positives: which candidates belong to the anchor's image.
        truth: what the world says of (anchor, candidate): 1, 0, -1 undecided; None without a world.
    """

    data: CaptionSet
    direction: Direction
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
        """Return a candidate caption's words, or a candidate picture's id."""
        if self.direction == "image":
            return self.data.captions[int(self.captions[index])]
        return self.data.image_ids[int(self.images[index])]

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


def synthesis_batch(
    run: Any, data: CaptionSet, *, direction: Direction = "image", pairs: int = 128, seed: int = 0
) -> SynthesisBatch:
    """Draw `pairs` pictures of a split at random, each with one of its captions, and compute their features.

    Args:
        run: a Run or a model with one feature per side, of pictures or regions.
        data: the split.
        direction: whether the anchors are images or captions.
        pairs: the number of pictures.
        seed: of the draws.

    Raises:
        ItmlabError: the model has no such features, or there are fewer than two pictures.
    """
    require_captions(data)
    model = features_apart(run)
    inputs, generator = looked_at(model, data), torch.Generator().manual_seed(seed)
    images = torch.randperm(len(data), generator=generator)[:pairs]
    if len(images) < 2:
        raise ItmlabError(f"{len(images)} pictures have no negatives among them", where=data.name)
    drawn = [data.captions_of_image[image] for image in images.tolist()]
    captions = torch.stack([numbers[torch.randint(len(numbers), (), generator=generator)] for numbers in drawn])
    with evaluating(model):
        pictures = features_of(model, [inputs[image] for image in images.tolist()], "images")
        sentences = features_of(model, [data.captions[caption] for caption in captions.tolist()], "captions")
    sides = [normalize(features, dim=1) for features in (pictures, sentences)]
    truth = None if data.world is None else data.world.truth(images, captions)
    if direction == "caption":
        sides.reverse()
        truth = None if truth is None else truth.T
    return SynthesisBatch(data, direction, images, captions, *sides, torch.eye(len(images), dtype=torch.bool), truth)


def read_out(batch: SynthesisBatch, anchor: int, *, clusters: int = 8, sigma: float = 0.1, **settings: Any) -> ReadOut:
    """Run the steps of SynHNC for one anchor of the batch.

    Args:
        batch: what `synthesis_batch` returned.
        anchor: the row of the anchor.
        clusters: m. The clusters depend on nothing else.
        sigma: σ of the kernel.
        settings: weights and regularisation, as in `SynHNC`.
    """
    row, candidates = slice(anchor, anchor + 1), batch.candidates
    query, squared = batch.anchors[row], squared_distances(candidates, candidates)
    membership = kmeans(squared, ~batch.positives[row], clusters, generator=torch.Generator().manual_seed(0))
    settings |= {"clusters": clusters, "sigma": sigma}
    association = associate(squared_distances(query, candidates), squared, membership, **settings)
    points = recall(candidates, membership, association.coefficients, clusters=clusters)[0]
    empty = torch.bincount(membership[0] + 1, minlength=clusters + 1)[1:] == 0
    place, points_place = _sky(query[0], candidates, points)
    return ReadOut(
        anchor=anchor,
        membership=membership[0],
        score=batch.scores[anchor],
        kernel=association.kernel[0],
        coefficients=association.coefficients[0],
        points=points,
        hardness=torch.cosine_similarity(points, query, dim=1).masked_fill(empty, torch.nan),
        place=place,
        points_place=points_place.masked_fill(empty[:, None], torch.nan),
    )


def _sky(
    query: Float[Tensor, "dimension"],
    candidates: Float[Tensor, "candidate dimension"],
    points: Float[Tensor, "cluster dimension"],
) -> tuple[Float[Tensor, "candidate 2"], Float[Tensor, "cluster 2"]]:
    """Place each point at its angle from the anchor, in the direction of two principal components.

    The components are those of the candidates' directions as seen from the anchor, so that neither σ nor the clusters
    move a candidate.
    """
    directions = [normalize(side - (side @ query)[:, None] * query, dim=1) for side in (candidates, points)]
    _, _, axes = torch.linalg.svd(directions[0] - directions[0].mean(dim=0), full_matrices=False)
    angles = [torch.cosine_similarity(side, query, dim=1).clamp(-1, 1).arccos() for side in (candidates, points)]
    flat = [normalize(direction @ axes[:2].T, dim=1) for direction in directions]
    return angles[0][:, None] * flat[0], angles[1][:, None] * flat[1]


# What an anchor's synthetic negatives are made of: the prototypes that their clusters' kernels weigh most.

LEAST = 0.005  # kernel weight below which a prototype is not worth showing


@dataclass(frozen=True)
class Attribution:
    """One synthetic negative and the prototypes that it is made of.

    Args:
        cluster: the number of its cluster.
        hardness: its cosine with the anchor.
        prototypes: numbers of candidates, the heaviest first.
        weights: their kernel weights.
        truth_labels: what the world says of them (1, 0, -1); None without a world.
    """

    cluster: int
    hardness: float
    prototypes: Sequence[int]
    weights: Sequence[float]
    truth_labels: Sequence[int] | None = None


def attribution(batch: SynthesisBatch, read_out: ReadOut) -> list[Attribution]:
    """Return the six hardest synthetic negatives of an anchor, each with its three heaviest prototypes."""
    order = read_out.hardness.argsort(descending=True, stable=True)
    order = order[~read_out.hardness[order].isnan()]
    rows = []
    for cluster in order[:6].tolist():
        heaviest = read_out.prototypes(cluster)[:3]
        heaviest = heaviest[(read_out.kernel[heaviest] >= LEAST) | (heaviest == heaviest[0])]
        truth_labels = None if batch.truth is None else batch.truth[read_out.anchor, heaviest].tolist()
        weights, hardness = read_out.kernel[heaviest].tolist(), float(read_out.hardness[cluster])
        rows.append(Attribution(cluster, hardness, heaviest.tolist(), weights, truth_labels))
    return rows
