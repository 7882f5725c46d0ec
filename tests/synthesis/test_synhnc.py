"""SynHNC: its clusters against scikit-learn's, its memories against numpy's pseudo-inverse, one anchor at a time."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.cluster import KMeans
from torch.nn.functional import normalize

from itmlab.errors import ItmlabError
from itmlab.synthesis import FeatureNegatives, SynHNC
from itmlab.synthesis.synhnc import associate, kmeans, lloyd, recall, seeds, squared_distances, synthetic_negative
from tests.synthesis.memory_by_loops import synthetic
from tests.synthesis.negatives_data import seeded

BOTH_WEIGHTS = pytest.mark.parametrize("weights", ["least_squares", "identity"])


def features(number, dimension=6, seed=0, groups=5, dtype=torch.float64):
    """Unit vectors in a few loose groups."""
    generator = seeded(seed)
    centres = torch.randn(groups, dimension, generator=generator, dtype=torch.float64)
    chosen = torch.randint(groups, (number,), generator=generator)
    noise = torch.randn(number, dimension, generator=generator, dtype=torch.float64)
    return normalize(centres[chosen] + 0.4 * noise, dim=1).to(dtype)


def some(anchors, candidates, seed=0, share=0.8):
    return torch.rand(anchors, candidates, generator=seeded(seed)) < share


def batch(anchors=10, candidates=None, dimension=16, seed=0, dtype=torch.float32):
    """Anchors, candidates, and a mask in which each image has two captions."""
    candidates = 2 * anchors if candidates is None else candidates
    positives = torch.arange(anchors)[:, None] == torch.arange(candidates) // 2
    queries, points = (features(n, dimension, seed=seed + s, dtype=dtype) for n, s in ((anchors, 1), (candidates, 0)))
    return queries, points, positives


def made(module, queries, points, positives, seed=0) -> FeatureNegatives:
    return module(queries, points, positives, generator=seeded(seed))


def setting(anchors=12, candidates=30, clusters=4, seed=0, dtype=torch.float64, dimension=6):
    """Anchors, candidates, both kinds of squared distances, and a membership."""
    queries = features(anchors, dimension, seed=seed + 1, dtype=dtype)
    points = features(candidates, dimension, seed=seed, dtype=dtype)
    to_anchor, squared = squared_distances(queries, points), squared_distances(points, points)
    allowed = some(anchors, candidates, seed=seed)
    return queries, points, to_anchor, squared, kmeans(squared, allowed, clusters, generator=torch.Generator())


# The clusters.


def scikit_learns_clusters(points, begin, **options):
    means = KMeans(len(begin), init=begin.numpy(), n_init=1, algorithm="lloyd", tol=0, **options)
    return means.fit(points.numpy()).labels_


@pytest.mark.parametrize("clusters", [1, 2, 5, 8])
def test_from_the_same_seeds_it_finds_scikit_learns_clusters(clusters):
    points, allowed = features(60), some(25, 60)
    squared = squared_distances(points, points)
    begin = seeds(squared, allowed, clusters, generator=seeded(1))
    outcome = lloyd(squared, allowed, begin, iterations=100)
    for anchor in range(25):
        mine = points[allowed[anchor]]
        assert (outcome[anchor][allowed[anchor]].numpy() == scikit_learns_clusters(mine, points[begin[anchor]])).all()


def test_an_anchors_clusters_do_not_depend_on_the_other_anchors():
    points, allowed = features(40), some(10, 40)
    squared = squared_distances(points, points)
    begin = seeds(squared, allowed, 4, generator=seeded())
    together = lloyd(squared, allowed, begin)
    alone = torch.cat([lloyd(squared, allowed[row : row + 1], begin[row : row + 1]) for row in range(10)])
    assert torch.equal(together, alone)


def test_seeds_are_drawn_in_proportion_to_squared_distance():
    squared = torch.tensor([[0.0, 1.0, 3.0], [1.0, 0.0, 4.0], [3.0, 4.0, 0.0]])
    drawn = seeds(squared, torch.ones(30_000, 3, dtype=torch.bool), 2, generator=seeded())
    assert drawn[:, 0].bincount(minlength=3).tolist() == pytest.approx([10_000] * 3, rel=0.03)
    second = drawn[drawn[:, 0] == 0, 1].bincount(minlength=3) / (drawn[:, 0] == 0).sum()
    assert second.tolist() == pytest.approx([0, 1 / 4, 3 / 4], abs=0.02)


# The memories, and what they recall.


@settings(max_examples=80, deadline=None)
@given(
    st.integers(0, 10**6),
    st.integers(1, 40),
    st.integers(1, 9),
    st.floats(0.01, 10),
    st.sampled_from(["least_squares", "identity"]),
)
def test_it_is_the_loops_whatever_the_numbers(seed, candidates, clusters, sigma, weights):
    queries, points, to_anchor, squared, membership = setting(3, candidates, clusters, seed)
    outcome = associate(to_anchor, squared, membership, clusters=clusters, sigma=sigma, weights=weights)
    result = recall(points, membership, outcome.coefficients, clusters=clusters).numpy()
    expected = synthetic(queries.numpy(), points.numpy(), membership.numpy(), clusters, sigma, weights, 1e-3)
    np.testing.assert_allclose(result, np.nan_to_num(expected), atol=1e-7)
    first = points[membership[0] == 0]  # the equations as printed, which invert K + εI for one cluster
    if len(first):
        printed = synthetic_negative(queries[0], first, sigma=sigma, weights=weights)
        np.testing.assert_allclose(result[0, 0], printed, atol=1e-7)


# All of it, as a loss is given it.


def test_nothing_of_an_anchors_own_image_is_in_its_negatives():
    queries, points, positives = batch()
    first = made(SynHNC(4), queries, points, positives)
    for anchor in range(len(queries)):
        changed = torch.where(positives[anchor][:, None], -points.roll(5, 0), points)
        again = made(SynHNC(4), queries, changed, positives)
        assert torch.equal(first.features[anchor], again.features[anchor])


def test_detached_it_gives_the_loss_no_gradient_but_the_anchors():
    queries, points, positives = batch()
    queries, points = queries.requires_grad_(), points.requires_grad_()
    outcome = made(SynHNC(4), queries, points, positives)
    assert not outcome.features.requires_grad
    outcome.scores(queries).sum().backward()
    torch.testing.assert_close(queries.grad, outcome.features.sum(1))
    assert points.grad is None


@settings(max_examples=120, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    anchors=st.integers(1, 6),
    candidates=st.integers(0, 24),
    clusters=st.integers(1, 16),
    sigma=st.floats(0.01, 10) | st.sampled_from([1e-6, 1e6]),
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
    outcome = made(module, queries.to(dtype), points.to(dtype), positives, seed)
    assert outcome.features.shape == (anchors, clusters, 8) and outcome.features.isfinite().all()
    lengths = outcome.features.float().norm(dim=-1)
    torch.testing.assert_close(lengths[outcome.allowed], torch.ones_like(lengths[outcome.allowed]), atol=1e-2, rtol=0)
    assert (lengths[~outcome.allowed] == 0).all()
    for anchor in range(anchors):
        different = len({tuple(row) for row in points[~positives[anchor]].tolist()})
        assert outcome.allowed[anchor].sum() <= min(different, clusters)
        if not zeros and sigma < 0.1:  # wide kernels may recall opposite prototypes that cancel
            assert outcome.allowed[anchor].any() == bool(different)


@BOTH_WEIGHTS
@pytest.mark.parametrize("sigma", [1e-6, 1e-3, 1e6])
def test_at_the_ends_of_sigma_there_are_negatives_and_gradients_are_finite(sigma, weights):
    queries, points, positives = batch(6)
    points[3] = points[4]  # equals, and one that is almost the same
    points[5] = normalize(points[4] + 2e-6, dim=0)
    inputs = queries.requires_grad_(), points.requires_grad_()
    outcome = made(SynHNC(3, sigma, weights, detach=False), *inputs, positives)
    outcome.scores(queries).square().sum().backward()
    assert outcome.allowed.all() and all(side.grad.isfinite().all() for side in inputs)


def test_the_same_generator_gives_the_same_negatives_and_leaves_the_global_one_alone():
    before = torch.random.get_rng_state()
    inputs = batch(30)
    first, again, other = (made(SynHNC(8), *inputs, seed=seed).features for seed in (0, 0, 1))
    assert torch.equal(first, again) and not torch.equal(first, other)
    assert torch.equal(before, torch.random.get_rng_state())


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("clusters", 0), ("regularisation", 0.0), ("weights", "pinv"),
        *(("sigma", value) for value in (0.0, float("nan"), 1e-30, 1e200)),
    ],
)  # fmt: skip
def test_settings_that_mean_nothing_are_one_line(name, value):
    with pytest.raises(ItmlabError, match=name):
        SynHNC(**{name: value})
