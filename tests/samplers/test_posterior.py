"""The posterior of Eq. 9, and where it must not turn back."""

import math

import pytest
import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from itmlab.errors import ItmlabError
from itmlab.samplers import Statistics, log_odds, monotone_range, posterior

MEANS = st.floats(-1, 1)
DEVIATIONS = st.floats(0.02, 0.5)
STATISTICS = st.builds(Statistics, MEANS, DEVIATIONS, MEANS, DEVIATIONS)
PRIORS = st.floats(1e-6, 0.9)


def density(score: float, mean: float, deviation: float) -> float:
    """Eq. 5."""
    return math.exp(-((score - mean) ** 2) / (2 * deviation**2)) / (deviation * math.sqrt(2 * math.pi))


def by_equation(score: float, statistics: Statistics, prior: float) -> float | None:
    """Eq. 9 as printed; None where both densities underflow."""
    match = prior * density(score, statistics.positive_mean, statistics.positive_deviation)
    mismatch = (1 - prior) * density(score, statistics.negative_mean, statistics.negative_deviation)
    return match / (match + mismatch) if match + mismatch > 1e-290 else None


@settings(max_examples=200, deadline=None)
@given(statistics=STATISTICS, prior=PRIORS, score=st.floats(-1, 1))
def test_raw_it_is_bayes_rule(statistics, prior, score):
    expected = by_equation(score, statistics, prior)
    assume(expected is not None)
    raw = posterior(torch.tensor(score, dtype=torch.float64), statistics, prior=prior, monotone=False)
    assert raw.item() == pytest.approx(expected, rel=1e-6, abs=1e-12)


@settings(max_examples=200, deadline=None)
@given(statistics=STATISTICS, prior=PRIORS)
def test_monotone_it_never_falls_and_is_bayes_rule_between_the_turning_points(statistics, prior):
    scores = torch.linspace(-3, 3, 601, dtype=torch.float64)
    fixed = log_odds(scores, statistics, prior=prior)
    assert (fixed.diff() >= -1e-9 * fixed.abs().max()).all()
    lowest, highest = monotone_range(statistics)
    inside = (scores >= lowest) & (scores <= highest)
    torch.testing.assert_close(fixed[inside], log_odds(scores, statistics, prior=prior, monotone=False)[inside])


@settings(max_examples=100, deadline=None)
@given(statistics=STATISTICS)
def test_the_raw_one_turns_exactly_at_the_end_of_the_range(statistics):
    assume(abs(statistics.positive_deviation - statistics.negative_deviation) > 0.01)
    ends = [end for end in monotone_range(statistics) if math.isfinite(end)]
    assert len(ends) == 1
    around = torch.tensor([ends[0] - 1e-2, ends[0], ends[0] + 1e-2], dtype=torch.float64)
    left, middle, right = log_odds(around, statistics, monotone=False).tolist()
    narrow = statistics.positive_deviation < statistics.negative_deviation
    assert (left < middle > right) if narrow else (left > middle < right)


def test_a_narrow_positive_would_fall_above_it_and_a_wide_one_rise_below():
    narrow = Statistics(0.6, 0.05, 0.3, 0.2)
    far = torch.tensor([0.6, 1.0, math.inf])
    assert posterior(far, narrow, monotone=False)[1] < posterior(far, narrow, monotone=False)[0]
    held = posterior(far, narrow)
    assert held[1] == held[2] >= held[0]
    wide = Statistics(0.6, 0.2, 0.3, 0.05)
    below = torch.tensor([-math.inf, -1.0, 0.3])
    assert posterior(below, wide, monotone=False)[1] > 0.99
    assert posterior(below, wide)[:2].max() < 1e-3


def test_equal_deviations_need_no_fix_and_matches_below_mismatches_none_that_rises():
    assert monotone_range(Statistics(0.6, 0.1, 0.3, 0.1)) == (-math.inf, math.inf)
    assert monotone_range(Statistics(0.3, 0.1, 0.6, 0.1)) == (0.6, 0.6)
    assert posterior(torch.tensor([0.3, 0.6, 0.9]), Statistics(0.3, 0.1, 0.6, 0.1)).unique().numel() == 1


@settings(max_examples=100, deadline=None)
@given(
    statistics=st.builds(Statistics, MEANS, st.floats(0, 0.5), MEANS, st.floats(0, 0.5)),
    score=st.sampled_from([-math.inf, -1e30, -5.0, 0.3, 5.0, 1e30, math.inf]),
    dtype=st.sampled_from([torch.float32, torch.float64, torch.bfloat16]),
    monotone=st.booleans(),
)
def test_it_is_a_probability_wherever_it_is_asked(statistics, score, dtype, monotone):
    value = posterior(torch.tensor(score).to(dtype), statistics, monotone=monotone).item()
    assert 0 <= value <= 1


def test_far_tails_keep_their_odds_where_densities_underflow():
    statistics = Statistics(0.6, 0.02, 0.3, 0.02)
    scores = torch.tensor([-1.0, 0.45, 1.0], dtype=torch.float64)
    expected = [math.log(1e-4 / (1 - 1e-4)) + (0.3 / 0.02**2) * (score - 0.45) for score in scores.tolist()]
    assert log_odds(scores, statistics).tolist() == pytest.approx(expected)


def test_half_precision_is_computed_in_single():
    statistics, scores = Statistics(0.6, 0.1, 0.3, 0.15), torch.linspace(-1, 1, 50).bfloat16()
    assert torch.equal(posterior(scores, statistics), posterior(scores.float(), statistics))
    assert posterior(scores, statistics).dtype == torch.float32


@pytest.mark.parametrize("prior", [0.0, 1.0, -0.1, math.nan])
def test_a_prior_is_a_probability(prior):
    with pytest.raises(ItmlabError, match="prior"):
        posterior(torch.zeros(1), Statistics(0.6, 0.1, 0.3, 0.1), prior=prior)
