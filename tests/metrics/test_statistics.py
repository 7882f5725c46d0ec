"""Intervals over images, shares and correlations: exact where they can be told, wider where cases hang together."""

import math

import numpy as np
import pytest
import scipy.stats
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from itmlab.errors import ItmlabError
from itmlab.metrics import share
from itmlab.metrics.statistics import (
    Interval,
    bootstrap,
    bootstrap_p,
    holm,
    human_judgement,
    interval,
    pearson,
    percentile_interval,
    resample,
    seeds_needed,
    smallest_effect,
    students_t,
    verdict,
    wilson,
)
from tests.refusals import refused


def test_one_value_everywhere_has_no_width():
    found = interval(np.full(20, 3.0), np.arange(20))
    assert (found.value, found.lower, found.upper) == (3, 3, 3)


def test_it_is_near_the_textbooks_interval_of_a_mean():
    values = np.random.default_rng(0).normal(size=400)
    found = interval(values, np.arange(400), times=2000)
    half = 1.96 * values.std(ddof=1) / 20
    assert found.value == pytest.approx(values.mean())
    assert found.upper - found.value == pytest.approx(half, rel=0.15)
    assert found.value - found.lower == pytest.approx(half, rel=0.15)


@given(st.lists(st.integers(-50, 50), min_size=2, max_size=9))
def test_few_seeds_have_students_interval(values):
    """Where the two-sided t-test against an end of it has p = 0.05."""
    found = students_t(np.array(values, dtype=float))
    assert found.value == pytest.approx(np.mean(values)) and found.lower <= found.value <= found.upper
    if len(set(values)) > 1:
        for end in (found.lower, found.upper):
            assert scipy.stats.ttest_1samp(values, end).pvalue == pytest.approx(0.05)


def test_one_value_has_no_interval():
    refused("1 values have no interval — give two or more", students_t, np.array([1.0]))


def test_copies_within_an_image_tell_nothing_new():
    values = np.random.default_rng(1).normal(size=50)
    single = interval(values, np.arange(50))
    copied = interval(np.repeat(values, 10), np.repeat(np.arange(50), 10))
    assert copied.upper - copied.lower == pytest.approx(single.upper - single.lower, rel=1e-6)


def test_any_statistic_in_any_order_of_cases_and_nothing_of_nothing():
    values, images = np.array([1.0, 9, 2, 8]), np.array([0, 1, 0, 1])
    found = interval(values, images, np.median)
    assert found.value == 5 and found.lower == 1.5 and found.upper == 8.5
    assert np.isnan(interval(np.zeros(0), np.zeros(0)).value)


@pytest.mark.parametrize("counts", [False, True])
def test_a_mean_of_unlike_clusters_is_its_slow_bootstrap(counts):
    random = np.random.default_rng(2)
    values, images = random.normal(size=40), random.integers(0, 9, 40)
    sums, sizes = np.bincount(images, values), np.bincount(images)
    drawn = resample(np.random.default_rng(7), len(sums), 300, counts=counts)

    def mean(times):
        return (times @ sums) / (times @ sizes) if counts else sums[times].sum(1) / sizes[times].sum(1)

    found = bootstrap(values.mean(), mean, len(sums), draws=300, seed=7, counts=counts)
    slow = []
    for draw in drawn:
        chosen = np.repeat(np.arange(len(sums)), draw) if counts else draw
        assert len(chosen) == len(sums)
        slow.append(np.concatenate([values[images == image] for image in chosen]).mean())
    assert found[1:] == pytest.approx(np.quantile(slow, [0.025, 0.975])) and found.value == values.mean()


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


@settings(max_examples=60, deadline=None)
@given(of=st.integers(1, 400), part=st.floats(0, 1))
def test_the_ends_solve_wilsons_equation(of, part):
    """|p - end| = z·√(end(1 - end) / n) at both ends."""
    count = round(of * part)
    found = share(torch.arange(of) < count)
    assert (found.count, found.of, found.percent) == (count, of, pytest.approx(100 * count / of))
    assert 0 <= found.lower <= found.percent <= found.upper <= 100
    for end in (found.lower / 100, found.upper / 100):
        distance = 1.959964 * math.sqrt(max(end * (1 - end), 0) / of)
        assert abs(count / of - end) == pytest.approx(distance, abs=1e-6)


def test_wilson_of_rows_is_wilson_of_each_and_exact_at_the_ends():
    shares, cases = np.array([0.0, 0.3, 1.0]), np.array([10, 50, 20])
    lower, upper = wilson(shares, cases)
    assert [(float(a), float(b)) for a, b in map(wilson, shares, cases)] == list(zip(lower, upper, strict=True))
    assert lower[0] == 0 and upper[2] == 1 and (lower < upper).all()


def test_the_papers_judgement_of_two_hundred_sentences():
    found = share(torch.arange(200) < 193)
    assert (found.percent, round(found.lower, 1), round(found.upper, 1)) == (96.5, 93.0, 98.3)
    assert str(found) == "96.5 % [93.0, 98.3] of 200"


def test_cases_alone_on_their_image_change_next_to_nothing():
    holds = torch.rand(500, generator=torch.Generator().manual_seed(0)) < 0.7
    alone, plain = share(holds, torch.arange(500)), share(holds)
    assert (alone.lower, alone.upper) == (pytest.approx(plain.lower, abs=0.05), pytest.approx(plain.upper, abs=0.05))


def test_ten_copies_of_each_image_are_worth_the_images():
    holds = torch.rand(100, generator=torch.Generator().manual_seed(0)) < 0.7
    copies = share(holds.repeat_interleave(10), torch.arange(100).repeat_interleave(10))
    once = share(holds)
    assert (copies.lower, copies.upper) == (pytest.approx(once.lower, abs=0.2), pytest.approx(once.upper, abs=0.2))


@pytest.mark.parametrize("value", [True, False])
def test_where_all_agree_the_interval_is_that_of_the_images(value):
    found = share(torch.full((60,), value), torch.arange(20).repeat_interleave(3))
    once = share(torch.full((20,), value))
    assert (found.lower, found.upper) == (once.lower, once.upper)
    assert found.lower < found.upper


def test_the_interval_covers_the_truth_though_cases_hang_together():
    """400 times 60 images of 10 cases with a rate each: near 95 % with the images, far from it without."""
    source, inside = torch.Generator().manual_seed(3), torch.zeros(2)
    images = torch.arange(60).repeat_interleave(10)
    for _ in range(400):
        rates = (torch.rand(60, generator=source) < 0.5).float() * 0.4 + 0.5  # 0.5 or 0.9, on average 0.7
        holds = torch.rand(600, generator=source) < rates.repeat_interleave(10)
        inside += torch.tensor([a.lower <= 70 <= a.upper for a in (share(holds, images), share(holds))])
    assert 0.92 <= inside[0] / 400 <= 0.98 and inside[1] / 400 < 0.9


def test_of_nothing_there_is_no_share():
    found = share(torch.zeros(0))
    assert math.isnan(found.percent) and found.of == 0 and str(found) == "none of 0"
    assert share(torch.ones(3), torch.zeros(3)).of == 3
    with pytest.raises(ItmlabError, match="as many images as cases"):
        share(torch.ones(3), torch.zeros(2))


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
    found = Interval(sum(ends) / 2, *ends)
    assert verdict(found) == higher and verdict(found, expected="lower") == lower
    assert verdict(found, expected="equal", margin=1.0) == equal
    moved = Interval(*(end + 7 for end in found))
    assert verdict(moved, mark=7) == higher and verdict(moved, expected="equal", margin=1.0, mark=7) == equal


def test_a_claim_that_is_none_is_refused():
    refused("claim", verdict, Interval(1, 0, 2), expected="better")
    refused("makes nothing equal", verdict, Interval(1, 0, 2), expected="equal")


@given(st.lists(st.floats(-1, 1).map(lambda value: round(value, 3)), min_size=200, max_size=200))
def test_p_is_below_five_per_cent_where_the_interval_leaves_nought_out(drawn):
    _, lower, upper = percentile_interval(0.0, np.array(drawn))
    p = bootstrap_p(np.array(drawn))
    if p < 0.04:
        assert lower > 0 or upper < 0
    if p > 0.08:
        assert lower <= 0 <= upper


def by_hand(values):
    """Holm's procedure as he wrote it: step down while the smallest left passes, at the level of what is left."""
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
    refused("wanted a deviation", seeds_needed, math.nan, 1.0)


def test_what_no_seed_lessens_takes_more_seeds_and_in_the_end_all():
    """Beside the number by which the normal approximation sees it: std² / ((effect / 2.80)² − fixed²)."""
    for std, effect, fixed in ((4.0, 1.0, 0.1), (4.0, 1.0, 0.3), (2.0, 0.5, 0.1)):
        expected = std**2 / ((effect / 2.8016) ** 2 - fixed**2)
        assert expected <= seeds_needed(std, effect, fixed=fixed) <= 1.03 * expected + 3
    counts = [seeds_needed(1.0, 1.0, fixed=fixed) for fixed in (0.0, 0.1, 0.2, 0.3, 0.35)]
    assert counts == sorted(counts) and counts[0] == seeds_needed(1.0, 1.0)
    assert seeds_needed(1.0, 1.0, fixed=0.36) == math.inf == seeds_needed(0.0, 1.0, fixed=2.0)
    refused("wanted a deviation", seeds_needed, 1.0, 1.0, fixed=-1.0)


def test_the_smallest_effect_is_seen_four_times_in_five():
    random, error = np.random.default_rng(0), 0.7
    effect = smallest_effect(Interval(0.0, -1.96 * error, 1.96 * error))
    values = random.normal(effect, error, 50_000)
    assert (np.abs(values) > 1.96 * error).mean() == pytest.approx(0.8, abs=0.01)
