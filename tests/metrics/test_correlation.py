"""Pearson's correlation against numpy, its bootstrap against drawing images one by one, and Table 1 on a small set."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from itmlab.errors import ItmlabError
from itmlab.metrics.correlation import human_judgement, pearson


def by_drawing(measure, ratings, images, draws, seed) -> tuple[float, float]:
    """The interval from drawing images one by one and correlating the pairs of those drawn."""
    names = images.unique()
    drawn = torch.randint(len(names), (draws, len(names)), generator=torch.Generator().manual_seed(seed))
    found = []
    for row in drawn:
        pairs = torch.cat([(images == names[index]).nonzero().squeeze(1) for index in row])
        x, y = measure[pairs].numpy(), ratings[pairs].numpy()
        if np.ptp(x) > 0 and np.ptp(y) > 0:
            found.append(np.corrcoef(x, y)[0, 1])
    return tuple(np.quantile(found, [0.025, 0.975]))


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10**6), pairs=st.integers(8, 40), shift=st.sampled_from([0.0, 1e4]))
def test_it_is_numpys_and_the_interval_is_that_of_drawing_images(seed, pairs, shift):
    source = torch.Generator().manual_seed(seed)
    measure = torch.randn(pairs, generator=source, dtype=torch.float64) + shift
    ratings = 0.5 * measure + torch.randn(pairs, generator=source, dtype=torch.float64)
    images = torch.randint(0, 6, (pairs,), generator=source) * 10
    found = pearson(measure, ratings, images, draws=60, seed=seed)
    assert found.value == pytest.approx(np.corrcoef(measure, ratings)[0, 1], abs=1e-9)
    assert (found.lower, found.upper) == pytest.approx(by_drawing(measure, ratings, images, 60, seed), abs=1e-6)
    assert found.pairs == pairs and found.images == len(images.unique())


def test_scale_and_place_do_not_matter_and_the_seed_repeats():
    source = torch.Generator().manual_seed(0)
    x, y = torch.rand(200, generator=source), torch.rand(200, generator=source)
    images = torch.arange(200) // 4
    first = pearson(x, y, images)
    again = pearson(1000 * x + 7, y, images)
    assert again.value == pytest.approx(first.value, abs=1e-5)
    assert (again.lower, again.upper) == pytest.approx((first.lower, first.upper), abs=1e-5)
    assert pearson(x, y, images) == first and pearson(x, y, images, seed=1) != first
    assert first.lower < first.value < first.upper


def test_pairs_of_one_image_are_drawn_together():
    # ten copies of each pair say no more than one: with images drawn whole the interval is as wide
    source = torch.Generator().manual_seed(0)
    x = torch.rand(60, generator=source)
    y = x + torch.rand(60, generator=source)
    once = pearson(x, y, torch.arange(60))
    tenfold = pearson(x.repeat(10), y.repeat(10), torch.arange(60).repeat(10))
    assert (tenfold.lower, tenfold.upper) == pytest.approx((once.lower, once.upper), abs=1e-6)
    apart = pearson(x.repeat(10), y.repeat(10), torch.arange(600))
    assert apart.upper - apart.lower < 0.6 * (once.upper - once.lower)


def test_what_is_the_same_for_all_has_no_correlation():
    found = pearson(torch.zeros(6), torch.rand(6), torch.arange(6))
    assert math.isnan(found.value) and math.isnan(found.lower) and found.pairs == 6


def test_what_cannot_be_correlated_is_said():
    with pytest.raises(ItmlabError, match=r"not \(3,\), \(2,\) and \(3,\)"):
        pearson(torch.rand(3), torch.rand(2), torch.arange(3))
    with pytest.raises(ItmlabError, match="at least two pairs, not 1"):
        pearson(torch.rand(1), torch.rand(1), torch.arange(1))
    with pytest.raises(ItmlabError, match="not finite"):
        pearson(torch.tensor([0.1, math.nan]), torch.rand(2), torch.arange(2))


CAPTIONS, IMAGES = torch.tensor([0, 1, 2, 3, 2, 0]), torch.tensor([0, 0, 1, 1, 0, 1])
RATINGS = torch.tensor([5.0, 4.0, 5.0, 4.5, 1.0, 3.0])
TRUTH = torch.tensor([[True, True, False, False], [False, False, True, True]])
MATRIX = torch.tensor([[0.8, 0.4], [0.5, 0.1], [0.2, 0.6], [0.0, 0.9]])


@pytest.mark.parametrize(
    ("normalised", "expected"),
    [
        ("none", [0.8, 0.5, 0.6, 0.9, 0.2, 0.4]),
        ("image", [0.8 / 0.8, 0.5 / 0.8, 0.6 / 0.9, 0.9 / 0.9, 0.2 / 0.8, 0.4 / 0.9]),
        ("caption", [0.8 / 0.8, 0.5 / 0.5, 0.6 / 0.6, 0.9 / 0.9, 0.2 / 0.6, 0.4 / 0.8]),
    ],
)
def test_a_pairs_ncs_is_its_relevance_or_its_share_of_the_querys_best(normalised, expected):
    table = human_judgement({"NCS": MATRIX}, TRUTH, CAPTIONS, IMAGES, RATINGS, normalised=normalised, draws=50)
    assert table["NCS"]["all"].value == pytest.approx(np.corrcoef(expected, RATINGS)[0, 1], abs=1e-6)
    assert table["NCS"]["non-ground-truth"].value == pytest.approx(1.0)
    binary = table["binary relevance"]
    assert binary["all"].value == pytest.approx(np.corrcoef([1, 1, 1, 1, 0, 0], RATINGS)[0, 1], abs=1e-6)
    assert math.isnan(binary["non-ground-truth"].value) and binary["non-ground-truth"].pairs == 2


def test_a_table_that_cannot_be_made_is_said():
    with pytest.raises(ItmlabError, match="normalised='row'"):
        human_judgement({}, TRUTH, CAPTIONS, IMAGES, RATINGS, normalised="row")
    with pytest.raises(ItmlabError, match=r"NCS of shape \(2, 4\) is not \(caption, image\)"):
        human_judgement({"NCS": MATRIX.T}, TRUTH, CAPTIONS, IMAGES, RATINGS)


def test_pairs_of_a_query_to_which_nothing_is_relevant_are_left_out_and_counted():
    matrix = MATRIX.clone()
    matrix[1] = 0
    with pytest.warns(UserWarning, match="NCS: 1 of 6 rated pairs are left out, nothing is relevant to their caption"):
        table = human_judgement({"NCS": matrix}, TRUTH, CAPTIONS, IMAGES, RATINGS, normalised="caption", draws=50)
    assert table["NCS"]["all"].pairs == 5 and table["binary relevance"]["all"].pairs == 6
    expected = [0.8 / 0.8, 0.6 / 0.6, 0.9 / 0.9, 0.2 / 0.6, 0.4 / 0.8]
    kept = [0, 2, 3, 4, 5]
    assert table["NCS"]["all"].value == pytest.approx(np.corrcoef(expected, RATINGS[kept])[0, 1], abs=1e-6)
