"""Batched k-means against scikit-learn's, anchor by anchor."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.cluster import KMeans
from torch.nn.functional import normalize

from itmlab.synthesis.clusters import kmeans, lloyd, seeds, squared_distances


def features(number, dimension=6, seed=0, groups=5, dtype=torch.float64):
    """Unit vectors in a few loose groups."""
    generator = torch.Generator().manual_seed(seed)
    centres = torch.randn(groups, dimension, generator=generator, dtype=torch.float64)
    chosen = torch.randint(groups, (number,), generator=generator)
    noise = torch.randn(number, dimension, generator=generator, dtype=torch.float64)
    return normalize(centres[chosen] + 0.4 * noise, dim=1).to(dtype)


def some(anchors, candidates, seed=0, share=0.8):
    return torch.rand(anchors, candidates, generator=torch.Generator().manual_seed(seed)) < share


@pytest.mark.parametrize("clusters", [1, 2, 5, 8])
def test_from_the_same_seeds_it_finds_scikit_learns_clusters(clusters):
    points, allowed = features(60), some(25, 60)
    squared = squared_distances(points, points)
    begin = seeds(squared, allowed, clusters, generator=torch.Generator().manual_seed(1))
    found = lloyd(squared, allowed, begin, iterations=100)
    for anchor in range(25):
        mine = points[allowed[anchor]].numpy()
        means = KMeans(clusters, init=points[begin[anchor]].numpy(), n_init=1, algorithm="lloyd", tol=0)
        assert (found[anchor][allowed[anchor]].numpy() == means.fit(mine).labels_).all()


def test_it_stops_where_scikit_learn_stops_after_as_many_iterations():
    points, allowed = features(80, groups=1), torch.ones(1, 80, dtype=torch.bool)
    squared = squared_distances(points, points)
    begin = seeds(squared, allowed, 6, generator=torch.Generator().manual_seed(1))
    results = [lloyd(squared, allowed, begin, iterations=number) for number in (1, 3)]
    assert not torch.equal(*results)
    for number, found in zip((1, 3), results, strict=True):
        means = KMeans(6, init=points[begin[0]].numpy(), n_init=1, algorithm="lloyd", tol=0, max_iter=number)
        assert (found[0].numpy() == means.fit(points.numpy()).labels_).all()


def test_what_is_not_allowed_is_in_no_cluster_and_moves_none():
    points, allowed = features(40), some(10, 40)
    elsewhere = torch.where(allowed[3][:, None], points, features(40, seed=9))  # anchor 3 sees no difference
    results = []
    for given_points in (points, elsewhere):
        squared = squared_distances(given_points, given_points)
        results.append(kmeans(squared, allowed, 4, generator=torch.Generator().manual_seed(0)))
    assert torch.equal(results[0] < 0, ~allowed)
    assert torch.equal(results[0][3], results[1][3])


def test_an_anchors_clusters_do_not_depend_on_the_other_anchors():
    points, allowed = features(40), some(10, 40)
    squared = squared_distances(points, points)
    begin = seeds(squared, allowed, 4, generator=torch.Generator().manual_seed(0))
    together = lloyd(squared, allowed, begin)
    alone = torch.cat([lloyd(squared, allowed[row : row + 1], begin[row : row + 1]) for row in range(10)])
    assert torch.equal(together, alone)


def test_the_same_generator_gives_the_same_clusters_and_another_one_others():
    points, allowed = features(60, groups=1), some(10, 60)
    squared = squared_distances(points, points)
    first, again, other = (kmeans(squared, allowed, 5, generator=torch.Generator().manual_seed(n)) for n in (0, 0, 1))
    assert torch.equal(first, again) and not torch.equal(first, other)


def test_seeds_are_drawn_in_proportion_to_squared_distance():
    squared = torch.tensor([[0.0, 1.0, 3.0], [1.0, 0.0, 4.0], [3.0, 4.0, 0.0]])
    drawn = seeds(squared, torch.ones(30_000, 3, dtype=torch.bool), 2, generator=torch.Generator().manual_seed(0))
    assert drawn[:, 0].bincount(minlength=3).tolist() == pytest.approx([10_000] * 3, rel=0.03)
    second = drawn[drawn[:, 0] == 0, 1].bincount(minlength=3) / (drawn[:, 0] == 0).sum()
    assert second.tolist() == pytest.approx([0, 1 / 4, 3 / 4], abs=0.02)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_equals_begin_no_second_cluster(dtype):
    points = features(5, dtype=dtype).repeat(8, 1)
    squared = squared_distances(points, points)
    begin = seeds(squared, torch.ones(20, 40, dtype=torch.bool), 8, generator=torch.Generator().manual_seed(0))
    assert (begin[:, 5:] == -1).all()
    assert all(len(set((row[:5] % 5).tolist())) == 5 for row in begin)
    found = lloyd(squared, torch.ones(20, 40, dtype=torch.bool), begin)
    assert all(len(set(found[:, first::5].flatten().tolist())) <= 5 for first in range(5)) and (found < 5).all()


def test_fewer_candidates_than_clusters_are_one_each_and_none_has_none():
    points = features(6)
    allowed = torch.tensor([[True, True, True, False, False, False], [False] * 6])
    found = kmeans(squared_distances(points, points), allowed, 5, generator=torch.Generator().manual_seed(0))
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
    found = kmeans(squared, allowed, clusters, generator=torch.Generator().manual_seed(seed), iterations=200)
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
