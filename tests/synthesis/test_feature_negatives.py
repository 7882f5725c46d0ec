"""SynHNC: from features and the truth mask to synthetic negatives, finite and unit-length whatever it is given."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.cluster import KMeans
from torch.nn.functional import normalize

from itmlab.errors import ItmlabError
from itmlab.losses import info_cmr, info_nce, sampled_triplet
from itmlab.synthesis import FeatureNegatives, SynHNC
from itmlab.synthesis.clusters import seeds, squared_distances

from .memory_by_loops import synthetic
from .test_clusters import features


def batch(anchors=10, candidates=None, dimension=16, seed=0, dtype=torch.float32):
    """Anchors, candidates, and a mask in which each image has two captions."""
    candidates = 2 * anchors if candidates is None else candidates
    positives = torch.arange(anchors)[:, None] == torch.arange(candidates) // 2
    queries, points = (features(n, dimension, seed=seed + s, dtype=dtype) for n, s in ((anchors, 1), (candidates, 0)))
    return queries, points, positives


def made(module, queries, points, positives, seed=0) -> FeatureNegatives:
    return module(queries, points, positives, generator=torch.Generator().manual_seed(seed))


@pytest.mark.parametrize("weights", ["least_squares", "identity"])
@pytest.mark.parametrize("sigma", [0.05, 0.1, 0.5, 2.0])
def test_it_is_scikit_learns_clusters_and_numpys_pseudo_inverse(weights, sigma):
    queries, points, positives = batch(16, dtype=torch.float64)
    squared = squared_distances(points, points)
    begin = seeds(squared, ~positives, 5, generator=torch.Generator().manual_seed(0))
    membership = np.full(positives.shape, -1)
    for anchor, mask in enumerate(positives.numpy()):
        means = KMeans(5, init=points[begin[anchor]].numpy(), n_init=1, algorithm="lloyd", tol=0)
        membership[anchor, ~mask] = means.fit(points[~positives[anchor]].numpy()).labels_
    raw = synthetic(queries.numpy(), points.numpy(), membership, 5, sigma, weights, 1e-3)
    found = made(SynHNC(5, sigma, weights), queries, points, positives)
    np.testing.assert_allclose(found.features.numpy(), raw / np.linalg.norm(raw, axis=-1, keepdims=True), atol=1e-8)
    assert found.allowed.all()


def test_nothing_of_an_anchors_own_image_is_in_its_negatives():
    queries, points, positives = batch()
    first = made(SynHNC(4), queries, points, positives)
    for anchor in range(len(queries)):
        changed = torch.where(positives[anchor][:, None], -points.roll(5, 0), points)
        again = made(SynHNC(4), queries, changed, positives)
        assert torch.equal(first.features[anchor], again.features[anchor])


def test_no_gradient_of_the_own_image_either():
    queries, points, positives = batch()
    points.requires_grad_()
    found = made(SynHNC(4, sigma=0.5, detach=False), queries, points, positives)
    found.features[3].sum().backward()
    assert (points.grad[positives[3]] == 0).all() and (points.grad[~positives[3]] != 0).any(1).sum() > 10


def test_detached_it_gives_the_loss_no_gradient_but_the_anchors():
    queries, points, positives = batch()
    queries, points = queries.requires_grad_(), points.requires_grad_()
    found = made(SynHNC(4), queries, points, positives)
    assert not found.features.requires_grad
    found.scores(queries).sum().backward()
    torch.testing.assert_close(queries.grad, found.features.sum(1))
    assert points.grad is None


def test_its_scores_are_cosines():
    queries, points, positives = batch()
    found = made(SynHNC(4), queries, points, positives)
    expected = torch.cosine_similarity(queries[:, None], found.features, dim=-1)
    torch.testing.assert_close(found.scores(queries), expected)


def test_a_cluster_gives_a_negative_at_least_as_hard_as_its_members_are_on_average():
    queries, points, positives = batch(40)
    found = made(SynHNC(6, sigma=0.3), queries, points, positives)
    mean = (queries @ points.T).masked_fill(positives, 0).sum(1) / (~positives).sum(1)
    assert (found.scores(queries).max(1).values > mean).all()


def test_lengths_of_what_comes_in_do_not_matter():
    queries, points, positives = batch(dtype=torch.float64)
    length = torch.rand(len(points), 1, dtype=torch.float64) + 0.5
    first, second = (made(SynHNC(4), q, p, positives) for q, p in ((queries, points), (3 * queries, length * points)))
    torch.testing.assert_close(first.features, second.features)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("weights", ["least_squares", "identity"])
@pytest.mark.parametrize("sigma", [0.01, 0.1, 1.0, 10.0])
def test_in_every_precision_it_is_finite_and_of_unit_length(dtype, weights, sigma):
    queries, points, positives = (value.to(dtype) if value.is_floating_point() else value for value in batch(30))
    found = made(SynHNC(8, sigma, weights), queries, points, positives)
    assert found.features.dtype == dtype and found.allowed.all()
    torch.testing.assert_close(
        found.features.float().norm(dim=-1), torch.ones(30, 8), atol=1e-5 if dtype == torch.float32 else 1e-2, rtol=0
    )


@settings(max_examples=120, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    anchors=st.integers(1, 6),
    candidates=st.integers(0, 24),
    clusters=st.integers(1, 16),
    sigma=st.floats(0.01, 10),
    weights=st.sampled_from(["least_squares", "identity"]),
    dtype=st.sampled_from([torch.float32, torch.bfloat16]),
    equals=st.booleans(),
    zeros=st.booleans(),
)
def test_finite_always(seed, anchors, candidates, clusters, sigma, weights, dtype, equals, zeros):
    """Duplicates, vectors without direction, fewer negatives than clusters, none at all."""
    queries, points, positives = batch(anchors, candidates, 8, seed)
    if equals and candidates:
        points = points[torch.arange(candidates) % 3 % candidates]
        queries = points[torch.arange(anchors) % candidates]
    if zeros:
        points, queries = points * (torch.arange(candidates) % 4 > 0)[:, None], queries * 0
    module = SynHNC(clusters, sigma, weights)
    found = made(module, queries.to(dtype), points.to(dtype), positives, seed)
    assert found.features.shape == (anchors, clusters, 8) and found.features.isfinite().all()
    lengths = found.features.float().norm(dim=-1)
    torch.testing.assert_close(lengths[found.allowed], torch.ones_like(lengths[found.allowed]), atol=1e-2, rtol=0)
    assert (lengths[~found.allowed] == 0).all()
    for anchor in range(anchors):
        different = len({tuple(row) for row in points[~positives[anchor]].tolist()})
        assert found.allowed[anchor].sum() <= min(different, clusters)
        if not zeros and sigma < 0.1:  # wide kernels may recall opposite prototypes that cancel
            assert found.allowed[anchor].any() == bool(different)


def test_the_same_generator_gives_the_same_negatives_and_leaves_the_global_one_alone():
    before = torch.random.get_rng_state()
    given = batch(30)
    first, again, other = (made(SynHNC(8), *given, seed=seed).features for seed in (0, 0, 1))
    assert torch.equal(first, again) and not torch.equal(first, other)
    assert torch.equal(before, torch.random.get_rng_state())


def test_half_precision_around_it_changes_nothing():
    given = batch(30)
    plain = made(SynHNC(8), *given)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        inside = made(SynHNC(8), *given)
    assert torch.equal(plain.features, inside.features)


def test_features_that_are_no_numbers_reach_the_loss_which_names_them():
    queries, points, positives = batch()
    points[3] = torch.nan
    found = made(SynHNC(4), queries, points, positives)
    loss = info_nce(queries @ points.T, positives, queries[:, 0], extra_scores=found.scores(queries))
    assert found.features.shape == (10, 4, 16) and not loss.isfinite()


def test_it_serves_any_loss_that_takes_extra_negatives():
    """Nothing but features, a mask and a generator goes in, and columns with permissions come out."""
    queries, points, positives = batch(8, 8)
    queries.requires_grad_()
    positives = torch.eye(8, dtype=torch.bool)
    scores, matches = queries @ points.T, (queries * points).sum(1)
    found = made(SynHNC(3), queries, points, positives)
    extra = found.scores(queries)
    losses = [
        info_nce(scores, positives, matches, extra_scores=extra),
        info_cmr(scores, positives, matches, synthetic_scores=extra, synthetic_allowed=found.allowed),
        sampled_triplet(matches, extra.masked_fill(~found.allowed, -1).max(1).values, found.allowed.any(1), 0.2),
    ]
    for loss in losses:
        gradient = torch.autograd.grad(loss, queries, retain_graph=True)[0]
        assert gradient.isfinite().all() and gradient.abs().sum() > 0
    assert losses[0] > info_nce(scores, positives, matches)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_on_a_gpu_it_is_what_it_is_on_a_processor(dtype):
    queries, points, positives = batch(64, dimension=64)
    here = made(SynHNC(8, 0.3), queries, points, positives)
    there = made(SynHNC(8, 0.3), queries.cuda().to(dtype), points.cuda().to(dtype), positives.cuda())
    assert there.features.is_cuda and there.features.dtype == dtype and there.features.isfinite().all()
    if dtype == torch.float32:
        torch.testing.assert_close(there.features.cpu(), here.features, atol=1e-3, rtol=0)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"clusters": 0}, "at least one cluster"),
        ({"iterations": 0}, "one iteration"),
        ({"sigma": 0.0}, "sigma must be above 0, not 0"),
        ({"sigma": float("nan")}, "sigma must be above 0, not nan"),
        ({"regularisation": 0.0}, "regularisation must be above 0"),
        ({"weights": "pinv"}, "no weights 'pinv'.*least_squares, identity"),
    ],
)
def test_settings_that_mean_nothing_are_one_line(options, said):
    with pytest.raises(ItmlabError, match=said):
        SynHNC(**options)


def test_shapes_that_do_not_fit_are_one_line():
    queries, points, positives = batch()
    with pytest.raises(ItmlabError, match="one dimension, not"):
        made(SynHNC(), queries, points[:, :5], positives)
    with pytest.raises(ItmlabError, match="10 anchors and 20 candidates, but positives of"):
        made(SynHNC(), queries, points, positives.T)


def test_unit_vectors_are_what_the_tests_use():
    queries, points, _ = batch()
    torch.testing.assert_close(normalize(queries, dim=1), queries)
    torch.testing.assert_close(normalize(points, dim=1), points)
