"""Features laid out on a plane, maps of a split by several models, and a batch as one anchor sees it."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from torch.nn.functional import normalize
from workshop.analysis.embeddings import batch_neighbourhood, neighbours_kept, project

from itmlab.synthesis import SynHNC
from itmlab.train.scores import Embeddings
from tests.refusals import refused
from tests.workshop.small_world import small_set


def clusters(points: int = 90, kinds: int = 3) -> tuple[np.ndarray, np.ndarray]:
    """Points about so many far corners, and the corner of each."""
    source = np.random.default_rng(0)
    kind = np.arange(points) % kinds
    return (np.eye(8)[kind] + 0.05 * source.normal(size=(points, 8))).astype(np.float32), kind


def together(plane: np.ndarray, kind: np.ndarray) -> bool:
    """Whether every point's nearest on the plane is of its own kind."""
    distances = np.linalg.norm(plane[:, None] - plane[None], axis=2)
    np.fill_diagonal(distances, np.inf)
    return bool((kind[distances.argmin(axis=1)] == kind).all())


def test_both_methods_lay_like_beside_like():
    pytest.importorskip("umap", reason="umap-learn is not installed (pip install umap-learn)")
    features, kind = clusters()
    for method in ("tsne", "umap"):
        plane = project(features, method)
        assert plane.shape == (90, 2) and plane.dtype == np.float32 and together(plane, kind), method
        assert np.array_equal(plane, project(2 * features, method)), "by chance, or by the length of the features"


def test_a_map_is_read_from_the_cache_and_a_damaged_one_made_again(tmp_path, monkeypatch):
    monkeypatch.setenv("ITMLAB_CACHE", str(tmp_path))
    features, _ = clusters()
    plane = project(features)
    (kept,) = (tmp_path / "maps").iterdir()
    np.save(kept, plane + 1)
    assert np.array_equal(project(features), plane + 1)
    kept.write_bytes(b"damaged")
    assert np.array_equal(project(features), plane) and np.array_equal(np.load(kept), plane)


def test_neighbours_kept_are_counted_point_by_point():
    source = np.random.default_rng(3)
    features, plane = (
        normalize(torch.tensor(source.normal(size=(25, 4)))).numpy(),
        source.normal(size=(25, 2)).astype(np.float32),
    )
    shares = []
    for entry in range(25):
        others = [other for other in range(25) if other != entry]
        near = sorted(others, key=lambda other: np.linalg.norm(features[entry] - features[other]))[:6]
        shown = sorted(others, key=lambda other: np.linalg.norm(plane[entry] - plane[other]))[:6]
        shares.append(len({*near} & {*shown}) / 6)
    assert neighbours_kept(features, plane, 6) == pytest.approx(np.mean(shares))
    assert neighbours_kept(features, features, 3) == 1


@given(
    features=arrays(np.float32, st.tuples(st.integers(0, 9), st.integers(1, 4)), elements=st.floats(-9, 9, width=32))
)
@settings(max_examples=25, deadline=None)
def test_any_features_have_a_finite_map(features):
    plane = project(features)
    assert plane.shape == (len(features), 2) and np.isfinite(plane).all()


def features(images: int = 16, captions: int = 32) -> Embeddings:
    source = torch.Generator().manual_seed(1)
    return Embeddings(*(normalize(torch.randn(n, 6, generator=source), dim=1) for n in (images, captions)))


def test_features_that_cannot_be_laid_out_are_refused_in_one_line():
    refused("point 1 are not finite", project, torch.tensor([[1.0, 2], [math.nan, 0]]))


@pytest.mark.parametrize("direction, anchor", [("image", 4), ("caption", 11)])
def test_positives_hard_and_true_negatives_are_those_of_the_definition(direction, anchor):
    data, (images, captions) = small_set(), features()
    batch = batch_neighbourhood(features(), data, anchor, direction, synthesis=SynHNC(clusters=3))
    own_values = anchor if direction == "image" else anchor // 2
    pairs = [(anchor, index) if direction == "image" else (index, anchor) for index in batch.index.tolist()]
    scores = torch.tensor([float(images[image] @ captions[caption]) for image, caption in pairs])
    expected = torch.tensor(
        [(caption if direction == "image" else 2 * image) // 2 == own_values for image, caption in pairs]
    )
    assert batch.positives.equal(expected) and len(batch.index.unique()) == len(pairs) == 15 + int(expected.sum())
    assert batch.hard.equal((scores > scores[expected].mean() - 0.2) & ~expected)
    truth = data.world.truth()
    assert batch.true.tolist() == [
        int(truth[pair]) == 1 and not own_values for pair, own_values in zip(pairs, expected, strict=True)
    ]
    assert batch.anchor_place.shape == (1, 2) and batch.synthetic_places.shape == (3, 2)
