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
    """Place features on a plane by scikit-learn's t-SNE or by UMAP, both from the principal components.

    Fewer than four points, or points in one place, stay where the principal components have them. The same features,
    settings and versions give the same coordinates on one machine.

    Args:
        metric: "cosine" takes the features at unit length.
        perplexity: of t-SNE; at most a third of the number of points.
        neighbours: of UMAP.
        minimum_distance: of UMAP.
        cache: whether to keep the coordinates under `storage.cache_directory()`.

    Raises:
        ItmlabError: features are not finite, or a setting is out of range.
        MissingPart: UMAP is asked for and umap-learn is not installed.
    """
    if method not in get_args(Method) or metric not in get_args(Metric):
        remedy = 'use "tsne" or "umap", by "cosine" or "euclidean"'
        raise ItmlabError(f"no projection {method!r} by {metric!r}", remedy=remedy)
    if perplexity < 1 or neighbours < 2 or not 0 <= minimum_distance <= 1:
        what = f"perplexity {perplexity}, {neighbours} neighbours, minimum distance {minimum_distance}"
        raise ItmlabError(what, remedy="perplexity from 1, neighbours from 2, the distance between 0 and 1")
    rows = _rows(features, unit=metric == "cosine")
    if len(rows) < 4 or np.ptp(rows, axis=0).max() <= 1e-6:
        return _principal_components(rows)
    own = [perplexity] if method == "tsne" else [neighbours, minimum_distance]
    libraries = [version("scikit-learn"), version("umap-learn") if method == "umap" else ""]
    key = json.dumps([2, method, seed, own, libraries, rows.shape]).encode() + rows.tobytes()
    path = cache_directory() / "projections" / f"{hashlib.sha256(key).hexdigest()[:32]}.npy"
    if cache:
        with suppress(OSError, ValueError, EOFError):  # not there, or not whole
            plane = np.load(path, allow_pickle=False)
            if plane.shape == (len(rows), 2) and np.isfinite(plane).all():
                return plane
    plane = (_tsne if method == "tsne" else _umap)(rows, *own, seed).astype(np.float32)
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
    """Return the first two components, zeros where there are fewer."""
    from sklearn.decomposition import PCA

    plane = np.zeros((len(rows), 2), dtype=np.float32)
    count = min(2, *rows.shape)
    if len(rows) > 1 and np.ptp(rows, axis=0).max() > 1e-6:
        plane[:, :count] = PCA(count, svd_solver="full").fit_transform(rows)
    return plane


def _tsne(rows: Float[ndarray, "point dimension"], perplexity: float, seed: int) -> Plane:
    """Barnes-Hut t-SNE (van der Maaten 2014) on one thread, as threads would add up in another order."""
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
    """UMAP (McInnes et al. 2018); a fixed `random_state` makes it run on one thread."""
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
    """Several sets of features of one space on one map, by name; options as for `project`."""
    if not groups:
        return {}
    sizes = {np.shape(features)[-1] for features in groups.values()}
    if len(sizes) > 1:
        raise ItmlabError(f"features of {' and '.join(map(str, sorted(sizes)))} dimensions share no space")
    plane = project(np.concatenate([_array(features) for features in groups.values()]), method, **options)
    ends = np.cumsum([len(features) for features in groups.values()])
    return dict(zip(groups, np.split(plane, ends[:-1]), strict=True))


def neighbours_kept(features: Features, plane: Plane, k: int = 10, *, metric: Metric = "cosine") -> float:
    """The share of each point's `k` nearest in the features' space that are among its `k` nearest on the map; a mean.

    It says how far a map may be believed; chance is k / (points - 1).

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
    """One model's features of a split, and where they lie on a map that pictures and captions share."""

    features: Embeddings
    images: Plane
    captions: Plane

    def kept(self, k: int = 10) -> float:
        """The share of each point's `k` nearest that are among its nearest on the map too."""
        return neighbours_kept(torch.cat(self.features), np.concatenate([self.images, self.captions]), k)


def embedded(
    models: Mapping[str, Any], data: CaptionSet, method: Method = "tsne", **options: Any
) -> dict[str, Embedded]:
    """The map of each named Run or model over all pictures and captions of a split; options as for `project`.

    Each model has a map of its own, so what lies beside what can be compared, and where it lies cannot. A model that
    does not encode both sides apart is an ItmlabError.
    """
    maps = {}
    for name, run in models.items():
        features = _features(features_apart(run, name), data)
        maps[name] = Embedded(features, **project_together(features._asdict(), method, **options))
    return maps


def _features(model: Any, data: CaptionSet) -> Embeddings:
    """Those made before, or the model's of all pictures and captions."""
    if isinstance(model, Embedded | Embeddings):
        return model.features if isinstance(model, Embedded) else model
    encoder = features_apart(model)
    with evaluating(encoder):
        return embed(encoder, data)


def features_apart(run: Any, name: str | None = None) -> nn.Module:
    """The model of a Run, or the model itself, if it encodes pictures and captions apart; else an ItmlabError."""
    model = model_of(run)
    if not model.encodes_apart:
        what = f"{type(model).__name__} has no features of pictures alone"
        raise ItmlabError(what, where=name, remedy="take a dual encoder")
    return model


def untrained(run: Any) -> nn.Module:
    """The model that a dual encoder Run began from: its configuration, tokeniser and seed, in evaluation mode."""
    if not run.recipe.model.encodes_apart:
        raise ItmlabError(f"{run.recipe.name} is no dual encoder's recipe", where=str(run.directory))
    return build_model(run.recipe.model, run.model.tokenizer, seed=run.recipe.seed).eval()


# A batch as one anchor sees it: its positives, the few hard negatives, the many easy ones, and synthesised ones.


@dataclass(frozen=True, eq=False)
class BatchNeighbourhood:
    """One anchor and the candidates of the other modality that its batch holds, with `index` their numbers in the data.

    `hard` marks the negatives that a triplet loss would learn from: above the positives' mean score less the margin
    (`threshold`). `true` marks the negatives that the world calls true of the anchor, None without a world. Scores
    are cosines. The map holds the anchor, all candidates and what was synthesised.
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
    """The anchor's own picture with all its captions, and `pictures` - 1 others with one caption each, drawn by `seed`.

    `model` is a Run or model, or the Embedded or Embeddings of `data` made before. `synthesis` makes further negatives
    out of the batch's. Options are those of `project`. An anchor that is not there is an ItmlabError.
    """
    by_image = direction == "image"
    anchors = len(data) if by_image else len(data.captions)
    if not 0 <= anchor < anchors:
        raise ItmlabError(f"there is no {direction} number {anchor}", where=data.name, remedy=f"0 to {anchors - 1}")
    features = _features(model, data)
    generator = torch.Generator().manual_seed(seed)
    own = anchor if by_image else int(data.image_of_caption[anchor])
    images, captions = _members(data, own, pictures, generator)
    index, positives = (captions, data.image_of_caption[captions] == own) if by_image else (images, images == own)
    asked, pool = (features.images, features.captions) if by_image else (features.captions, features.images)
    query, candidates = asked[anchor], pool[index]
    scores = candidates @ query
    threshold = float(scores[positives].mean()) - margin
    made = query.new_zeros(0, len(query))
    if synthesis is not None:
        found = synthesis(query[None], candidates, positives[None], generator=generator)
        made = found.features[found.allowed]
    groups = {"anchor": query[None], "candidates": candidates, "synthetic": made}
    planes = project_together(groups, method, seed=seed, **options)
    true = None
    if data.world is not None:
        truth = data.world.truth(None, None)
        true = ((truth[anchor] if by_image else truth[:, anchor])[index] == 1) & ~positives
    hard = ~positives & (scores > threshold)
    found = (index, positives, hard, true, scores, made @ query, threshold)
    return BatchNeighbourhood(anchor, direction, *found, *planes.values())  # the places in the order of the groups


def _members(
    data: CaptionSet, own: int, pictures: int, generator: torch.Generator
) -> tuple[Int64[Tensor, "image"], Int64[Tensor, "caption"]]:
    """The pictures of a batch, the anchor's first, and their captions: all of the first, one drawn of each other."""
    described = torch.tensor([len(captions) > 0 for captions in data.captions_of_image])
    if not described[own]:
        raise ItmlabError(f"image {data.image_ids[own]} has no caption", where=data.name)
    described[own] = False
    others = described.nonzero().flatten()
    others = others[torch.randperm(len(others), generator=generator)[: max(pictures - 1, 0)]]
    owned = [data.captions_of_image[image] for image in others.tolist()]
    drawn = [each[torch.randint(len(each), (1,), generator=generator)] for each in owned]
    return torch.cat([torch.tensor([own]), others]), torch.cat([data.captions_of_image[own], *drawn])


# What some captions have in common that the others have not.


class SharedWord(NamedTuple):
    """A word, its share of the chosen captions and of all others, and the z-score of the difference."""

    word: str
    share: float
    elsewhere: float
    z: float


def shared_words(captions: Sequence[str], chosen: Collection[int], *, most: int = 8) -> list[SharedWord]:
    """Return the words that occur in more of the `chosen` captions (by number) than in the others, the surest first.

    Words are ranked by the z-score of two proportions, each with one caption more that has the word and one that has
    not; listed are those above 1.96. A caption counts a word once.

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
        there = everywhere[word] - here
        first, second = (here + 1) / (count + 2), (there + 1) / (rest + 2)
        deviation = np.sqrt(first * (1 - first) / (count + 2) + second * (1 - second) / (rest + 2))
        shared.append(SharedWord(word, here / count, there / max(rest, 1), float((first - second) / deviation)))
    surest = sorted((entry for entry in shared if entry.z > 1.96), key=lambda entry: (-entry.z, entry.word))
    return surest[:most]
