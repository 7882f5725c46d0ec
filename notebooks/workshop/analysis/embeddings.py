"""A split's pictures and captions on one map, by several models: what training did to the common space.

Maps are made by t-SNE (van der Maaten 2014) and UMAP (McInnes et al. 2018), and kept in the cache. Below are the
maps of whole models, and of one batch as an anchor sees it (ITContrast, Fig. 2).
"""

import hashlib
import warnings
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import torch
from jaxtyping import Bool, Float, Int64
from numpy import ndarray
from threadpoolctl import threadpool_limits
from torch import Tensor

from itmlab.data.captionset import CaptionSet
from itmlab.errors import ItmlabError
from itmlab.models.encoded import evaluating
from itmlab.storage import cache_directory, keep
from itmlab.synthesis import SynHNC
from itmlab.train.scores import Embeddings, embed

from .scoring import Direction, drawn_captions, model_of

Plane = Float[ndarray, "point 2"]
Features = Float[Tensor, "point dimension"] | Float[ndarray, "point dimension"]
Method = Literal["tsne", "umap"]
PERPLEXITY = 30  # of t-SNE, at most a third of the points
NEIGHBOURS = 15  # of UMAP
SETTINGS = 1  # raise it whenever a setting below changes: it is part of the cache's key


def project(features: Features, method: Method = "tsne") -> Plane:
    """Place normalised features on a plane by scikit-learn's t-SNE or by UMAP, started from the principal components.

    Fewer than four points, or equal points, keep the coordinates of the principal components. The same features and
    versions give the same coordinates on one machine.

    Args:
        features: of the points.
        method: "tsne" or "umap".

    Raises:
        ItmlabError: features are not finite.
    """
    rows = _unit_rows(features)
    if len(rows) < 4 or np.ptp(rows, axis=0).max() <= 1e-6:
        return _principal_components(rows)
    return _projected(rows, method)


def _projected(rows: Float[ndarray, "point dimension"], method: Method) -> Plane:
    """Make a map, or read it from the cache: one of a test split takes ten seconds, UMAP's twice as long."""
    digest = hashlib.sha256(f"{SETTINGS} {rows.shape}".encode() + rows.tobytes()).hexdigest()
    path = cache_directory() / "maps" / f"{method}-{digest[:32]}.npy"
    with suppress(OSError, ValueError, EOFError):  # none is there, or a damaged one
        return np.load(path)
    plane = {"tsne": _tsne, "umap": _umap}[method](rows).astype(np.float32)
    keep(path, lambda file: np.save(file, plane))
    return plane


def _unit_rows(features: Features) -> Float[ndarray, "point dimension"]:
    rows = torch.as_tensor(features).detach().float().cpu().numpy()
    is_finite = np.isfinite(rows).all(axis=-1)
    if not is_finite.all():
        raise ItmlabError(f"the features of point {int(is_finite.argmin())} are not finite")
    return rows / np.maximum(np.linalg.norm(rows, axis=-1, keepdims=True), 1e-12)


def _principal_components(rows: Float[ndarray, "point dimension"]) -> Plane:
    """Return the first two principal components, zeros where there are fewer."""
    from sklearn.decomposition import PCA

    plane = np.zeros((len(rows), 2), dtype=np.float32)
    count = min(2, *rows.shape)
    if len(rows) > 1 and np.ptp(rows, axis=0).max() > 1e-6:
        plane[:, :count] = PCA(count, svd_solver="full").fit_transform(rows)
    return plane


def _tsne(rows: Float[ndarray, "point dimension"]) -> Plane:
    """Run Barnes-Hut t-SNE on one thread, because several threads add up in another order.

    References:
        van der Maaten (2014), Accelerating t-SNE using Tree-Based Algorithms.
    """
    from sklearn.manifold import TSNE

    start = _principal_components(rows)
    start = (start * (1e-4 / max(start[:, 0].std(), 1e-12))).astype(np.float32)
    perplexity = min(PERPLEXITY, (len(rows) - 1) / 3)
    with threadpool_limits(1):
        method = TSNE(perplexity=perplexity, init=start, max_iter=500, angle=0.7, random_state=0, n_jobs=1)
        return method.fit_transform(rows)


def _umap(rows: Float[ndarray, "point dimension"]) -> Plane:
    """Run UMAP; a fixed `random_state` makes it run on one thread.

    References:
        McInnes et al. (2018), UMAP.
    """
    from sklearn.neighbors import NearestNeighbors
    from umap import UMAP

    count = min(NEIGHBOURS, len(rows) - 1)
    # Exact neighbours: umap-learn would compile its approximate search in every process, for a minute.
    distances, nearest = NearestNeighbors(n_neighbors=count, algorithm="brute").fit(rows).kneighbors(rows)
    settings = {"n_neighbors": count, "precomputed_knn": (nearest, distances), "random_state": 0, "n_jobs": 1}
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a seed means one thread, as wanted
        return UMAP(**settings, init="pca", n_epochs=200).fit_transform(rows)


def project_together(groups: Mapping[str, Features], method: Method = "tsne") -> dict[str, Plane]:
    """Place several sets of features of one space on one map, by name."""
    plane = project(torch.cat([torch.as_tensor(features) for features in groups.values()]), method)
    ends = np.cumsum([len(features) for features in groups.values()])
    return dict(zip(groups, np.split(plane, ends[:-1]), strict=True))


def neighbours_kept(features: Features, plane: Plane, k: int = 10) -> float:
    """Return the mean share of each point's `k` nearest features that are also nearest on the map.

    It says how far a map can be trusted; chance is k / (points - 1).

    >>> neighbours_kept(np.eye(4), np.array([[0, 0], [0, 1], [9, 0], [9, 1]]), 3)
    1.0
    """
    from sklearn.neighbors import NearestNeighbors

    nearest = NearestNeighbors(n_neighbors=k, algorithm="brute")
    near, shown = (
        nearest.fit(space).kneighbors(return_distance=False) for space in (_unit_rows(features), np.asarray(plane))
    )
    return float((near[:, :, None] == shown[:, None, :]).any(axis=2).mean())


# The maps of several models over one split.


@dataclass(frozen=True, eq=False)
class Embedded:
    """One model's features of a split, and their places on a map that pictures and captions share."""

    features: Embeddings
    planes: Mapping[str, Plane]

    def places(self) -> Mapping[str, Plane]:
        """Return the places of pictures and captions by kind, as `draw_projection` takes them."""
        return self.planes

    def kept(self) -> float:
        """Return the mean share of each point's ten nearest that are nearest on the map too."""
        return neighbours_kept(torch.cat(self.features), np.concatenate([*self.planes.values()]))


def embedded(models: Mapping[str, Any], data: CaptionSet, method: Method = "tsne") -> dict[str, Embedded]:
    """Return the map of each named Run or model over all pictures and captions of a split.

    Each model has its own map: what lies near what can be compared, absolute positions cannot.

    Raises:
        ItmlabError: a model does not encode pictures and captions separately.
    """
    maps = {}
    for name, run in models.items():
        with evaluating(model_of(run)):
            features = embed(model_of(run), data)
        kinds = {"pictures": features.images, "captions": features.captions}
        maps[name] = Embedded(features, project_together(kinds, method))
    return maps


# A batch as one anchor sees it: its positives, the few hard negatives, the many easy ones, and synthesised ones.

MARGIN = 0.2  # of the triplet loss that decides what is hard
PICTURES = 128  # in the batch


@dataclass(frozen=True, eq=False)
class BatchNeighbourhood:
    """One anchor's batch: the candidates of the other modality, and their places on a map.

    Args:
        index: the numbers of the candidates.
        positives: which candidates are annotated.
        hard: negatives that a triplet loss would learn from: above the positives' mean score minus the margin.
        true: negatives that the world calls true of the anchor; None without a world.
        anchor_place: the anchor on the map.
        places: the candidates on the map.
        synthetic_places: the synthetic negatives on the map.
    """

    index: Int64[Tensor, "candidate"]
    positives: Bool[Tensor, "candidate"]
    hard: Bool[Tensor, "candidate"]
    true: Bool[Tensor, "candidate"] | None
    anchor_place: Plane
    places: Plane
    synthetic_places: Plane


def batch_neighbourhood(
    features: Embeddings, data: CaptionSet, anchor: int, direction: Direction = "image", synthesis: SynHNC | None = None
) -> BatchNeighbourhood:
    """Put an anchor into a batch: its picture with all its captions, and other pictures with one caption each.

    Args:
        features: a model's features of `data`.
        data: the set.
        anchor: the number of the anchor.
        direction: whether it is an image or a caption.
        synthesis: adds synthetic negatives from those of the batch.

    Raises:
        ItmlabError: an image has no caption.
    """
    by_image, generator = direction == "image", torch.Generator().manual_seed(0)
    image = anchor if by_image else int(data.image_of_caption[anchor])
    others = torch.arange(len(data))[torch.arange(len(data)) != image]
    others = others[torch.randperm(len(others), generator=generator)[: PICTURES - 1]]
    captions = torch.cat([data.captions_of_image[image], drawn_captions(data, others, generator)])
    images = torch.cat([torch.tensor([image]), others])
    index, owners = (captions, data.image_of_caption[captions]) if by_image else (images, images)
    anchors, candidates = features if by_image else reversed(features)
    query, candidates = anchors[anchor], candidates[index]
    positives, scores = owners == image, candidates @ query
    groups = {"anchor": query[None], "candidates": candidates, "synthetic": query.new_zeros(0, len(query))}
    if synthesis is not None:
        synthesised = synthesis(query[None], candidates, positives[None], generator=generator)
        groups["synthetic"] = synthesised.features[synthesised.allowed]
    true = None
    if data.world is not None:
        truth = data.world.truth() if by_image else data.world.truth().T
        true = (truth[anchor, index] == 1) & ~positives
    hard = ~positives & (scores > scores[positives].mean() - MARGIN)
    planes = project_together(groups)
    return BatchNeighbourhood(index, positives, hard, true, *planes.values())  # the places in the order of the groups
