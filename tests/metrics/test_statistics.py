"""Intervals, shares, correlations, verdicts and power: exact where known, wider where cases are dependent."""

import math

import numpy as np
import pytest
import scipy.stats
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from itmlab.metrics.statistics import (
    Interval,
    holm,
    interval,
    pearson,
    seed_mean,
    seeds_needed,
    share,
    students_t,
    verdict,
)
from tests.refusals import refused


@given(st.lists(st.integers(-50, 50), min_size=2, max_size=9))
def test_seeds_have_students_interval(values):
    """Where the two-sided t-test against an end of it has p = 0.05."""
    mean = students_t(np.array(values, dtype=float))
    assert mean.value == pytest.approx(np.mean(values)) and mean.lower <= mean.value <= mean.upper
    if len(set(values)) > 1:
        for end in (mean.lower, mean.upper):
            assert scipy.stats.ttest_1samp(values, end).pvalue == pytest.approx(0.05)
        assert seed_mean(values).p == pytest.approx(scipy.stats.ttest_1samp(values, 0).pvalue)


def test_one_value_has_no_interval():
    refused("give two or more", students_t, np.array([1.0]))


def simulated(of_seeds: float, of_images: float, together: float, *, seeds: int = 5, images: int = 100):
    """4,000 experiments whose true mean is 0: per-seed means, and the same in 200 draws of the images."""
    random = np.random.default_rng(0)
    times = random.multinomial(images, np.full(images, 1 / images), size=200) / images
    shape = 4_000, seeds, images
    values = of_seeds * random.standard_normal((*shape[:2], 1)) + of_images * random.standard_normal((4_000, 1, images))
    values += together * random.standard_normal(shape)
    return values.mean(axis=2).T, np.einsum("rsi,di->dsr", values, times, optimize=True)


@pytest.mark.parametrize(
    ("of_seeds", "of_images", "together"),
    [(1.0, 0.5, 1.0), (0.02, 3.0, 0.3), (0.3, 3.0, 1.0)],
    ids=["seeds dominate", "images dominate", "both alike"],
)
def test_five_seeds_cover_the_truth_95_times_in_100(of_seeds, of_images, together):
    """4,000 experiments: a standard error of 0.34 %. A percentile bootstrap over five seeds covers 83 %."""
    values, drawn = simulated(of_seeds, of_images, together)
    mean = seed_mean(values, drawn, images=100)
    lower, upper = mean.ends
    assert 0.94 <= ((lower <= 0) & (upper >= 0)).mean() <= 0.96
    assert ((mean.p < 0.05) == ((lower > 0) | (upper < 0))).all()


def test_one_seed_has_the_uncertainty_of_the_images():
    values, drawn = simulated(0.0, 1.0, 0.0, seeds=1)
    assert seed_mean(values, drawn, images=100).error.mean() == pytest.approx(0.1, rel=0.05)
    constant = seed_mean(np.full(3, 2.0), np.full((10, 3), 2.0), images=4)
    assert constant.ends == (2, 2) and constant.p == 0


def test_the_bootstrap_is_near_the_textbooks_interval_of_a_mean():
    values = np.random.default_rng(0).normal(size=400)
    mean = interval(values, np.arange(400), times=2000)
    half = 1.96 * values.std(ddof=1) / 20
    assert mean.value == pytest.approx(values.mean())
    assert (mean.upper - mean.value, mean.value - mean.lower) == pytest.approx((half, half), rel=0.15)
    copied = interval(np.repeat(values, 3), np.repeat(np.arange(400), 3), times=2000)  # copies add no information
    assert copied[1:] == pytest.approx(mean[1:])


def by_drawing(measure, ratings, images, draws, seed) -> tuple[float, float]:
    """The interval from drawing images one by one and correlating the pairs of those drawn."""
    names = images.unique()
    drawn = np.random.default_rng(seed).integers(len(names), size=(draws, len(names)))
    correlations = []
    for row in drawn:
        pairs = torch.cat([(images == names[index]).nonzero().squeeze(1) for index in row])
        x, y = measure[pairs].numpy(), ratings[pairs].numpy()
        if np.ptp(x) > 0 and np.ptp(y) > 0:
            correlations.append(np.corrcoef(x, y)[0, 1])
    return tuple(np.quantile(correlations, [0.025, 0.975]))


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10**6), pairs=st.integers(8, 40), shift=st.sampled_from([0.0, 1e4]))
def test_it_is_numpys_and_the_interval_is_that_of_drawing_images(seed, pairs, shift):
    source = torch.Generator().manual_seed(seed)
    measure = torch.randn(pairs, generator=source, dtype=torch.float64) + shift
    ratings = 0.5 * measure + torch.randn(pairs, generator=source, dtype=torch.float64)
    images = torch.randint(0, 6, (pairs,), generator=source) * 10
    correlation = pearson(measure, ratings, images, draws=60, seed=seed)
    assert correlation.value == pytest.approx(np.corrcoef(measure, ratings)[0, 1], abs=1e-9)
    assert (correlation.lower, correlation.upper) == pytest.approx(
        by_drawing(measure, ratings, images, 60, seed), abs=1e-6
    )


def test_what_is_the_same_for_all_has_no_correlation():
    correlation = pearson(torch.zeros(6), torch.rand(6), torch.arange(6))
    assert all(map(math.isnan, correlation))


def test_pairs_that_cannot_be_correlated_are_refused():
    refused(r"got \(3,\), \(2,\) and \(3,\)", pearson, torch.rand(3), torch.rand(2), torch.arange(3))
    refused("two pairs or more", pearson, torch.rand(1), torch.rand(1), torch.arange(1))
    refused("not finite", pearson, torch.tensor([0.1, math.nan]), torch.rand(2), torch.arange(2))


@settings(max_examples=60, deadline=None)
@given(of=st.integers(1, 400), part=st.floats(0, 1))
def test_the_ends_solve_wilsons_equation(of, part):
    """|p - end| = z·√(end(1 - end) / n) at both ends."""
    count = round(of * part)
    fraction = share(torch.arange(of) < count)
    assert (fraction.count, fraction.of, fraction.percent) == (count, of, pytest.approx(100 * count / of))
    assert 0 <= fraction.lower <= fraction.percent <= fraction.upper <= 100
    for end in (fraction.lower / 100, fraction.upper / 100):
        distance = 1.959964 * math.sqrt(max(end * (1 - end), 0) / of)
        assert abs(count / of - end) == pytest.approx(distance, abs=1e-6)


def test_a_clustered_share_covers_the_truth():
    """200 times 60 images of 10 cases with a rate each: near 95 % with the images, far from it without."""
    source, inside = torch.Generator().manual_seed(3), torch.zeros(2)
    images = torch.arange(60).repeat_interleave(10)
    for _ in range(200):
        rates = (torch.rand(60, generator=source) < 0.5).float() * 0.4 + 0.5  # 0.5 or 0.9, on average 0.7
        holds = torch.rand(600, generator=source) < rates.repeat_interleave(10)
        inside += torch.tensor([a.lower <= 70 <= a.upper for a in (share(holds, images), share(holds))])
    assert 0.91 <= inside[0] / 200 <= 0.99 and inside[1] / 200 < 0.9


def test_no_cases_have_no_share():
    assert math.isnan(share(torch.zeros(0)).percent) and share(torch.ones(3), torch.zeros(3)).of == 3
    refused("as many images as cases", share, torch.ones(3), torch.zeros(2))


@pytest.mark.parametrize(
    ("ends", "higher", "lower", "equal"),
    [
        ((0.5, 3.0), "held", "contrary", "not seen"),
        ((-3.0, -0.5), "contrary", "held", "not seen"),
        ((-0.5, 0.9), "not seen", "not seen", "held"),
        ((-1.0, 1.0), "not seen", "not seen", "held"),
        ((0.0, 2.0), "not seen", "not seen", "not seen"),
        ((1.1, 2.0), "held", "contrary", "contrary"),
        ((math.nan, math.nan), "not seen", "not seen", "not seen"),
    ],
)
def test_a_claim_holds_is_contrary_or_not_seen(ends, higher, lower, equal):
    estimate = Interval(sum(ends) / 2, *ends)
    assert verdict(estimate) == higher and verdict(estimate, expected="lower") == lower
    assert verdict(estimate, expected="equal", margin=1.0) == equal
    moved = Interval(*(end + 7 for end in estimate))
    assert verdict(moved, mark=7) == higher and verdict(moved, expected="equal", margin=1.0, mark=7) == equal


def test_an_unknown_claim_is_refused():
    refused("claim", verdict, Interval(1, 0, 2), expected="better")
    refused("makes nothing equal", verdict, Interval(1, 0, 2), expected="equal")


def by_hand(values):
    """Holm's procedure as he wrote it: step down while the smallest left passes, at the level of those left."""
    corrected = {}
    for level in [at / 1000 for at in range(1, 1001)]:
        left = sorted(range(len(values)), key=values.__getitem__)
        while left and values[left[0]] <= level / len(left):
            corrected.setdefault(left.pop(0), level)
    return [corrected.get(at, 1.0) for at in range(len(values))]


@given(st.lists(st.integers(1, 500).map(lambda value: value / 1000), min_size=1, max_size=6))
def test_holms_correction_is_his_procedure(values):
    assert holm(values) == pytest.approx(by_hand(values), abs=0.0011)


def test_so_many_seeds_find_it_four_times_in_five():
    from scipy.stats import ttest_1samp

    random = np.random.default_rng(0)
    for std, effect in ((1.0, 1.0), (2.0, 1.5), (0.5, 1.0)):
        count = seeds_needed(std, effect)
        shares = [
            (ttest_1samp(random.normal(effect, std, (20_000, seeds)), 0, axis=1).pvalue < 0.05).mean()
            for seeds in (count - 1, count)
        ]
        assert shares[0] < 0.81 and shares[1] > 0.79
    assert seeds_needed(1.0, 0.001) == 10_000 and seeds_needed(0.0, 0.1) == 2
    refused("not a difference", seeds_needed, 1.0, 0.0)
    refused("std must be", seeds_needed, math.nan, 1.0)
