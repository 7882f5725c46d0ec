"""Features laid out on a plane, maps of a split by several models, and a batch as one anchor sees it."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from threadpoolctl import threadpool_limits
from torch.nn.functional import normalize
from workshop.analysis.embeddings import (
    batch_neighbourhood,
    neighbours_kept,
    project,
    project_together,
    shared_words,
    untrained,
)

from itmlab.synthesis import SynHNC
from itmlab.train.loop import train
from itmlab.train.scores import Embeddings
from tests.refusals import refused
from tests.train.world import micro, small_world
from tests.workshop.small_world import small_set


@pytest.fixture(autouse=True)
def empty_cache(tmp_path, monkeypatch):
    """The folder of maps that are kept: a new one for each test."""
    monkeypatch.setenv("ITMLAB_CACHE", str(tmp_path))
    return tmp_path / "projections"


def test_untrained_is_what_the_run_began_from(tmp_path):
    still = micro("triplet", optimiser__learning_rate=1e-12)
    run = train(still, small_world(), tmp_path, max_steps=1, progress=False)
    began = untrained(run)
    assert not began.training
    weights = run.model.state_dict()
    assert all(torch.allclose(weight, weights[name], rtol=0, atol=1e-10) for name, weight in began.state_dict().items())


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
        assert np.array_equal(plane, project(features, method, cache=False)), method
        assert np.array_equal(plane, project(2 * features, method)), "cosine does not see the length"


@pytest.mark.parametrize("content", [b"", b"\x93NUMPY garbage", b"\x80\x04K\x00.", None])
def test_a_spoilt_file_or_one_of_another_shape_is_written_anew(empty_cache, content):
    features, _ = clusters()
    first = project(features)
    (file,) = empty_cache.iterdir()
    if content is None:
        np.save(file, first[:-1])
    else:
        file.write_bytes(content)
    assert np.array_equal(project(features), first) and np.array_equal(np.load(file), first)


def test_the_number_of_threads_changes_nothing():
    features, _ = clusters(60)
    with threadpool_limits(1):
        alone = project(features, cache=False)
    with threadpool_limits(2):
        assert np.array_equal(project(features, cache=False), alone)


def test_neighbours_kept_are_counted_point_by_point():
    source = np.random.default_rng(3)
    features, plane = source.normal(size=(25, 4)), source.normal(size=(25, 2)).astype(np.float32)
    shares = []
    for one in range(25):
        others = [other for other in range(25) if other != one]
        near = sorted(others, key=lambda other: np.linalg.norm(features[one] - features[other]))[:6]
        shown = sorted(others, key=lambda other: np.linalg.norm(plane[one] - plane[other]))[:6]
        shares.append(len({*near} & {*shown}) / 6)
    assert neighbours_kept(features, plane, 6, metric="euclidean") == pytest.approx(np.mean(shares))
    assert neighbours_kept(plane, plane, 3, metric="euclidean") == 1


@given(
    features=arrays(np.float32, st.tuples(st.integers(0, 9), st.integers(1, 4)), elements=st.floats(-9, 9, width=32))
)
@settings(max_examples=25, deadline=None)
def test_any_features_have_a_finite_map(features):
    plane = project(features, cache=False)
    assert plane.shape == (len(features), 2) and np.isfinite(plane).all()


def test_features_that_cannot_be_laid_out_are_refused_in_one_line():
    refused("point 1 are not finite", project, torch.tensor([[1.0, 2], [math.nan, 0]]))
    refused(r"\(4,\)", project, np.ones(4))
    refused("2 and 3 dimensions share no space", project_together, {"a": np.ones((4, 2)), "b": np.ones((4, 3))})
    refused("3 points have no 3 neighbours", neighbours_kept, np.eye(3), np.eye(3, 2), 3)


OPTIONS = {"pictures": 10, "perplexity": 3, "cache": False}


def features(images: int = 16, captions: int = 32) -> Embeddings:
    source = torch.Generator().manual_seed(1)
    return Embeddings(*(normalize(torch.randn(n, 6, generator=source), dim=1) for n in (images, captions)))


@pytest.mark.parametrize("direction, anchor", [("image", 5), ("caption", 11)])
def test_positives_hard_and_easy_negatives_are_those_of_the_definition(direction, anchor):
    data, embeddings = small_set(), features()
    batch = batch_neighbourhood(embeddings, data, anchor, direction, margin=0.3, **OPTIONS)
    images, captions = embeddings
    own = anchor if direction == "image" else anchor // 2
    scores, expected = [], []
    for index in batch.index.tolist():
        image, caption = (anchor, index) if direction == "image" else (index, anchor)
        scores.append(float(images[image] @ captions[caption]))
        expected.append((index // 2 if direction == "image" else index) == own)
    positive = [score for score, matches in zip(scores, expected, strict=True) if matches]
    threshold = sum(positive) / len(positive) - 0.3
    assert batch.positives.tolist() == expected and len(positive) == (2 if direction == "image" else 1)
    assert batch.scores.tolist() == pytest.approx(scores, abs=1e-6)
    assert batch.threshold == pytest.approx(threshold, abs=1e-6)
    assert batch.hard.tolist() == [s > threshold and not m for s, m in zip(scores, expected, strict=True)]
    assert len(batch.index.unique()) == len(batch.index) == (11 if direction == "image" else 10)
    assert batch.anchor_place.shape == (1, 2) and batch.places.shape == (len(scores), 2)


def test_the_world_says_which_negatives_are_true():
    data = small_set()
    batch = batch_neighbourhood(features(), data, 4, **OPTIONS)
    colours = [data.captions[index] for index in batch.index.tolist()]
    expected = ["red" in caption and index // 2 != 4 for caption, index in zip(colours, batch.index, strict=True)]
    assert batch.true.tolist() == expected and any(expected)
    data.world = None
    assert batch_neighbourhood(features(), data, 4, **OPTIONS).true is None


def test_synthesised_negatives_lie_on_the_same_map():
    batch = batch_neighbourhood(features(), small_set(), 3, synthesis=SynHNC(clusters=3), **OPTIONS)
    assert batch.synthetic_scores.shape == (3,) and batch.synthetic_places.shape == (3, 2)
    assert (batch.synthetic_scores.abs() <= 1 + 1e-6).all()
    assert len(batch_neighbourhood(features(), small_set(), 3, **OPTIONS).synthetic_scores) == 0


# What some captions have in common.


def test_words_of_the_chosen_captions_come_before_those_of_all():
    rng = np.random.default_rng(0)
    captions = ["a dog and a tree" if dog else "a cat and a tree" for dog in rng.random(300) < 0.2]
    dogs = [index for index, caption in enumerate(captions) if "dog" in caption]
    (dog,) = shared_words(captions, dogs)
    assert (dog.word, dog.share, dog.elsewhere) == ("dog", 1.0, 0.0) and dog.z > 5
    assert shared_words(captions, range(300)) == [] == shared_words(captions, [])
    assert shared_words(captions, rng.permutation(300)[:60].tolist()) == [], "chosen by lot"
