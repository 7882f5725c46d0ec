"""Features laid out on a plane, maps of a split by several models, and a batch as one anchor sees it."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.decomposition import PCA
from sklearn.manifold import TSNE
from threadpoolctl import threadpool_limits
from torch import nn
from torch.nn.functional import normalize

from itmlab.errors import MissingPart
from itmlab.models import CrossEncoderConfig
from itmlab.runs.scores import Embeddings
from itmlab.studies.maps import embeddings
from itmlab.studies.maps.embeddings import (
    COMPILED_ANEW,
    BatchNeighbourhood,
    Embedded,
    batch_neighbourhood,
    embedded,
    neighbours_kept,
    principal_components,
    project,
    project_together,
    shared_words,
    tsne,
    untrained,
)
from itmlab.synthesis import SynHNC
from itmlab.training.loop import train
from tests.refusals import refused
from tests.studies.small_world import small_set
from tests.training.world import micro, small_world


@pytest.fixture(autouse=True)
def empty_cache(tmp_path, monkeypatch):
    """The folder of maps that are kept: a new one for each test."""
    monkeypatch.setenv("ITMLAB_CACHE", str(tmp_path))
    return tmp_path / "projections"


def test_each_model_has_a_map_that_pictures_and_captions_share(tiny):
    maps = embedded({"one": tiny, "same": tiny}, small_set(), perplexity=5)
    one, same = maps.values()
    assert list(maps) == ["one", "same"]
    assert one.images.shape == (16, 2) and one.captions.shape == (32, 2)
    assert torch.allclose(one.features.images.norm(dim=1), torch.ones(16), atol=1e-5)
    assert np.array_equal(one.images, same.images) and np.array_equal(one.captions, same.captions)
    both = np.concatenate([one.images, one.captions])
    assert one.kept(5) == neighbours_kept(torch.cat(one.features), both, 5)


@pytest.mark.parametrize("rows", [7, 1024])
def test_mixed_is_counted_point_by_point(monkeypatch, rows):
    monkeypatch.setattr(embeddings, "ROWS", rows)
    source = torch.Generator().manual_seed(0)
    features = Embeddings(*(nn.functional.normalize(torch.randn(n, 3, generator=source), dim=1) for n in (9, 14)))
    both, other = torch.cat(features), 0
    for one in range(23):
        nearest = max((each for each in range(23) if each != one), key=lambda each: float(both[one] @ both[each]))
        other += (nearest < 9) != (one < 9)
    maps = Embedded(features, np.zeros((9, 2)), np.zeros((14, 2)))
    assert maps.mixed() == pytest.approx(other / 23)


def test_what_lies_apart_is_not_mixed():
    features = Embeddings(torch.eye(4)[:1].expand(5, 4), torch.eye(4)[1:2].expand(6, 4))
    assert Embedded(features, np.zeros((5, 2)), np.zeros((6, 2))).mixed() == 0


def test_a_model_that_only_scores_pairs_is_refused_in_one_line():
    refused("tower: Linear has no features of pictures alone", embedded, {"tower": nn.Linear(1, 1)}, small_set())


def test_untrained_is_what_the_run_began_from(tmp_path):
    still = micro("triplet", optimiser__learning_rate=1e-12)
    run = train(still, small_world(), tmp_path, max_steps=1, progress=False)
    began = untrained(run)
    assert not began.training
    weights = run.model.state_dict()
    assert all(torch.allclose(weight, weights[name], rtol=0, atol=1e-10) for name, weight in began.state_dict().items())


def test_what_a_cross_encoder_began_from_is_refused_in_one_line():
    run = SimpleNamespace(recipe=SimpleNamespace(model=CrossEncoderConfig.tiny(), name="tags"), directory="runs/one")
    refused("runs/one: tags is no dual encoder's recipe", untrained, run)


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


def divergence(features: np.ndarray, plane: np.ndarray, perplexity: float) -> float:
    """KL(P || Q) point by point (van der Maaten and Hinton 2008, Eq. 1 to 5; each bandwidth by bisection)."""
    count = len(features)
    conditional = np.zeros((count, count))
    for one in range(count):
        squared = ((features - features[one]).astype(np.float64) ** 2).sum(axis=1)
        squared[one] = np.inf
        lowest, highest = 1e-9, 1e9
        for _ in range(200):
            precision = math.sqrt(lowest * highest)
            weights = np.exp(-precision * (squared - squared.min()))
            share = weights / weights.sum()
            entropy = -sum(p * math.log(p) for p in share if p > 0)
            lowest, highest = (precision, highest) if entropy > math.log(perplexity) else (lowest, precision)
        conditional[one] = share
    joint = (conditional + conditional.T) / (2 * count)
    near = 1 / (1 + ((plane[:, None] - plane[None]) ** 2).sum(axis=2))
    np.fill_diagonal(near, 0)
    near /= near.sum()
    return sum(p * math.log(p / q) for p, q in zip(joint.flat, near.flat, strict=True) if p > 0)


def test_both_methods_lay_like_beside_like():
    pytest.importorskip("umap", reason="umap-learn is not installed (pip install umap-learn)")
    features, kind = clusters()
    for method in ("tsne", "umap"):
        plane = project(features, method)
        assert plane.shape == (90, 2) and plane.dtype == np.float32 and together(plane, kind), method
        assert np.array_equal(plane, project(features, method, cache=False)), method


def test_tsne_diverges_as_little_as_the_exact_method_of_scikit_learn():
    features = np.random.default_rng(1).normal(size=(60, 5)).astype(np.float32)
    ours = tsne(features, perplexity=10, seed=0)
    exact = TSNE(perplexity=10, method="exact", random_state=0).fit_transform(features)
    reference = divergence(features, exact.astype(np.float64), 10)
    assert divergence(features, ours.astype(np.float64), 10) < 1.1 * reference
    assert reference < 0.6 * divergence(features, principal_components(features), 10)


def test_principal_components_are_those_of_scikit_learn_up_to_sign():
    features = np.random.default_rng(2).normal(size=(40, 6)) * [5, 3, 1, 1, 1, 1]
    ours, theirs = principal_components(features), PCA(2).fit_transform(features)
    assert np.allclose(ours * np.sign((ours * theirs).sum(axis=0)), theirs, atol=1e-9)
    assert np.allclose(principal_components(np.ones((5, 3))), 0)


def test_a_map_is_read_back_and_not_computed_again(empty_cache, monkeypatch):
    features, _ = clusters()
    first = project(features)
    assert len(list(empty_cache.iterdir())) == 1
    monkeypatch.setattr(embeddings, "_compute", lambda *arguments: pytest.fail("computed again"))
    assert np.array_equal(project(torch.tensor(features)), first)


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


def test_features_and_settings_each_have_a_map_of_their_own(empty_cache):
    features, _ = clusters(30)
    project(features)
    project(features, perplexity=5)
    project(features, seed=1)
    project(features, metric="euclidean")
    project(features + np.eye(30, 8, dtype=np.float32))
    assert len(list(empty_cache.iterdir())) == 5


def test_cosine_does_not_see_the_length_of_features(empty_cache):
    features, _ = clusters(30)
    features = np.round(features * 64) / 64  # so that doubling and norms are exact
    assert np.array_equal(project(features), project(2 * features))
    assert len(list(empty_cache.iterdir())) == 1


def test_where_nothing_can_be_kept_one_line_says_so(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("ITMLAB_CACHE", str(tmp_path / "file"))
    with pytest.warns(UserWarning, match="file: nothing is kept here"):
        assert project(clusters(12)[0]).shape == (12, 2)


def test_the_number_of_threads_changes_nothing():
    features, _ = clusters(60)
    with threadpool_limits(1):
        alone = project(features, cache=False)
    with threadpool_limits(2):
        assert np.array_equal(project(features, cache=False), alone)


def test_groups_share_a_map():
    features, kind = clusters()
    groups = {"a": features[:50], "none": features[:0], "b": torch.tensor(features[50:])}
    planes = project_together(groups)
    assert [len(plane) for plane in planes.values()] == [50, 0, 40]
    assert together(np.concatenate(list(planes.values())), kind)
    assert project_together({}) == {}


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


@pytest.mark.parametrize("count", [1, 2, 3, 4, 7])
def test_umap_of_few_equal_or_aligned_points_is_finite(count):
    pytest.importorskip("umap", reason="umap-learn is not installed (pip install umap-learn)")
    for features in (np.ones((count, 3)), np.arange(count)[:, None] * np.ones((1, 3)), np.eye(count)):
        plane = project(features, "umap", metric="euclidean", cache=False)
        assert plane.shape == (count, 2) and np.isfinite(plane).all()


@pytest.mark.parametrize(
    "said, options",
    [
        ("no projection 'pca'", {"method": "pca"}),
        ("no projection 'tsne' by 'manhattan'", {"metric": "manhattan"}),
        ("perplexity 0", {"perplexity": 0}),
        ("1 neighbours", {"neighbours": 1}),
        ("minimum distance -1", {"minimum_distance": -1}),
    ],
)
def test_settings_out_of_range_are_refused_in_one_line(said, options):
    refused(said, project, np.eye(5), **options)


def test_features_that_cannot_be_laid_out_are_refused_in_one_line():
    refused("point 1 are not finite", project, torch.tensor([[1.0, 2], [math.nan, 0]]))
    refused(r"shape \(4,\)", project, np.ones(4))
    refused("2 and 3 dimensions share no space", project_together, {"a": np.ones((4, 2)), "b": np.ones((4, 3))})
    refused("3 points have no 3 neighbours", neighbours_kept, np.eye(3), np.eye(3, 2), 3)


def test_what_umap_compiles_is_kept_for_other_processes():
    project(torch.randn(8, 3, generator=torch.Generator().manual_seed(0)), "umap", cache=False)
    from umap import umap_

    for name in COMPILED_ANEW:
        assert getattr(umap_, name).stats.cache_path, f"{name} is compiled anew in each process"


def test_without_umap_learn_the_command_that_brings_it_is_named(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "umap", None)
    with pytest.raises(MissingPart, match="pip install umap-learn"):
        project(clusters(12)[0], "umap", cache=False)


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


def test_the_seed_alone_draws_the_batch():
    first, again, other = (batch_neighbourhood(features(), small_set(), 0, seed=seed, **OPTIONS) for seed in (0, 0, 1))
    assert torch.equal(first.index, again.index) and (first.places == again.places).all()
    assert not torch.equal(first.index, other.index)


def test_a_batch_larger_than_the_data_is_all_of_it(tiny):
    batch = batch_neighbourhood(tiny, small_set(), 0, **{**OPTIONS, "pictures": 500})
    assert isinstance(batch, BatchNeighbourhood) and len(batch.index) == 17


def test_an_anchor_that_is_not_there_is_refused_in_one_line():
    refused("no image number 16 — 0 to 15", batch_neighbourhood, features(), small_set(), 16)
    refused("no caption number -1 — 0 to 31", batch_neighbourhood, features(), small_set(), -1, "caption")


# What some captions have in common.


def test_words_of_the_chosen_captions_come_before_those_of_all():
    rng = np.random.default_rng(0)
    captions = ["a dog and a tree" if dog else "a cat and a tree" for dog in rng.random(300) < 0.2]
    dogs = [index for index, caption in enumerate(captions) if "dog" in caption]
    (dog,) = shared_words(captions, dogs)
    assert (dog.word, dog.share, dog.elsewhere) == ("dog", 1.0, 0.0) and dog.z > 5
    assert shared_words(captions, range(300)) == [] == shared_words(captions, [])
    assert shared_words(captions, rng.permutation(300)[:60].tolist()) == [], "chosen by lot"


def test_the_z_score_is_that_of_the_posterior_log_odds():
    captions = ["red"] * 30 + ["blue"] * 70
    (red,) = shared_words(captions, range(10, 35))  # 20 of 25 here, 10 of 75 elsewhere
    prior = embeddings.PRIOR * 31 / 102
    drawn = np.random.default_rng(0)
    sides = [drawn.beta(yes + prior, no + embeddings.PRIOR - prior, 200_000) for yes, no in ((20, 5), (10, 65))]
    apart = np.subtract(*(np.log(side / (1 - side)) for side in sides))
    assert red.z == pytest.approx(apart.mean() / apart.std(), rel=0.05)


def test_a_word_counts_once_a_caption_whatever_its_case():
    found = shared_words(["Dog dog DOG"] * 9 + ["dog's dog", *["cat"] * 20], range(10))
    assert [(each.word, each.share) for each in found] == [("dog", 1.0)]
