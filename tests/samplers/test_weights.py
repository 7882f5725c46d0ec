"""Sampling weights of Eq. 13, as the paper prints them and as the released code has them."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from itmlab.errors import ItmlabError
from itmlab.samplers import Statistics, posterior, sampling_weights

STATISTICS = st.builds(Statistics, st.floats(0, 1), st.floats(0.02, 0.5), st.floats(-1, 0.5), st.floats(0.02, 0.5))


def by_equation(score, positive_score, probability, *, threshold, sharpness):
    """Eq. 13."""
    if probability < threshold:
        return math.exp(-sharpness * (score - positive_score) ** 2)
    return math.exp(-probability)


def as_released(score, positive_score, probability, *, threshold, sharpness, lowest):
    """What `methods.md` 1.3 says of the public code."""
    if score < lowest:
        return 0.0
    if probability < threshold:
        return math.exp(-sharpness * (score - positive_score) ** 2)
    return math.exp(-0.5 * probability)


@settings(max_examples=100, deadline=None)
@given(statistics=STATISTICS, seed=st.integers(0, 10**6), sharpness=st.floats(0, 20), monotone=st.booleans())
def test_both_presets_are_their_equations(statistics, seed, sharpness, monotone):
    scores = torch.rand(2, 30, dtype=torch.float64, generator=torch.Generator().manual_seed(seed)) * 2 - 1
    positive_scores = torch.tensor([0.7, 0.2], dtype=torch.float64)
    probabilities = posterior(scores, statistics, prior=0.01, monotone=monotone)
    options = {"prior": 0.01, "sharpness": sharpness, "monotone": monotone}
    paper = sampling_weights(scores, positive_scores, statistics, **options)
    released = sampling_weights(scores, positive_scores, statistics, preset="released", margin=0.3, **options)
    for row in range(2):
        for column in range(30):
            known = scores[row, column].item(), positive_scores[row].item(), probabilities[row, column].item()
            # at the threshold itself rounding decides, and the two branches differ
            if abs(known[2] - 0.01) > 1e-9:
                expected = by_equation(*known, threshold=0.01, sharpness=sharpness)
                assert paper[row, column].item() == pytest.approx(expected, rel=1e-9)
            if abs(known[2] - 0.001) > 1e-9:
                lowest = statistics.positive_mean - 0.3
                expected = as_released(*known, threshold=0.001, sharpness=sharpness, lowest=lowest)
                assert released[row, column].item() == pytest.approx(expected, rel=1e-9)


def test_a_likely_match_and_an_easy_negative_both_weigh_less_than_a_hard_one():
    statistics = Statistics(0.6, 0.08, 0.3, 0.08)
    easy, hard, match = sampling_weights(
        torch.tensor([-0.6, 0.5, 0.75]), torch.tensor(0.62), statistics, sharpness=2.0
    ).tolist()
    assert easy < hard and match < hard and match == pytest.approx(math.exp(-1), abs=1e-2)


def test_a_curve_for_one_anchor_needs_no_second_dimension():
    statistics, scores = Statistics(0.6, 0.1, 0.3, 0.1), torch.linspace(-1, 1, 11)
    one = sampling_weights(scores, torch.tensor(0.6), statistics)
    assert torch.equal(one, sampling_weights(scores[None], torch.tensor([0.6]), statistics)[0])


def test_the_threshold_given_replaces_the_presets():
    statistics, scores = Statistics(0.6, 0.1, 0.3, 0.1), torch.linspace(0, 1, 200)
    weights = {
        (preset, threshold): sampling_weights(scores, torch.tensor(0.6), statistics, preset=preset, threshold=threshold)
        for preset in ("paper", "released")
        for threshold in (None, 0.01, 0.001)
    }
    assert torch.equal(weights["paper", None], weights["paper", 0.01])
    assert torch.equal(weights["released", None], weights["released", 0.001])
    assert not torch.equal(weights["paper", None], weights["paper", 0.001])


@pytest.mark.parametrize("threshold", [0.0, 1.0])
def test_thresholds_at_the_ends_leave_one_branch(threshold):
    statistics, scores = Statistics(0.6, 0.1, 0.3, 0.1), torch.linspace(-1, 1, 21)
    weights = sampling_weights(scores, torch.tensor(0.6), statistics, threshold=threshold)
    suspect, easy = torch.exp(-posterior(scores, statistics)), torch.exp(-0.5 * (scores - 0.6) ** 2)
    torch.testing.assert_close(weights, suspect if threshold == 0 else easy)


def test_what_does_not_exist_is_named():
    with pytest.raises(ItmlabError, match=r"no preset 'mine'.*paper, released"):
        sampling_weights(torch.zeros(1), torch.tensor(0.0), Statistics(0.6, 0.1, 0.3, 0.1), preset="mine")
    with pytest.raises(ItmlabError, match="λ"):
        sampling_weights(torch.zeros(1), torch.tensor(0.0), Statistics(0.6, 0.1, 0.3, 0.1), threshold=1.5)
