"""FNE from the posterior to the sampler, each part against its equation written out slowly."""

import math
from statistics import fmean, pstdev

import pytest
import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare

from itmlab.samplers import (
    FalseNegativeEliminating,
    Hardest,
    Statistics,
    fne,
    log_odds,
    posterior,
    sampling_weights,
)
from itmlab.samplers.fne import RunningMoments, posterior_as_printed, trusted_pairs
from tests.refusals import refused
from tests.samplers.test_base import fne as ready
from tests.samplers.test_base import generator

TYPICAL = Statistics(0.6, 0.1, 0.3, 0.15)  # what `ready` has seen


# The posterior, Eq. 9.

MEANS = st.floats(-1, 1)
DEVIATIONS = st.floats(0.02, 0.5)
STATISTICS = st.builds(Statistics, MEANS, DEVIATIONS, MEANS, DEVIATIONS)
PRIORS = st.floats(1e-6, 0.9)


@settings(max_examples=150, deadline=None)
@given(statistics=STATISTICS, prior=PRIORS, score=st.floats(-1, 1))
def test_raw_posterior_is_bayes_rule(statistics, prior, score):
    score = torch.tensor(score, dtype=torch.float64)
    expected = posterior_as_printed(score, statistics, prior=prior).item()
    assume(not math.isnan(expected))  # where both densities underflow
    raw = posterior(score, statistics, prior=prior, monotone=False)
    assert raw.item() == pytest.approx(expected, rel=1e-6, abs=1e-12)


@settings(max_examples=150, deadline=None)
@given(statistics=STATISTICS, prior=PRIORS)
def test_monotone_posterior_never_falls_and_is_bayes_rule_between_the_turning_points(statistics, prior):
    scores = torch.linspace(-3, 3, 601, dtype=torch.float64)
    monotone = log_odds(scores, statistics, prior=prior)
    assert (monotone.diff() >= -1e-9 * monotone.abs().max()).all()
    lowest, highest = statistics.rising
    inside = (scores >= lowest) & (scores <= highest)
    torch.testing.assert_close(monotone[inside], log_odds(scores, statistics, prior=prior, monotone=False)[inside])


def test_equal_deviations_have_no_turning_point():
    assert Statistics(0.6, 0.1, 0.3, 0.1).rising == (-math.inf, math.inf)
    reversed_means = Statistics(0.3, 0.1, 0.6, 0.1)  # matches score lower: the posterior must not fall
    assert posterior(torch.tensor([0.3, 0.6, 0.9]), reversed_means).unique().numel() == 1


@settings(max_examples=100, deadline=None)
@given(
    statistics=st.builds(Statistics, MEANS, st.floats(0, 0.5), MEANS, st.floats(0, 0.5)),
    score=st.sampled_from([-math.inf, -1e30, -5.0, 0.3, 5.0, 1e30, math.inf]),
    dtype=st.sampled_from([torch.float32, torch.float64, torch.bfloat16]),
    monotone=st.booleans(),
)
def test_posterior_is_a_probability_for_any_score(statistics, score, dtype, monotone):
    value = posterior(torch.tensor(score).to(dtype), statistics, monotone=monotone)
    assert 0 <= value.item() <= 1 and value.dtype != torch.bfloat16


# The weights, Eq. 13.

APART = st.builds(Statistics, st.floats(0, 1), st.floats(0.02, 0.5), st.floats(-1, 0.5), st.floats(0.02, 0.5))
RELEASED = {"threshold": 0.001, "steepness": 0.5}


def weight(score, positive_score, probability, *, threshold=0.01, sharpness, steepness=1.0, lowest=-math.inf) -> float:
    """Eq. 13; with a steepness of 0.5 and a lowest score what METHODS 1.3 and 1.5 say of the public code."""
    if score <= lowest:
        return 0.0
    easy = probability < threshold
    return math.exp(-sharpness * (score - positive_score) ** 2 if easy else -steepness * probability)


@settings(max_examples=60, deadline=None)
@given(statistics=APART, seed=st.integers(0, 10**6), sharpness=st.floats(0, 20), monotone=st.booleans())
def test_both_presets_are_their_equations(statistics, seed, sharpness, monotone):
    scores = torch.rand(2, 20, dtype=torch.float64, generator=generator(seed)) * 2 - 1
    positive_scores = torch.tensor([0.7, 0.2], dtype=torch.float64)
    probabilities = posterior(scores, statistics, prior=0.01, monotone=monotone)
    options = {"prior": 0.01, "sharpness": sharpness, "monotone": monotone}
    for preset, code in (("paper", {}), ("released", RELEASED | {"lowest": statistics.positive_mean - 0.3})):
        weights = sampling_weights(scores, positive_scores, statistics, preset=preset, margin=0.3, **options)
        for row, column in torch.cartesian_prod(torch.arange(2), torch.arange(20)).tolist():
            values = scores[row, column].item(), positive_scores[row].item(), probabilities[row, column].item()
            # at the threshold itself rounding decides, and the two branches differ
            if abs(values[2] - code.get("threshold", 0.01)) > 1e-9:
                expected = weight(*values, sharpness=sharpness, **code)
                assert weights[row, column].item() == pytest.approx(expected, rel=1e-9)


def test_values_out_of_range_are_refused():
    scores = torch.zeros(1)
    for prior in (0.0, 1.0, math.nan):
        refused("prior", posterior, scores, TYPICAL, prior=prior)
    options = ({"prior": 0.0}, {"threshold": 2.0}, {"sharpness": -1.0}, {"preset": "mine"}, {"negatives": "some"})
    for option in (*options, {"minimum_positives": 0}):
        refused(r"sampler\.", FalseNegativeEliminating, **option)


# The statistics, Eq. 4 and 5.


def trusted_by_loop(scores, positives):
    """The paper's sentence: only when the pair's similarity is higher than that of other non-matching pairs."""
    matched, hardest, pairs = [], ([], []), range(len(scores))
    for i in pairs:
        row = [scores[i][other] for other in pairs if not positives[i][other]]
        column = [scores[other][i] for other in pairs if not positives[other][i]]
        if positives[i][i] and row and column and all(scores[i][i] > score for score in row + column):
            matched.append(scores[i][i])
            hardest[0].append(max(row))
            hardest[1].append(max(column))
    return matched, list(hardest)


@settings(max_examples=80, deadline=None)
@given(seed=st.integers(0, 10**6), pairs=st.integers(1, 6), share=st.floats(0.1, 0.9))
def test_trusted_pairs_are_those_of_the_loop(seed, pairs, share):
    source = generator(seed)
    scores = torch.randint(0, 9, (pairs, pairs), generator=source) / 8
    positives = torch.rand(pairs, pairs, generator=source) < share
    trusted, pair_scores, hardest = trusted_pairs(scores, positives)
    result = pair_scores[trusted].tolist(), hardest[:, trusted].tolist()
    assert result == trusted_by_loop(scores.tolist(), positives.tolist())


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_what_is_not_finite_does_not_reach_the_statistics(value):
    scores = torch.tensor([[value, 0.1, 0.2], [0.1, 0.9, 0.3], [0.2, 0.0, 0.8]])
    for negatives in ("hardest", "all"):
        sampler = FalseNegativeEliminating(negatives=negatives)
        sampler.observe(scores, torch.eye(3).bool())
        assert sampler.statistics.positive_mean == pytest.approx(0.85)
        assert all(map(math.isfinite, vars(sampler.statistics).values()))


def test_a_deviation_small_beside_its_mean_keeps_its_digits():
    moments = RunningMoments()
    for _ in range(1000):
        moments.add(1e8 + torch.tensor([-1e-3, 1e-3], dtype=torch.float64), torch.ones(2, dtype=torch.bool))
    assert moments.tensors("cpu")[2].item() == pytest.approx(
        1e-3, rel=1e-4
    )  # a sum of squares gives 0 or the root of a negative


@pytest.mark.parametrize("statistics", ["hardest", "all"])
def test_statistics_are_those_of_all_batches_together(statistics):
    sampler, positives, negatives = FalseNegativeEliminating(negatives=statistics), [], []
    mask = torch.eye(6).bool()
    for seed in range(5):
        scores = torch.rand(6, 6, generator=generator(seed)) * 0.7 + torch.eye(6) * 0.4
        sampler.observe(scores.T if seed % 2 else scores, mask)  # both directions say the same
        matched, hardest = trusted_by_loop(scores.tolist(), mask.tolist())
        positives += matched
        negatives += [*hardest[0], *hardest[1]] if statistics == "hardest" else scores[~mask].tolist()
    sampler.observe(torch.ones(1, 1), torch.ones(1, 1).bool())
    sampler.observe(torch.ones(0, 0), torch.ones(0, 0).bool())
    assert 0 < len(positives) < 30  # some were not mutually best
    result = sampler.statistics
    assert (result.positive_mean, result.negative_mean) == pytest.approx((fmean(positives), fmean(negatives)))
    assert (result.positive_std, result.negative_std) == pytest.approx((pstdev(positives), pstdev(negatives)))


# The sampler.


def distribution(scores, positives, positive_score, preset, *, prior, sharpness, margin=0.2) -> list[float]:
    """Eq. 5, 9 and 13 one candidate at a time, for σ⁺ < σ⁻: the posterior holds above its peak."""
    peak = max(
        (step / 1e4 for step in range(-20_000, 20_000)),
        key=lambda s: ((s - 0.3) / 0.15) ** 2 - ((s - 0.6) / 0.1) ** 2,
    )
    code = RELEASED | {"lowest": 0.6 - margin} if preset == "released" else {}
    weights = []
    for score, positive in zip(scores, positives, strict=True):
        probability = posterior_as_printed(torch.tensor(min(score, peak)), TYPICAL, prior=prior).item()
        weights.append(0.0 if positive else weight(score, positive_score, probability, sharpness=sharpness, **code))
    return [value / sum(weights) for value in weights]


@pytest.mark.parametrize(
    ("preset", "prior", "tries"), [("paper", 1e-4, 16), ("released", 0.05, 16), ("paper", 0.05, 1), ("paper", 0.05, 2)]
)
def test_it_draws_with_the_distribution_of_the_equations(monkeypatch, preset, prior, tries):
    """Also with few tries, where many anchors take a draw among all their candidates."""
    monkeypatch.setattr(fne, "TRIES", tries)
    scores = [0.95, 0.8, 0.62, 0.55, 0.45, 0.41, 0.39, 0.2, -0.3, -0.9]
    positives = [False, False, True, False, False, False, False, False, False, True]
    expected = distribution(scores, positives, 0.62, preset, prior=prior, sharpness=3.0)
    times = 40_000
    batch = torch.tensor(scores).expand(times, -1), torch.tensor(positives).expand(times, -1)
    sampler = ready(preset=preset, prior=prior, sharpness=3.0)
    chosen = sampler(*batch, torch.full((times,), 0.62), generator=generator())
    counts = torch.bincount(chosen, minlength=len(scores)).tolist()
    possible = [index for index, share in enumerate(expected) if share > 0]
    assert sum(counts[index] for index in possible) == times
    fit = chisquare([counts[index] for index in possible], [expected[index] * times for index in possible])
    assert fit.pvalue > 1e-3


def test_until_200_positives_have_been_seen_it_takes_the_hardest():
    sampler, pairs = FalseNegativeEliminating(), torch.eye(50) * 0.8
    scores = torch.rand(50, 50, generator=generator()) * 0.5
    batch = scores, torch.eye(50).bool(), torch.ones(50)
    hardest = Hardest()(*batch, generator=generator())
    for _ in range(4):
        assert not sampler.ready and torch.equal(sampler(*batch, generator=generator()), hardest)
        sampler.observe(pairs + scores, torch.eye(50).bool())
    assert sampler.ready and not torch.equal(sampler(*batch, generator=generator()), hardest)
    sampler.start_epoch(1)
    assert not sampler.ready


def test_an_anchor_whose_weights_are_all_zero_takes_its_best():
    scores = torch.tensor([[0.1, 0.3, 0.2, 0.9], [0.1, 0.3, 0.9, 0.5], [0.1, 0.2, 0.3, 0.4]])
    positives = torch.tensor([[False, False, False, True], [False, False, True, False], [True] * 4])
    for seed in range(20):  # below μ⁺ - margin = 0.4 the released weights are 0
        chosen = ready(preset="released")(scores, positives, torch.full((3,), 0.9), generator=generator(seed))
        assert chosen.tolist() == [1, 3, -1]


def test_a_checkpoint_brings_back_what_it_chooses():
    sampler, other = FalseNegativeEliminating(minimum_positives=5), FalseNegativeEliminating(minimum_positives=5)
    scores = torch.rand(9, 9, generator=generator()) + torch.eye(9)
    sampler.observe(scores, torch.eye(9).bool())
    state = sampler.state_dict()
    other.load_state_dict(state)
    sampler.observe(scores, torch.eye(9).bool())  # what was saved does not change with the sampler
    assert other.positive_moments.state[0] < sampler.positive_moments.state[0]
    other.observe(scores, torch.eye(9).bool())
    answers = [
        chooser(scores, torch.eye(9).bool(), torch.ones(9), generator=generator(3)) for chooser in (sampler, other)
    ]
    assert torch.equal(*answers) and sampler.statistics == other.statistics


# On a GPU.


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    preset=st.sampled_from(["paper", "released"]),
    is_ready=st.booleans(),
    anchors=st.integers(1, 40),
)
def test_a_processor_and_a_device_choose_alike(seed, preset, is_ready, anchors):
    source, sampler = generator(seed), ready(preset=preset, ready=is_ready, prior=0.05)
    scores = torch.rand(anchors, 12, generator=source) * 1.4 - 0.4
    batch = scores, torch.rand(anchors, 12, generator=source) < 0.3, torch.rand(anchors, generator=source)
    on_processor = sampler(*batch, generator=generator(seed))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fne, "may_be_read", lambda values: False)
        assert torch.equal(sampler(*batch, generator=generator(seed)), on_processor)
