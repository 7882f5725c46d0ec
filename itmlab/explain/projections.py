"""Maps of features: every point on a plane near those that it resembles, computed once and kept."""

import hashlib
import io
import json
import warnings
from collections.abc import Callable, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
import torch
from jaxtyping import Float
from numpy import ndarray
from torch import Tensor

from ..errors import ItmlabError
from ..storage import cache_directory, write_bytes
from .projectors import Plane, tsne, umap

Method = Literal["tsne", "umap"]
PACKAGE = {"tsne": "scikit-learn", "umap": "umap-learn"}
LAYOUT = 1  # of what this module computes: a higher number leaves what was stored before unread


def project(
    features: Float[Tensor, "point dimension"] | Float[ndarray, "point dimension"],
    method: Method = "tsne",
    *,
    metric: Literal["cosine", "euclidean"] = "cosine",
    perplexity: float = 30,
    neighbours: int = 15,
    minimum_distance: float = 0.1,
    seed: int = 0,
    cache: bool = True,
) -> Plane:
    """The features on a plane by t-SNE (with `perplexity`) or UMAP (with `neighbours` and `minimum_distance`).

    By "cosine" they are taken at unit length. The same features, settings and versions give the same coordinates; with
    `cache` these are kept under `storage.cache_directory()` and read back. Features that are not finite, and settings
    out of range, are an ItmlabError.
    """
    if method not in get_args(Method) or metric not in ("cosine", "euclidean"):
        raise ItmlabError(
            f"no projection {method!r} by {metric!r}", remedy='use "tsne" or "umap", by "cosine" or "euclidean"'
        )
    if perplexity < 1 or neighbours < 2 or not 0 <= minimum_distance <= 1:
        raise ItmlabError(
            f"perplexity {perplexity}, {neighbours} neighbours, minimum distance {minimum_distance}",
            remedy="perplexity from 1, neighbours from 2, the distance between 0 and 1",
        )
    rows = _rows(features, unit=metric == "cosine")
    if len(rows) == 0:
        return np.zeros((0, 2), dtype=np.float32)
    settings: dict[str, Any] = {"seed": seed}
    if method == "tsne":
        settings |= {"perplexity": perplexity}
    else:
        settings |= {"neighbours": neighbours, "minimum_distance": minimum_distance}
    if not cache:
        return _compute(method, rows, settings)
    return _kept(_place(method, rows, settings), len(rows), lambda: _compute(method, rows, settings))


def project_together(
    groups: Mapping[str, Float[Tensor, "point dimension"] | Float[ndarray, "point dimension"]],
    method: Method = "tsne",
    **options: Any,
) -> dict[str, Plane]:
    """Several sets of features of one space on one map, by name; options as for `project`."""
    if not groups:
        return {}
    sizes = {np.shape(features)[-1] for features in groups.values()}
    if len(sizes) > 1:
        raise ItmlabError(f"features of {' and '.join(map(str, sorted(sizes)))} dimensions share no space")
    plane = project(np.concatenate([_array(features) for features in groups.values()]), method, **options)
    ends = np.cumsum([len(features) for features in groups.values()])
    return dict(zip(groups, np.split(plane, ends[:-1]), strict=True))


def neighbours_kept(
    features: Float[Tensor, "point dimension"] | Float[ndarray, "point dimension"],
    plane: Plane,
    k: int = 10,
    *,
    metric: Literal["cosine", "euclidean"] = "cosine",
) -> float:
    """The share of each point's `k` nearest in the features' space that are among its `k` nearest on the map; a mean.

    It says how far a map may be believed; chance is k / (points - 1).
    """
    from sklearn.neighbors import NearestNeighbors

    rows = _rows(features, unit=metric == "cosine")
    if not 1 <= k < len(rows):
        raise ItmlabError(f"{len(rows)} points have no {k} neighbours each")
    spaces = (rows, np.asarray(plane, dtype=np.float32))
    near, shown = (
        NearestNeighbors(n_neighbors=k, algorithm="brute").fit(space).kneighbors(return_distance=False)
        for space in spaces
    )
    return float((near[:, :, None] == shown[:, None, :]).any(axis=2).mean())


def _rows(features: Any, *, unit: bool) -> Float[ndarray, "point dimension"]:
    rows = _array(features)
    if rows.ndim != 2:
        raise ItmlabError(f"features of shape {rows.shape} are no (point, dimension)")
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


def _compute(method: Method, rows: Float[ndarray, "point dimension"], settings: dict[str, Any]) -> Plane:
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1):  # threads would add up in another order
        return {"tsne": tsne, "umap": umap}[method](rows, **settings).astype(np.float32)


def _place(method: Method, rows: Float[ndarray, "point dimension"], settings: dict[str, Any]) -> Path:
    """The file of a map: named after everything that decides its coordinates."""
    try:
        package = version(PACKAGE[method])
    except ModuleNotFoundError:  # what was computed elsewhere is not known to be the same
        package = "none"
    said = json.dumps([LAYOUT, method, package, settings, rows.shape], sort_keys=True)
    name = hashlib.sha256(said.encode() + rows.tobytes()).hexdigest()[:32]
    return cache_directory() / "projections" / f"{name}.npy"


def _kept(path: Path, points: int, compute: Callable[[], Plane]) -> Plane:
    """What `path` holds, else what is computed and written there; a spoilt file is written anew."""
    try:
        plane = np.load(path, allow_pickle=False)
        if plane.shape == (points, 2) and plane.dtype == np.float32 and np.isfinite(plane).all():
            return plane
    except (OSError, ValueError, EOFError):
        pass  # not there, or not whole
    plane = compute()
    buffer = io.BytesIO()
    np.save(buffer, plane, allow_pickle=False)
    try:
        write_bytes(path, buffer.getvalue())
    except OSError as error:
        warnings.warn(f"the map is not kept: {path}: {error.strerror or error}", stacklevel=4)
    return plane
