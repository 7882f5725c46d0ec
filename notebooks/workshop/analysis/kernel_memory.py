"""SynHNC, one anchor step by step: clusters, kernel weights, what each memory recalls and where that lands.

Wu et al. (2023), ITContrast, Sec. 3.2: an anchor's negatives are clustered; asked with the anchor q, the kernel
associative memory of each cluster recalls a point q̄ made of its prototypes (Eqs. 2–5, as METHODS 4.1 reads them).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Float, Int8, Int64
from torch import Tensor
from torch.nn.functional import normalize

from itmlab.data.captionset import CaptionSet
from itmlab.errors import ItmlabError
from itmlab.models.encoded import evaluating
from itmlab.models.pairs import looked_at
from itmlab.synthesis.synhnc import REGULARISATION, Association, Weights, associate, kmeans, recall, squared_distances
from itmlab.train.scores import embed_captions, embed_images

from .embeddings import features_apart
from .scoring import Direction


@dataclass(frozen=True, eq=False)
class SynthesisBatch:
    """A batch as training sees it: row i holds picture `images[i]` and one of its captions, `captions[i]`.

    `anchors` and `candidates` are the unit-length features of the two sides, `positives` marks what belongs to the
    anchor's image, `truth` what the world says of (anchor, candidate): 1, 0, −1 undecided (None: no world).
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
        """A candidate caption in its words, a candidate picture by its id."""
        if self.direction == "image":
            return self.data.captions[int(self.captions[index])]
        return self.data.image_ids[int(self.images[index])]

    def hardest(self) -> Float[Tensor, "pair"]:
        """The cosine of each anchor with the nearest candidate that is not its own."""
        return self.scores.masked_fill(self.positives, -1).max(dim=1).values


@dataclass(frozen=True, eq=False)
class ReadOut:
    """What the memories of one anchor's clusters recall. Candidates are in the batch's order, clusters as k-means' are.

    `membership` is −1 for what is the anchor's own; `kernel` and `coefficients` as `synthesis` calls them. `points` are
    the q̄ as they come out, `hardness` the cosine of each with the anchor (NaN of an empty cluster). `score` is the
    candidates' cosine. `place` and `points_place` are the map: the distance from the origin is the angle to the anchor
    in radians, and so exact; the direction is the part of the features' spread that fits on paper.
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
        """The candidates of one cluster, those with the largest kernel weights first."""
        mine = (self.membership == cluster).nonzero().squeeze(1)
        return mine[self.kernel[mine].argsort(descending=True, stable=True)]

    def effective(self, cluster: int) -> float:
        """How many prototypes share the kernel weights of a cluster: the exponential of their entropy, 1 to all."""
        weights = self.kernel[self.membership == cluster]
        return float((-torch.special.xlogy(weights, weights).sum()).exp())


def synthesis_batch(
    run: Any, data: CaptionSet, *, direction: Direction = "image", pairs: int = 128, seed: int = 0
) -> SynthesisBatch:
    """`pairs` pictures of a split, drawn at random, each with one of its captions, and their features.

    `run` is a Run or a model with one feature a side, of pictures or regions. ItmlabError: another model, or fewer than
    two pictures.
    """
    model = features_apart(run)
    seen = looked_at(model, data)
    generator = torch.Generator().manual_seed(seed)
    images = torch.randperm(len(data), generator=generator)[:pairs]
    if len(images) < 2:
        raise ItmlabError(f"{len(images)} pictures have no negatives among them", where=data.name)
    drawn = [data.captions_of_image[image] for image in images.tolist()]
    captions = torch.stack([own[torch.randint(len(own), (), generator=generator)] for own in drawn])
    with evaluating(model):
        pictures = embed_images(model, [seen[image] for image in images.tolist()])
        sentences = embed_captions(model, [data.captions[caption] for caption in captions.tolist()])
    sides = [normalize(features, dim=1) for features in (pictures, sentences)]
    truth = None if data.world is None else data.world.truth(images, captions)
    if direction == "caption":
        sides.reverse()
        truth = None if truth is None else truth.T
    return SynthesisBatch(data, direction, images, captions, *sides, torch.eye(len(images), dtype=torch.bool), truth)


def read_out(
    batch: SynthesisBatch,
    anchor: int,
    *,
    clusters: int = 8,
    sigma: float = 0.1,
    weights: Weights = "least_squares",
    regularisation: float = REGULARISATION,
    seed: int = 0,
) -> ReadOut:
    """The steps of SynHNC for one anchor of the batch; its clusters depend on `clusters` and `seed` alone."""
    query, candidates, row = batch.anchors[anchor : anchor + 1], batch.candidates, slice(anchor, anchor + 1)
    squared = squared_distances(candidates, candidates)
    generator = torch.Generator().manual_seed(seed)
    membership = kmeans(squared, ~batch.positives[row], clusters, generator=generator)
    settings = {"clusters": clusters, "sigma": sigma, "weights": weights, "regularisation": regularisation}
    found: Association = associate(squared_distances(query, candidates), squared, membership, **settings)
    points = recall(candidates, membership, found.coefficients, clusters=clusters)[0]
    hardness = torch.cosine_similarity(points, query, dim=1)
    empty = torch.bincount(membership[0] + 1, minlength=clusters + 1)[1:] == 0
    place, points_place = _sky(query[0], candidates, points)
    return ReadOut(
        anchor=anchor,
        membership=membership[0],
        score=batch.scores[anchor],
        kernel=found.kernel[0],
        coefficients=found.coefficients[0],
        points=points,
        hardness=hardness.masked_fill(empty, torch.nan),
        place=place,
        points_place=points_place.masked_fill(empty[:, None], torch.nan),
    )


def _sky(
    query: Float[Tensor, "dimension"],
    candidates: Float[Tensor, "candidate dimension"],
    points: Float[Tensor, "cluster dimension"],
) -> tuple[Float[Tensor, "candidate 2"], Float[Tensor, "cluster 2"]]:
    """Each point at its angle from the anchor, in the direction of its two greatest principal components there.

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
    """One synthetic negative: its cluster's number, its cosine with the anchor, its prototypes with their weights.

    `prototypes` are numbers of candidates, the heaviest first; `truth_labels` the world's (1, 0, −1), None without one.
    """

    cluster: int
    hardness: float
    prototypes: Sequence[int]
    weights: Sequence[float]
    truth_labels: Sequence[int] | None = None


def attribution(batch: SynthesisBatch, read_out: ReadOut, *, first: int = 6, prototypes: int = 3) -> list[Attribution]:
    """The `first` hardest synthetic negatives of an anchor, each with its heaviest prototypes; empty clusters none."""
    hardness = np.nan_to_num(read_out.hardness.numpy(), nan=-2.0)
    order = [int(cluster) for cluster in np.argsort(-hardness, kind="stable") if hardness[cluster] > -2]
    rows = []
    for cluster in order[:first]:
        heaviest = read_out.prototypes(cluster)[:prototypes]
        heaviest = heaviest[(read_out.kernel[heaviest] >= LEAST) | (heaviest == heaviest[0])]
        truth_labels = None if batch.truth is None else batch.truth[read_out.anchor, heaviest].tolist()
        weights = read_out.kernel[heaviest].tolist()
        rows.append(Attribution(cluster, float(hardness[cluster]), heaviest.tolist(), weights, truth_labels))
    return rows
