"""Features laid out on a plane: t-SNE, UMAP, and the principal components that both begin from.

One thread, a seed and a start without chance: the same features give the same map again on the same machine.
"""

import warnings
from contextlib import suppress

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from ..errors import MissingPart

Plane = Float[ndarray, "point 2"]
ITERATIONS = 750  # of t-SNE, a quarter of them exaggerated; scikit-learn's 1000 gains 2 % in divergence at 5,000 points
COMPILED_ANEW = ("smooth_knn_dist", "compute_membership_strengths")  # by umap-learn in each process, for seconds
EPOCHS = 200  # of UMAP, as umap-learn itself takes above 10,000 points


def principal_components(features: Float[ndarray, "point dimension"]) -> Plane:
    """The two directions in which the features spread most, each with the sign that makes its largest weight positive.

    A direction in which nothing spreads is 0.
    """
    centred = features.astype(np.float64) - features.mean(axis=0, dtype=np.float64)
    _, values, directions = np.linalg.svd(centred.T @ centred)
    plane = np.zeros((len(features), 2))
    for axis, direction in enumerate(directions[:2]):
        if values[axis] > 1e-9 * max(values[0], 1e-300):
            plane[:, axis] = centred @ direction * np.sign(direction[np.abs(direction).argmax()])
    return plane


def tsne(features: Float[ndarray, "point dimension"], *, perplexity: float, seed: int) -> Plane:
    """Barnes-Hut t-SNE (van der Maaten 2014) from the principal components; perplexity is at most a third of the rest.

    Fewer than four points, or points without spread, stay as the principal components have them.
    """
    start = principal_components(features)
    if len(features) < 4 or not start.any():
        return start
    from sklearn.manifold import TSNE

    method = TSNE(
        perplexity=min(perplexity, (len(features) - 1) / 3),
        init=_start(start, 1e-4 / start[:, 0].std(), seed),
        max_iter=ITERATIONS,
        random_state=seed,
        n_jobs=1,
    )
    return method.fit_transform(features)


def umap(features: Float[ndarray, "point dimension"], *, neighbours: int, minimum_distance: float, seed: int) -> Plane:
    """UMAP (McInnes et al. 2018) over exact neighbours from the principal components.

    Fewer than four points, or points without spread, stay as the principal components have them. Without umap-learn it
    is a MissingPart.
    """
    start = principal_components(features)
    if len(features) < 4 or not start.any():
        return start
    from sklearn.neighbors import NearestNeighbors

    count = min(neighbours, len(features) - 1)
    distances, nearest = NearestNeighbors(n_neighbors=count, algorithm="brute").fit(features).kneighbors(features)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that a seed means one thread, which is what is wanted
        try:
            from umap import UMAP, umap_
        except ImportError:
            raise MissingPart("umap-learn", "pip install umap-learn", needed_for="UMAP") from None
        for name in COMPILED_ANEW:
            with suppress(AttributeError, RuntimeError):  # another version; nowhere to write
                getattr(umap_, name).enable_caching()
        method = UMAP(
            n_neighbors=count,
            min_dist=minimum_distance,
            init=_start(start, 10 / np.abs(start).max(), seed),
            n_epochs=EPOCHS,
            precomputed_knn=(nearest, distances),
            random_state=seed,
            n_jobs=1,
        )
        return method.fit_transform(features)


def _start(plane: Plane, scale: float, seed: int) -> Plane:
    """The plane at a scale, stirred a little: from a straight line, or from one place, neither method could move on."""
    noise = np.random.default_rng(seed).normal(size=plane.shape) * np.abs(plane).max() * 1e-4
    return ((plane + noise) * scale).astype(np.float32)
