"""SynHNC: its clusters against scikit-learn's, its memories against numpy's pseudo-inverse, one anchor at a time."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.cluster import KMeans
from torch.nn.functional import normalize

from itmlab.errors import ItmlabError
from itmlab.losses import InfoCMR, InfoNCE, TripletLoss
from itmlab.synthesis import FeatureNegatives, SynHNC
from itmlab.synthesis.synhnc import associate, kmeans, lloyd, recall, seeds, squared_distances, synthetic_negative
from tests.synthesis.memory_by_loops import kernel_weights, synthetic
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
    found = lloyd(squared, allowed, begin, iterations=100)
    for anchor in range(25):
        mine = points[allowed[anchor]]
        assert (found[anchor][allowed[anchor]].numpy() == scikit_learns_clusters(mine, points[begin[anchor]])).all()


def test_it_stops_where_scikit_learn_stops_after_as_many_iterations():
    points, allowed = features(80, groups=1), torch.ones(1, 80, dtype=torch.bool)
    squared = squared_distances(points, points)
    begin = seeds(squared, allowed, 6, generator=seeded(1))
    results = [lloyd(squared, allowed, begin, iterations=number) for number in (1, 3)]
    assert not torch.equal(*results)
    for number, found in zip((1, 3), results, strict=True):
        assert (found[0].numpy() == scikit_learns_clusters(points, points[begin[0]], max_iter=number)).all()


def test_what_is_not_allowed_is_in_no_cluster_and_moves_none():
    points, allowed = features(40), some(10, 40)
    elsewhere = torch.where(allowed[3][:, None], points, features(40, seed=9))  # anchor 3 sees no difference
    results = []
    for given_points in (points, elsewhere):
        squared = squared_distances(given_points, given_points)
        results.append(kmeans(squared, allowed, 4, generator=seeded()))
    assert torch.equal(results[0] < 0, ~allowed)
    assert torch.equal(results[0][3], results[1][3])


def test_an_anchors_clusters_do_not_depend_on_the_other_anchors():
    points, allowed = features(40), some(10, 40)
    squared = squared_distances(points, points)
    begin = seeds(squared, allowed, 4, generator=seeded())
    together = lloyd(squared, allowed, begin)
    alone = torch.cat([lloyd(squared, allowed[row : row + 1], begin[row : row + 1]) for row in range(10)])
    assert torch.equal(together, alone)


def test_the_same_generator_gives_the_same_clusters_and_another_one_others():
    points, allowed = features(60, groups=1), some(10, 60)
    squared = squared_distances(points, points)
    first, again, other = (kmeans(squared, allowed, 5, generator=seeded(n)) for n in (0, 0, 1))
    assert torch.equal(first, again) and not torch.equal(first, other)


def test_seeds_are_drawn_in_proportion_to_squared_distance():
    squared = torch.tensor([[0.0, 1.0, 3.0], [1.0, 0.0, 4.0], [3.0, 4.0, 0.0]])
    drawn = seeds(squared, torch.ones(30_000, 3, dtype=torch.bool), 2, generator=seeded())
    assert drawn[:, 0].bincount(minlength=3).tolist() == pytest.approx([10_000] * 3, rel=0.03)
    second = drawn[drawn[:, 0] == 0, 1].bincount(minlength=3) / (drawn[:, 0] == 0).sum()
    assert second.tolist() == pytest.approx([0, 1 / 4, 3 / 4], abs=0.02)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_equals_begin_no_second_cluster(dtype):
    points = features(5, dtype=dtype).repeat(8, 1)
    squared = squared_distances(points, points)
    begin = seeds(squared, torch.ones(20, 40, dtype=torch.bool), 8, generator=seeded())
    assert (begin[:, 5:] == -1).all()
    assert all(len(set((row[:5] % 5).tolist())) == 5 for row in begin)
    found = lloyd(squared, torch.ones(20, 40, dtype=torch.bool), begin)
    assert all(len(set(found[:, first::5].flatten().tolist())) <= 5 for first in range(5)) and (found < 5).all()


def test_fewer_candidates_than_clusters_are_one_each_and_none_has_none():
    points = features(6)
    allowed = torch.tensor([[True, True, True, False, False, False], [False] * 6])
    found = kmeans(squared_distances(points, points), allowed, 5, generator=seeded())
    assert sorted(found[0, :3].tolist()) == [0, 1, 2] and (found[0, 3:] == -1).all()
    assert (found[1] == -1).all()
    nobody = kmeans(torch.zeros(0, 0), torch.zeros(2, 0, dtype=torch.bool), 5, generator=torch.Generator())
    assert nobody.shape == (2, 0)


def test_a_cluster_that_empties_stays_empty_and_harms_none():
    corners = [[92.0, 55], [31, 5], [79, 31], [38, 11], [36, 14], [24, 44]]
    squared = torch.cdist(torch.tensor(corners), torch.tensor(corners)).square()
    found = lloyd(squared, torch.ones(1, 6, dtype=torch.bool), torch.tensor([[5, 4, 1]]))
    assert found.tolist() == [[0, 2, 0, 2, 2, 2]]  # the one that began at (36, 14) has nobody left


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 30), st.integers(1, 12), st.sampled_from([torch.float32, torch.float64]))
def test_each_candidate_is_in_the_cluster_whose_centroid_is_nearest(seed, number, clusters, dtype):
    points, allowed = features(number, seed=seed, dtype=dtype), some(3, number, seed=seed)
    squared = squared_distances(points, points)
    found = kmeans(squared, allowed, clusters, generator=seeded(seed), iterations=200)
    for row, may in zip(found, allowed, strict=True):
        used = row[may].unique()
        if not len(used):
            continue
        centroids = torch.stack([points[row == cluster].double().mean(0) for cluster in used])
        distances = torch.cdist(points[may].double(), centroids)
        own = distances[torch.arange(int(may.sum())), torch.searchsorted(used, row[may])]
        assert (own <= distances.min(1).values + 1e-3).all()


def test_distances_of_neighbours_are_exact_and_of_equals_zero():
    point = features(1, dimension=256, dtype=torch.float32)
    near = point + 1e-4 * features(1, dimension=256, seed=1, dtype=torch.float32)
    exact = (point.double() - near.double()).square().sum()
    assert squared_distances(point, near).item() == pytest.approx(exact.item(), rel=1e-5)
    assert squared_distances(point, point.clone()).item() == 0


# The memories, and what they recall.


@BOTH_WEIGHTS
@pytest.mark.parametrize("sigma", [0.1, 0.5, 2.0])
def test_the_fast_form_is_the_equations_as_printed(weights, sigma):
    """`synthetic_negative` inverts K + εI for one cluster; conjugate gradients solve for all of them."""
    queries, points, to_anchor, squared, membership = setting()
    found = associate(to_anchor, squared, membership, clusters=4, sigma=sigma, weights=weights)
    result = recall(points, membership, found.coefficients, clusters=4)
    for anchor, query in enumerate(queries):
        for cluster in range(4):
            mine = points[membership[anchor] == cluster]
            expected = synthetic_negative(query, mine, sigma=sigma, weights=weights)
            torch.testing.assert_close(result[anchor, cluster], expected, atol=1e-8, rtol=0)


@BOTH_WEIGHTS
@pytest.mark.parametrize("sigma", [0.01, 0.1, 0.3, 1.0, 10.0])
@pytest.mark.parametrize("regularisation", [1e-3, 1e-6])
def test_it_is_the_pseudo_inverse_and_the_loops(weights, sigma, regularisation):
    queries, points, to_anchor, squared, membership = setting()
    options = {"sigma": sigma, "weights": weights, "regularisation": regularisation}
    found = associate(to_anchor, squared, membership, clusters=4, **options)
    result = recall(points, membership, found.coefficients, clusters=4)
    expected = synthetic(queries.numpy(), points.numpy(), membership.numpy(), 4, **options)
    np.testing.assert_allclose(result.numpy(), expected, atol=1e-8)


@BOTH_WEIGHTS
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


@BOTH_WEIGHTS
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


# All of it, as a loss is given it.


@BOTH_WEIGHTS
@pytest.mark.parametrize("sigma", [0.05, 0.1, 0.5, 2.0])
def test_it_is_scikit_learns_clusters_and_numpys_pseudo_inverse(weights, sigma):
    queries, points, positives = batch(16, dtype=torch.float64)
    squared = squared_distances(points, points)
    begin = seeds(squared, ~positives, 5, generator=seeded())
    membership = np.full(positives.shape, -1)
    for anchor, mask in enumerate(positives.numpy()):
        membership[anchor, ~mask] = scikit_learns_clusters(points[~positives[anchor]], points[begin[anchor]])
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
@BOTH_WEIGHTS
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


@BOTH_WEIGHTS
@pytest.mark.parametrize("sigma", [1e-6, 1e-3, 1e6])
def test_at_the_ends_of_sigma_there_are_negatives_and_gradients_are_finite(sigma, weights):
    queries, points, positives = batch(6)
    points[3] = points[4]  # equals, and one that is almost the same
    points[5] = normalize(points[4] + 2e-6, dim=0)
    given = queries.requires_grad_(), points.requires_grad_()
    found = made(SynHNC(3, sigma, weights, detach=False), *given, positives)
    found.scores(queries).square().sum().backward()
    assert found.allowed.all() and all(side.grad.isfinite().all() for side in given)


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
    scores = torch.cat([queries @ points.T, found.scores(queries)], dim=1)
    loss = InfoNCE()(scores, torch.cat([positives, ~found.allowed], dim=1), queries[:, 0])
    assert found.features.shape == (10, 4, 16) and not loss.isfinite()


def test_it_serves_any_loss_that_takes_extra_negatives():
    """Nothing but features, a mask and a generator goes in, and columns with permissions come out."""
    queries, points, positives = batch(8, 8)
    queries.requires_grad_()
    positives = torch.eye(8, dtype=torch.bool)
    scores, matches = queries @ points.T, (queries * points).sum(1)
    found = made(SynHNC(3), queries, points, positives)
    all_scores = torch.cat([scores, found.scores(queries)], dim=1)
    barred = torch.cat([positives, ~found.allowed], dim=1)
    losses = [loss(all_scores, barred, matches) for loss in (InfoNCE(), InfoCMR(), TripletLoss())]
    for loss in losses:
        gradient = torch.autograd.grad(loss, queries, retain_graph=True)[0]
        assert gradient.isfinite().all() and gradient.abs().sum() > 0
    assert losses[0] > InfoNCE()(scores, positives, matches)


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
        ({"clusters": 0}, "clusters"),
        ({"iterations": 0}, "iterations"),
        ({"sigma": 0.0}, "sigma must be between 1e-06 and 1e[+]06, not 0"),
        ({"sigma": float("nan")}, "sigma must be between 1e-06 and 1e[+]06, not nan"),
        ({"sigma": 1e-30}, "sigma must be between 1e-06 and 1e[+]06, not 1e-30"),
        ({"sigma": 1e200}, "sigma must be between 1e-06 and 1e[+]06, not 1e[+]200"),
        ({"regularisation": 0.0}, "regularisation must be above 0"),
        ({"weights": "pinv"}, "no weights 'pinv'.*identity"),
    ],
)
def test_settings_that_mean_nothing_are_one_line(options, said):
    with pytest.raises(ItmlabError, match=said):
        SynHNC(**options)


def test_unit_vectors_are_what_the_tests_use():
    queries, points, _ = batch()
    torch.testing.assert_close(normalize(queries, dim=1), queries)
    torch.testing.assert_close(normalize(points, dim=1), points)
