"""A split's pictures and captions on one map, by several models: what training did to the common space.

Maps are made by t-SNE (van der Maaten 2014) and UMAP (McInnes et al. 2018). They are kept in the cache. Below are the
maps of whole models, and of one batch as an anchor sees it (ITContrast, Fig. 2).
"""

import hashlib
import json
import re
import warnings
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
import torch
from jaxtyping import Bool, Float, Int64
from numpy import ndarray
from torch import Tensor, nn

from itmlab.data.captionset import CaptionSet
from itmlab.errors import ItmlabError, MissingPart
from itmlab.models import build_model
from itmlab.models.encoded import evaluating
from itmlab.storage import cache_directory, keep
from itmlab.synthesis import SynHNC
from itmlab.train.scores import Embeddings, embed

from .scoring import Direction, model_of

Plane = Float[ndarray, "point 2"]
Features = Float[Tensor, "point dimension"] | Float[ndarray, "point dimension"]
COMPILED_AGAIN = ("smooth_knn_dist", "compute_membership_strengths")  # by umap-learn in each process, unless cached
Method, Metric = Literal["tsne", "umap"], Literal["cosine", "euclidean"]


def project(
    features: Features,
    method: Method = "tsne",
    *,
    metric: Metric = "cosine",
    perplexity: float = 30,
    neighbours: int = 15,
    minimum_distance: float = 0.1,
    seed: int = 0,
    cache: bool = True,
) -> Plane:
    """Place features on a plane by scikit-learn's t-SNE or by UMAP, both started from the principal components.

    Fewer than four points, or equal points, keep the coordinates of the principal components. The same features,
    settings and versions give the same coordinates on one machine.

    Args:
        features: of the points.
        method: "tsne" or "umap".
        metric: "cosine" normalises the features, "euclidean" does not.
        perplexity: of t-SNE; at most a third of the number of points.
        neighbours: of UMAP.
        minimum_distance: of UMAP.
        seed: of the method.
        cache: whether to keep the coordinates under `storage.cache_directory()`.

    Raises:
        ItmlabError: features are not finite, or a setting is out of range.
        MissingPart: umap-learn is not installed.
    """
    if method not in get_args(Method) or metric not in get_args(Metric):
        remedy = 'use "tsne" or "umap", by "cosine" or "euclidean"'
        raise ItmlabError(f"no projection {method!r} by {metric!r}", remedy=remedy)
    if perplexity < 1 or neighbours < 2 or not 0 <= minimum_distance <= 1:
        message = f"perplexity {perplexity}, {neighbours} neighbours, minimum distance {minimum_distance}"
        raise ItmlabError(message, remedy="perplexity from 1, neighbours from 2, the distance between 0 and 1")
    rows = _rows(features, unit=metric == "cosine")
    if len(rows) < 4 or np.ptp(rows, axis=0).max() <= 1e-6:
        return _principal_components(rows)
    settings = [perplexity] if method == "tsne" else [neighbours, minimum_distance]
    libraries = [version("scikit-learn"), version("umap-learn") if method == "umap" else ""]
    key = json.dumps([2, method, seed, settings, libraries, rows.shape]).encode() + rows.tobytes()
    path = cache_directory() / "projections" / f"{hashlib.sha256(key).hexdigest()[:32]}.npy"
    if cache:
        with suppress(OSError, ValueError, EOFError):  # not there, or not whole
            plane = np.load(path, allow_pickle=False)
            if plane.shape == (len(rows), 2) and np.isfinite(plane).all():
                return plane
    plane = (_tsne if method == "tsne" else _umap)(rows, *settings, seed).astype(np.float32)
    if cache:
        keep(path, lambda file: np.save(file, plane, allow_pickle=False))
    return plane


def _rows(features: Any, *, unit: bool) -> Float[ndarray, "point dimension"]:
    rows = _array(features)
    if rows.ndim != 2:
        raise ItmlabError(f"features must have the shape (point, dimension), got {rows.shape}")
    faulty = ~np.isfinite(rows).all(axis=1)
    if faulty.any():
        raise ItmlabError(f"the features of point {int(faulty.argmax())} are not finite")
    if unit:
        rows = rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)
    return np.ascontiguousarray(rows, dtype=np.float32)


def _array(features: Any) -> Float[ndarray, "point dimension"]:
    if isinstance(features, torch.Tensor):
        features = features.detach().float().cpu().numpy()
    return np.asarray(features, dtype=np.float32)


def _principal_components(rows: Float[ndarray, "point dimension"]) -> Plane:
    """Return the first two principal components, zeros where there are fewer."""
    from sklearn.decomposition import PCA

    plane = np.zeros((len(rows), 2), dtype=np.float32)
    count = min(2, *rows.shape)
    if len(rows) > 1 and np.ptp(rows, axis=0).max() > 1e-6:
        plane[:, :count] = PCA(count, svd_solver="full").fit_transform(rows)
    return plane


def _tsne(rows: Float[ndarray, "point dimension"], perplexity: float, seed: int) -> Plane:
    """Run Barnes-Hut t-SNE on one thread, because several threads add up in another order.

    References:
        van der Maaten (2014), Accelerating t-SNE using Tree-Based Algorithms.
    """
    from sklearn.manifold import TSNE
    from threadpoolctl import threadpool_limits

    start = _principal_components(rows)
    start = (start * (1e-4 / max(start[:, 0].std(), 1e-12))).astype(np.float32)
    method = TSNE(
        perplexity=min(perplexity, (len(rows) - 1) / 3), init=start, max_iter=750, random_state=seed, n_jobs=1
    )
    with threadpool_limits(1):
        return method.fit_transform(rows)


def _umap(rows: Float[ndarray, "point dimension"], neighbours: int, minimum_distance: float, seed: int) -> Plane:
    """Run UMAP; a fixed `random_state` makes it run on one thread.

    References:
        McInnes et al. (2018), UMAP.
    """
    try:
        from umap import UMAP, umap_
    except ImportError:
        raise MissingPart("umap-learn", "pip install umap-learn", needed_for="UMAP") from None
    from sklearn.neighbors import NearestNeighbors
    from threadpoolctl import threadpool_limits

    for name in COMPILED_AGAIN:
        with suppress(AttributeError, RuntimeError):  # another version, or nowhere to write
            getattr(umap_, name).enable_caching()
    count = min(neighbours, len(rows) - 1)
    # Exact neighbours: umap-learn would compile its approximate search in every process, for a minute.
    distances, nearest = NearestNeighbors(n_neighbors=count, algorithm="brute").fit(rows).kneighbors(rows)
    settings = {"n_neighbors": count, "min_dist": minimum_distance, "precomputed_knn": (nearest, distances)}
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a seed means one thread, as wanted
        return UMAP(**settings, random_state=seed, init="pca", n_epochs=200, n_jobs=1).fit_transform(rows)


def project_together(groups: Mapping[str, Features], method: Method = "tsne", **options: Any) -> dict[str, Plane]:
    """Place several sets of features of one space on one map, by name. Options are those of `project`.

    Raises:
        ItmlabError: the features have different dimensions.
    """
    if not groups:
        return {}
    sizes = {np.shape(features)[-1] for features in groups.values()}
    if len(sizes) > 1:
        raise ItmlabError(f"features of {' and '.join(map(str, sorted(sizes)))} dimensions share no space")
    plane = project(np.concatenate([_array(features) for features in groups.values()]), method, **options)
    ends = np.cumsum([len(features) for features in groups.values()])
    return dict(zip(groups, np.split(plane, ends[:-1]), strict=True))


def neighbours_kept(features: Features, plane: Plane, k: int = 10, *, metric: Metric = "cosine") -> float:
    """Return the mean share of each point's `k` nearest features that are also nearest on the map.

    It says how far a map can be trusted; chance is k / (points - 1).

    >>> neighbours_kept(np.eye(4), np.array([[0, 0], [0, 1], [9, 0], [9, 1]]), 3)
    1.0
    """
    from sklearn.neighbors import NearestNeighbors

    rows = _rows(features, unit=metric == "cosine")
    if not 1 <= k < len(rows):
        raise ItmlabError(f"{len(rows)} points have no {k} neighbours each")
    nearest = NearestNeighbors(n_neighbors=k, algorithm="brute")
    near, shown = (
        nearest.fit(space).kneighbors(return_distance=False) for space in (rows, np.asarray(plane, dtype=np.float32))
    )
    return float((near[:, :, None] == shown[:, None, :]).any(axis=2).mean())


# The maps of several models over one split.


@dataclass(frozen=True, eq=False)
class Embedded:
    """One model's features of a split, and their places on a map that pictures and captions share."""

    features: Embeddings
    images: Plane
    captions: Plane

    def kept(self, k: int = 10) -> float:
        """Return the mean share of each point's `k` nearest that are nearest on the map too."""
        return neighbours_kept(torch.cat(self.features), np.concatenate([self.images, self.captions]), k)


def embedded(
    models: Mapping[str, Any], data: CaptionSet, method: Method = "tsne", **options: Any
) -> dict[str, Embedded]:
    """Return the map of each named Run or model over all pictures and captions of a split.

    Each model has its own map: what lies near what can be compared, absolute positions cannot. Options are those of
    `project`.

    Raises:
        ItmlabError: a model does not encode pictures and captions separately.
    """
    maps = {}
    for name, run in models.items():
        features = _features(features_apart(run, name), data)
        maps[name] = Embedded(features, **project_together(features._asdict(), method, **options))
    return maps


def _features(model: Any, data: CaptionSet) -> Embeddings:
    """Return features computed before, or the model's features of all pictures and captions."""
    if isinstance(model, Embedded | Embeddings):
        return model.features if isinstance(model, Embedded) else model
    encoder = features_apart(model)
    with evaluating(encoder):
        return embed(encoder, data)


def features_apart(run: Any, name: str | None = None) -> nn.Module:
    """Return the model of a Run, or the model itself.

    Raises:
        ItmlabError: it does not encode pictures and captions separately.
    """
    model = model_of(run)
    if not model.encodes_apart:
        message = f"{type(model).__name__} has no features of pictures alone"
        raise ItmlabError(message, where=name, remedy="take a dual encoder")
    return model


def untrained(run: Any) -> nn.Module:
    """Return the model that a Run of a dual encoder started from: its configuration, tokeniser and seed."""
    if not run.recipe.model.encodes_apart:
        raise ItmlabError(f"{run.recipe.name} is no dual encoder's recipe", where=str(run.directory))
    return build_model(run.recipe.model, run.model.tokenizer, seed=run.recipe.seed).eval()


# A batch as one anchor sees it: its positives, the few hard negatives, the many easy ones, and synthesised ones.


@dataclass(frozen=True, eq=False)
class BatchNeighbourhood:
    """One anchor and the candidates of the other modality in its batch.

    Args:
        anchor: the number of the anchor.
        direction: whether the anchor is an image or a caption.
        index: the numbers of the candidates.
        positives: which candidates are annotated.
        hard: negatives that a triplet loss would learn from: above `threshold`.
        true: negatives that the world calls true of the anchor; None without a world.
        scores: cosines of the candidates.
        synthetic_scores: cosines of the synthetic negatives.
        threshold: the positives' mean score minus the margin.
        anchor_place: the anchor on the map.
        places: the candidates on the map.
        synthetic_places: the synthetic negatives on the map.
    """

    anchor: int
    direction: Direction
    index: Int64[Tensor, "candidate"]
    positives: Bool[Tensor, "candidate"]
    hard: Bool[Tensor, "candidate"]
    true: Bool[Tensor, "candidate"] | None
    scores: Float[Tensor, "candidate"]
    synthetic_scores: Float[Tensor, "synthetic"]
    threshold: float
    anchor_place: Plane
    places: Plane
    synthetic_places: Plane


def batch_neighbourhood(
    model: Any,
    data: CaptionSet,
    anchor: int,
    direction: Direction = "image",
    *,
    pictures: int = 128,
    margin: float = 0.2,
    synthesis: SynHNC | None = None,
    method: Method = "tsne",
    seed: int = 0,
    **options: Any,
) -> BatchNeighbourhood:
    """Put an anchor into a batch: its picture with all its captions, and other pictures with one caption each.

    Args:
        model: a Run, a model, or the Embedded or Embeddings of `data`.
        data: the set.
        anchor: the number of the anchor.
        direction: whether it is an image or a caption.
        pictures: the number of pictures in the batch.
        margin: of the triplet loss that decides what is hard.
        synthesis: adds synthetic negatives from those of the batch.
        method: "tsne" or "umap"; further options are those of `project`.
        seed: of the draws and of the map.

    Raises:
        ItmlabError: there is no such anchor, or its image has no caption.
    """
    by_image = direction == "image"
    anchors = len(data) if by_image else len(data.captions)
    if not 0 <= anchor < anchors:
        raise ItmlabError(f"there is no {direction} number {anchor}", where=data.name, remedy=f"0 to {anchors - 1}")
    features = _features(model, data)
    generator = torch.Generator().manual_seed(seed)
    image = anchor if by_image else int(data.image_of_caption[anchor])
    images, captions = _members(data, image, pictures, generator)
    index, positives = (captions, data.image_of_caption[captions] == image) if by_image else (images, images == image)
    asked, pool = (features.images, features.captions) if by_image else (features.captions, features.images)
    query, candidates = asked[anchor], pool[index]
    scores = candidates @ query
    threshold = float(scores[positives].mean()) - margin
    synthetic = query.new_zeros(0, len(query))
    if synthesis is not None:
        synthesised = synthesis(query[None], candidates, positives[None], generator=generator)
        synthetic = synthesised.features[synthesised.allowed]
    groups = {"anchor": query[None], "candidates": candidates, "synthetic": synthetic}
    planes = project_together(groups, method, seed=seed, **options)
    true = None
    if data.world is not None:
        truth = data.world.truth(None, None)
        true = ((truth[anchor] if by_image else truth[:, anchor])[index] == 1) & ~positives
    hard = ~positives & (scores > threshold)
    synthesised = (index, positives, hard, true, scores, synthetic @ query, threshold)
    return BatchNeighbourhood(
        anchor, direction, *synthesised, *planes.values()
    )  # the places in the order of the groups


def _members(
    data: CaptionSet, image: int, pictures: int, generator: torch.Generator
) -> tuple[Int64[Tensor, "image"], Int64[Tensor, "caption"]]:
    """Return the pictures of a batch, the anchor's first, and captions: all of the first, one of each other."""
    described = torch.tensor([len(captions) > 0 for captions in data.captions_of_image])
    if not described[image]:
        raise ItmlabError(f"image {data.image_ids[image]} has no caption", where=data.name)
    described[image] = False
    others = described.nonzero().flatten()
    others = others[torch.randperm(len(others), generator=generator)[: max(pictures - 1, 0)]]
    owned = [data.captions_of_image[image] for image in others.tolist()]
    drawn = [choices[torch.randint(len(choices), (1,), generator=generator)] for choices in owned]
    return torch.cat([torch.tensor([image]), others]), torch.cat([data.captions_of_image[image], *drawn])


# What some captions have in common that the others have not.


class SharedWord(NamedTuple):
    """A word, its share of the chosen captions and of all others, and the z-score of the difference."""

    word: str
    share: float
    elsewhere: float
    z: float


def shared_words(captions: Sequence[str], chosen: Collection[int], *, most: int = 8) -> list[SharedWord]:
    """Return the words that occur in more of the chosen captions than in the others, the most certain first.

    Words are ranked by the z-score of two proportions, each with one extra caption that has the word and one that does
    not. Listed are those above 1.96. A caption counts a word once.

    Args:
        captions: all captions.
        chosen: the numbers of some captions.
        most: how many words are listed.

    >>> [shared.word for shared in shared_words(["a red dog"] * 9 + ["a cat"] * 9, range(9))]
    ['dog', 'red']
    """
    chosen = set(chosen)
    words = [set(re.findall(r"[^\W\d_]+(?:['’][^\W\d_]+)?", caption.lower())) for caption in captions]
    inside = Counter(word for number in chosen for word in words[number])
    everywhere = Counter(word for caption in words for word in caption)
    count, rest = len(chosen), len(captions) - len(chosen)
    shared = []
    for word, here in inside.items():
        others = everywhere[word] - here
        first, second = (here + 1) / (count + 2), (others + 1) / (rest + 2)
        deviation = np.sqrt(first * (1 - first) / (count + 2) + second * (1 - second) / (rest + 2))
        shared.append(SharedWord(word, here / count, others / max(rest, 1), float((first - second) / deviation)))
    surest = sorted((entry for entry in shared if entry.z > 1.96), key=lambda entry: (-entry.z, entry.word))
    return surest[:most]
