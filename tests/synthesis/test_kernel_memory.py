"""Kernel associative memories of all anchors and clusters at once, against loops and numpy's pseudo-inverse."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from itmlab.synthesis.clusters import kmeans, squared_distances
from itmlab.synthesis.kernel_memory import associate, recall

from .memory_by_loops import kernel_weights, synthetic
from .test_clusters import features, some


def setting(anchors=12, candidates=30, clusters=4, seed=0, dtype=torch.float64, dimension=6):
    """Anchors, candidates, both kinds of squared distances, and a membership."""
    queries = features(anchors, dimension, seed=seed + 1, dtype=dtype)
    points = features(candidates, dimension, seed=seed, dtype=dtype)
    to_anchor, squared = squared_distances(queries, points), squared_distances(points, points)
    allowed = some(anchors, candidates, seed=seed)
    return queries, points, to_anchor, squared, kmeans(squared, allowed, clusters, generator=torch.Generator())


@pytest.mark.parametrize("weights", ["least_squares", "identity"])
@pytest.mark.parametrize("sigma", [0.01, 0.1, 0.3, 1.0, 10.0])
@pytest.mark.parametrize("regularisation", [1e-3, 1e-6])
def test_it_is_the_pseudo_inverse_and_the_loops(weights, sigma, regularisation):
    queries, points, to_anchor, squared, membership = setting()
    options = {"sigma": sigma, "weights": weights, "regularisation": regularisation}
    found = associate(to_anchor, squared, membership, clusters=4, **options)
    result = recall(points, membership, found.coefficients, clusters=4)
    expected = synthetic(queries.numpy(), points.numpy(), membership.numpy(), 4, **options)
    np.testing.assert_allclose(result.numpy(), expected, atol=1e-8)


@pytest.mark.parametrize("weights", ["least_squares", "identity"])
@pytest.mark.parametrize("sigma", [0.01, 0.1, 1.0, 10.0])
def test_single_precision_is_near_to_double(weights, sigma):
    """Both from the same single-precision features; ε = 10⁻³ bounds what rounding can do."""
    *_, membership = setting(dtype=torch.float32)
    results = []
    for dtype in (torch.float32, torch.float64):
        queries, points = (features(n, seed=s, dtype=torch.float32).to(dtype) for n, s in ((12, 1), (30, 0)))
        distances = squared_distances(queries, points), squared_distances(points, points)
        found = associate(*distances, membership, clusters=4, sigma=sigma, weights=weights)
        results.append(recall(points, membership, found.coefficients, clusters=4).double())
    torch.testing.assert_close(*results, atol=2e-3, rtol=0)


def test_an_anchor_that_is_a_prototype_is_recalled_exactly_by_least_squares_and_not_by_identity():
    """What Eq. 5 asks of W: shown a prototype the memory gives it back, whatever σ."""
    points = features(9)
    squared = squared_distances(points, points)
    membership = torch.zeros(9, 9, dtype=torch.int64)
    for sigma, weights, close in ((0.5, "least_squares", True), (2.0, "least_squares", True), (2.0, "identity", False)):
        found = associate(squared, squared, membership, clusters=1, sigma=sigma, weights=weights, regularisation=1e-12)
        recalled = recall(points, membership, found.coefficients, clusters=1)[:, 0]
        assert torch.allclose(recalled, points, atol=1e-4) == close


def test_identity_weights_are_the_kernels_weighted_mean():
    queries, points, to_anchor, squared, membership = setting()
    found = associate(to_anchor, squared, membership, clusters=4, sigma=0.5, weights="identity")
    mine = points[membership[0] == 2]
    expected = kernel_weights(queries[0].numpy(), mine.T.numpy(), 0.5) @ mine.numpy()
    result = recall(points, membership, found.coefficients, clusters=4)
    np.testing.assert_allclose(result[0, 2].numpy(), expected, atol=1e-12)
    assert torch.equal(found.kernel, found.coefficients)


def test_kernel_weights_sum_to_one_in_each_cluster_and_are_zero_outside_of_all():
    *_, to_anchor, squared, membership = setting()
    kernel = associate(to_anchor, squared, membership, clusters=4, sigma=0.05).kernel
    for cluster in range(4):
        inside = (membership == cluster).any(1)
        torch.testing.assert_close(
            kernel.where(membership == cluster, 0).sum(1)[inside], torch.ones(int(inside.sum()), dtype=kernel.dtype)
        )
    assert (kernel[membership < 0] == 0).all()


def test_a_narrow_kernel_takes_the_nearest_prototype_of_each_cluster_and_a_wide_one_the_mean():
    _, points, to_anchor, squared, membership = setting()
    narrow = associate(to_anchor, squared, membership, clusters=4, sigma=1e-3, weights="identity").coefficients
    wide = associate(to_anchor, squared, membership, clusters=4, sigma=1e3, weights="identity").coefficients
    for cluster in range(4):
        mine = (membership[5] == cluster).nonzero().squeeze(1)
        nearest = mine[to_anchor[5, mine].argmin()]
        assert narrow[5, nearest].item() == pytest.approx(1)
        torch.testing.assert_close(
            recall(points, membership, wide, clusters=4)[5, cluster], points[mine].mean(0), atol=1e-6, rtol=0
        )


def test_a_cluster_of_one_recalls_its_prototype_shrunk_by_the_regularisation():
    points = features(3)
    squared, membership = squared_distances(points, points), torch.tensor([[0, 1, -1]])
    found = associate(squared[2:], squared, membership, clusters=3, regularisation=0.01)
    torch.testing.assert_close(found.coefficients, torch.tensor([[1 / 1.01, 1 / 1.01, 0]], dtype=torch.float64))
    assert (recall(points, membership, found.coefficients, clusters=3)[0, 2] == 0).all()


def test_equal_prototypes_share_what_one_would_get():
    queries, points = features(4, seed=1), features(8)
    once = torch.zeros(4, 8, dtype=torch.int64)
    results = []
    for copies in (1, 3):
        many = points.repeat(copies, 1)
        distances = squared_distances(queries, many), squared_distances(many, many)
        membership = once.repeat(1, copies)
        found = associate(*distances, membership, clusters=1, sigma=0.5, weights="identity")
        results.append(recall(many, membership, found.coefficients, clusters=1))
        solved = associate(*distances, membership, clusters=1, sigma=0.5).coefficients
        expected = synthetic(queries.numpy(), many.numpy(), membership.numpy(), 1, 0.5, "least_squares", 1e-3)
        np.testing.assert_allclose(recall(many, membership, solved, clusters=1).numpy(), expected, atol=1e-8)
    torch.testing.assert_close(*results)


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
    found = associate(to_anchor, squared, membership, clusters=clusters, sigma=sigma, weights=weights)
    result = recall(points, membership, found.coefficients, clusters=clusters).numpy()
    expected = synthetic(queries.numpy(), points.numpy(), membership.numpy(), clusters, sigma, weights, 1e-3)
    np.testing.assert_allclose(result, np.nan_to_num(expected), atol=1e-7)


@pytest.mark.parametrize("weights", ["least_squares", "identity"])
def test_its_gradient_is_that_of_the_linear_system(weights):
    """Conjugate gradients unrolled, against the derivative of a direct solution."""
    queries, points, *_, membership = setting(3, 12, 2)

    def by_system(q, x):
        to_anchor, squared = ((a[:, None] - x).square().sum(-1) for a in (q, x))
        results = []
        for anchor in range(3):
            for cluster in range(2):
                mine = membership[anchor] == cluster
                kernel = (-to_anchor[anchor][mine] / 0.5).softmax(0)
                if weights == "least_squares":
                    between = (-squared[mine][:, mine] / 0.5).exp()
                    normalised = between / between.sum(0) + 1e-3 * torch.eye(len(between), dtype=between.dtype)
                    kernel = torch.linalg.solve(normalised, kernel)
                results.append(kernel @ x[mine])
        return torch.stack(results).reshape(3, 2, -1)

    def ours(q, x):
        found = associate(
            squared_distances(q, x), squared_distances(x, x), membership, clusters=2, sigma=0.5, weights=weights
        )
        return recall(x, membership, found.coefficients, clusters=2)

    gradients = []
    for of in (by_system, ours):
        q, x = queries.clone().requires_grad_(), points.clone().requires_grad_()
        of(q, x).sin().sum().backward()
        gradients.append(torch.cat([q.grad, x.grad]))
    torch.testing.assert_close(*gradients, atol=1e-8, rtol=1e-6)
