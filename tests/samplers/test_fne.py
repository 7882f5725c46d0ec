"""FNE from the posterior to the sampler, each part against its equation written out slowly."""

import math
from statistics import fmean, pstdev

import pytest
import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare

from itmlab.errors import ItmlabError
from itmlab.samplers import (
    FalseNegativeEliminating,
    Hardest,
    Statistics,
    fne,
    log_odds,
    monotone_range,
    posterior,
    sampling_weights,
)
from itmlab.samplers.fne import RunningMoments, posterior_as_printed, trusted_scores

POSITIVE, NEGATIVE = (0.6, 0.1), (0.3, 0.15)


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


# The posterior, Eq. 9.

MEANS = st.floats(-1, 1)
DEVIATIONS = st.floats(0.02, 0.5)
STATISTICS = st.builds(Statistics, MEANS, DEVIATIONS, MEANS, DEVIATIONS)
PRIORS = st.floats(1e-6, 0.9)


def density(score: float, mean: float, deviation: float) -> float:
    """Eq. 5."""
    return math.exp(-((score - mean) ** 2) / (2 * deviation**2)) / (deviation * math.sqrt(2 * math.pi))


def by_equation(score: float, statistics: Statistics, prior: float) -> float | None:
    """Eq. 9 as printed; None where both densities underflow."""
    match = prior * density(score, statistics.positive_mean, statistics.positive_std)
    mismatch = (1 - prior) * density(score, statistics.negative_mean, statistics.negative_std)
    return match / (match + mismatch) if match + mismatch > 1e-290 else None


@settings(max_examples=200, deadline=None)
@given(statistics=STATISTICS, prior=PRIORS, score=st.floats(-1, 1))
def test_raw_it_is_bayes_rule(statistics, prior, score):
    expected = by_equation(score, statistics, prior)
    assume(expected is not None)
    score = torch.tensor(score, dtype=torch.float64)
    raw = posterior(score, statistics, prior=prior, monotone=False)
    assert raw.item() == pytest.approx(expected, rel=1e-6, abs=1e-12)
    assert posterior_as_printed(score, statistics, prior=prior).item() == pytest.approx(expected, rel=1e-9)


@settings(max_examples=100, deadline=None)
@given(statistics=STATISTICS, prior=PRIORS)
def test_the_fast_form_is_the_printed_one_wherever_densities_do_not_underflow(statistics, prior):
    scores = torch.linspace(-2, 2, 401, dtype=torch.float64)
    printed = posterior_as_printed(scores, statistics, prior=prior)
    fast = posterior(scores, statistics, prior=prior, monotone=False)
    exponents = [
        ((scores - mean) / deviation).square() / 2
        for mean, deviation in (
            (statistics.positive_mean, statistics.positive_std),
            (statistics.negative_mean, statistics.negative_std),
        )
    ]
    known = torch.minimum(*exponents) < 600  # elsewhere both densities underflow; the fast form has none
    assert known.any() and fast.isfinite().all()
    torch.testing.assert_close(fast[known], printed[known], rtol=1e-6, atol=1e-12)


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
    assume(abs(statistics.positive_std - statistics.negative_std) > 0.01)
    ends = [end for end in monotone_range(statistics) if math.isfinite(end)]
    assert len(ends) == 1
    around = torch.tensor([ends[0] - 1e-2, ends[0], ends[0] + 1e-2], dtype=torch.float64)
    left, middle, right = log_odds(around, statistics, monotone=False).tolist()
    narrow = statistics.positive_std < statistics.negative_std
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


# The weights, Eq. 13.

APART = st.builds(Statistics, st.floats(0, 1), st.floats(0.02, 0.5), st.floats(-1, 0.5), st.floats(0.02, 0.5))


def weight(score, positive_score, probability, *, threshold, sharpness, steepness=1.0, lowest=-math.inf) -> float:
    """Eq. 13; with a steepness of 0.5 and a lowest score what METHODS 1.3 and 1.5 say of the public code."""
    if score <= lowest:
        return 0.0
    easy = probability < threshold
    return math.exp(-sharpness * (score - positive_score) ** 2 if easy else -steepness * probability)


@settings(max_examples=100, deadline=None)
@given(statistics=APART, seed=st.integers(0, 10**6), sharpness=st.floats(0, 20), monotone=st.booleans())
def test_both_presets_are_their_equations(statistics, seed, sharpness, monotone):
    scores = torch.rand(2, 30, dtype=torch.float64, generator=generator(seed)) * 2 - 1
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
                expected = weight(*known, threshold=0.01, sharpness=sharpness)
                assert paper[row, column].item() == pytest.approx(expected, rel=1e-9)
            if abs(known[2] - 0.001) > 1e-9:
                code = {"threshold": 0.001, "steepness": 0.5, "lowest": statistics.positive_mean - 0.3}
                expected = weight(*known, sharpness=sharpness, **code)
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
def test_scores_that_count_are_those_of_the_loop(seed, pairs, share):
    source = generator(seed)
    scores = torch.randint(0, 9, (pairs, pairs), generator=source) / 8
    positives = torch.rand(pairs, pairs, generator=source) < share
    matched, hardest = trusted_scores(scores, positives)
    assert (matched.tolist(), hardest.tolist()) == trusted_by_loop(scores.tolist(), positives.tolist())


def test_another_caption_of_the_image_does_not_unseat_a_positive():
    scores = torch.tensor([[0.6, 0.8, 0.1], [0.7, 0.5, 0.2], [0.0, 0.3, 0.9]])
    ids = torch.tensor([4, 4, 5])
    matched, hardest = trusted_scores(scores, ids[:, None] == ids)
    assert matched.tolist() == pytest.approx([0.6, 0.5, 0.9])
    assert hardest.flatten().tolist() == pytest.approx([0.1, 0.2, 0.3, 0.0, 0.3, 0.2])


def test_a_pair_counts_once_however_many_captions_its_image_has_in_the_batch():
    """32 pairs of 8 images with 4 captions each: the rows of an image are equal, and 128 places of the matrix match."""
    ids = torch.arange(8).repeat_interleave(4)
    positives = ids[:, None] == ids
    scores = (0.5 * positives + 0.1 * torch.rand(8, 32, generator=generator())[ids]).requires_grad_()
    sampler = FalseNegativeEliminating(minimum_positives=33)
    sampler.observe(scores, positives)
    assert sampler.positive_moments.count == 32 and sampler.negative_moments.count == 64 and not sampler.ready
    assert sampler.statistics.positive_mean == pytest.approx(scores.diagonal().mean().item())
    hundred = FalseNegativeEliminating()
    for _ in range(2):
        assert not hundred.ready
        hundred.observe(torch.eye(100), torch.eye(100).bool())
    assert hundred.ready and hundred.positive_moments.count == 200


@pytest.mark.parametrize("odd", [math.nan, math.inf])
def test_what_is_not_finite_does_not_reach_the_statistics(odd):
    scores = torch.tensor([[odd, 0.1, 0.2], [0.1, 0.9, 0.3], [0.2, 0.0, 0.8]])
    matched, hardest = trusted_scores(scores, torch.eye(3).bool())
    assert matched.tolist() == pytest.approx([0.9, 0.8])
    assert hardest.isfinite().all()


@settings(max_examples=60, deadline=None)
@given(st.lists(st.lists(st.floats(-1, 1), max_size=6), max_size=6))
def test_batch_by_batch_is_as_all_at_once(batches):
    moments = RunningMoments()
    for batch in batches:
        moments.add(torch.tensor(batch, dtype=torch.float64))
    values = [value for batch in batches for value in batch]
    assert moments.count == len(values)
    if values:
        assert moments.mean == pytest.approx(fmean(values), abs=1e-12)
        assert moments.std == pytest.approx(pstdev(values), abs=1e-9)


def test_a_deviation_small_beside_its_mean_keeps_its_digits():
    moments = RunningMoments()
    for _ in range(1000):
        moments.add(1e8 + torch.tensor([-1e-3, 1e-3], dtype=torch.float64))
    assert moments.std == pytest.approx(1e-3, rel=1e-4)  # a sum of squares gives 0 or the root of a negative


def test_moments_survive_a_checkpoint():
    moments, copy = RunningMoments(), RunningMoments()
    moments.add(torch.rand(7))
    copy.from_tensor(moments.to_tensor())
    assert vars(copy) == vars(moments)


# The sampler.


def ready(**options) -> FalseNegativeEliminating:
    """A sampler that has seen 1,000 positives and negatives of the means and deviations above."""
    sampler = FalseNegativeEliminating(**options)
    sampler.load_state_dict(
        {
            name: torch.tensor([1000, mean, 1000 * deviation**2], dtype=torch.float64)
            for name, (mean, deviation) in (("positive", POSITIVE), ("negative", NEGATIVE))
        }
    )
    return sampler


def distribution(scores, positives, positive_score, preset, *, prior, sharpness, margin=0.2) -> list[float]:
    """Eq. 5, 9 and 13 one candidate at a time, for σ⁺ < σ⁻: the posterior holds above its peak."""
    (mean, deviation), (other_mean, other_deviation) = POSITIVE, NEGATIVE
    peak = max(
        (step / 1e4 for step in range(-20_000, 20_000)),
        key=lambda s: ((s - other_mean) / other_deviation) ** 2 - ((s - mean) / deviation) ** 2,
    )
    released = {"threshold": 0.001, "steepness": 0.5, "lowest": mean - margin}
    code, weights = released if preset == "released" else {"threshold": 0.01}, []
    for score, positive in zip(scores, positives, strict=True):
        probability = by_equation(min(score, peak), Statistics(*POSITIVE, *NEGATIVE), prior)
        weights.append(0.0 if positive else weight(score, positive_score, probability, sharpness=sharpness, **code))
    return [each / sum(weights) for each in weights]


@pytest.mark.parametrize("preset", ["paper", "released"])
@pytest.mark.parametrize("prior", [1e-4, 0.05])
def test_it_draws_with_the_distribution_of_the_equations(preset, prior):
    scores = [0.95, 0.8, 0.62, 0.55, 0.45, 0.41, 0.39, 0.2, -0.3, -0.9]
    positives = [False, False, True, False, False, False, False, False, False, True]
    expected = distribution(scores, positives, 0.62, preset, prior=prior, sharpness=3.0)
    times = 40_000
    chosen = ready(preset=preset, prior=prior, sharpness=3.0)(
        torch.tensor(scores).expand(times, -1),
        torch.tensor(positives).expand(times, -1),
        torch.full((times,), 0.62),
        generator=generator(),
    )
    counts = torch.bincount(chosen, minlength=len(scores)).tolist()
    possible = [index for index, share in enumerate(expected) if share > 0]
    assert all(counts[index] == 0 for index in range(len(scores)) if index not in possible)
    fit = chisquare([counts[index] for index in possible], [expected[index] * times for index in possible])
    assert fit.pvalue > 1e-3


@pytest.mark.parametrize("tries", [1, 2])
def test_few_tries_and_a_draw_among_all_have_the_same_distribution_together(monkeypatch, tries):
    monkeypatch.setattr(fne, "TRIES", tries)
    test_it_draws_with_the_distribution_of_the_equations("paper", 0.05)


def test_rows_are_drawn_independently_of_each_other():
    scores = torch.tensor([[0.5, 0.45, 0.4], [0.5, 0.45, 0.4]])
    sampler, source = ready(), generator()
    chosen = torch.stack(
        [sampler(scores, torch.zeros(2, 3).bool(), torch.full((2,), 0.6), generator=source) for _ in range(2000)]
    )
    both = torch.bincount(chosen[:, 0] * 3 + chosen[:, 1], minlength=9).double()
    alone = [torch.bincount(chosen[:, row], minlength=3).double() / 2000 for row in (0, 1)]
    expected = torch.outer(*alone).flatten() * 2000
    assert chisquare(both.numpy(), expected.numpy(), ddof=4).pvalue > 1e-3


def test_half_precision_scores_draw_alike():
    scores = torch.tensor([0.5, 0.25, -0.5, 0.75]).expand(500, 4)
    answers = [
        ready()(
            scores.to(dtype), torch.zeros(500, 4).bool(), torch.full((500,), 0.5, dtype=dtype), generator=generator()
        ).tolist()
        for dtype in (torch.float32, torch.bfloat16, torch.float64)
    ]
    assert answers[0] == answers[1] == answers[2]


def test_until_200_positives_have_been_seen_it_takes_the_hardest():
    sampler, pairs = FalseNegativeEliminating(), torch.eye(50) * 0.8
    scores = torch.rand(50, 50, generator=generator()) * 0.5
    hardest = Hardest()(scores, torch.eye(50).bool(), torch.ones(50), generator=generator())
    for seen in range(4):
        assert not sampler.ready and sampler.positive_moments.count == 50 * seen
        chosen = sampler(scores, torch.eye(50).bool(), torch.ones(50), generator=generator())
        assert torch.equal(chosen, hardest)
        sampler.observe(pairs + scores, torch.eye(50).bool())
    assert sampler.ready
    assert not torch.equal(sampler(scores, torch.eye(50).bool(), torch.ones(50), generator=generator()), hardest)
    sampler.start_epoch(1)
    assert not sampler.ready and sampler.positive_moments.count == sampler.negative_moments.count == 0


@pytest.mark.parametrize("statistics", ["hardest", "all"])
def test_statistics_are_those_of_all_batches_together(statistics):
    sampler, positives, negatives = FalseNegativeEliminating(negatives=statistics), [], []
    mask = torch.eye(6).bool()
    for seed in range(5):
        scores = torch.rand(6, 6, generator=generator(seed)) * 0.7 + torch.eye(6) * 0.4
        sampler.observe(scores, mask)
        for i in range(6):
            row = [scores[i, j].item() for j in range(6) if j != i]
            column = [scores[j, i].item() for j in range(6) if j != i]
            if scores[i, i] > max(row + column):
                positives.append(scores[i, i].item())
                negatives += [max(row), max(column)] if statistics == "hardest" else []
            negatives += row if statistics == "all" else []
    assert 0 < len(positives) < 30  # some were not mutually best
    found = sampler.statistics
    assert (found.positive_mean, found.negative_mean) == pytest.approx((fmean(positives), fmean(negatives)))
    assert (found.positive_std, found.negative_std) == pytest.approx((pstdev(positives), pstdev(negatives)))


@pytest.mark.parametrize("statistics", ["hardest", "all"])
def test_a_batch_and_its_transpose_say_the_same(statistics):
    scores = torch.tensor([[0.9, 0.1, 0.2], [0.3, 0.8, 0.4], [0.0, 0.1, 0.7]])
    found = []
    for batch in (scores, scores.T):
        sampler = FalseNegativeEliminating(negatives=statistics)
        sampler.observe(batch, torch.eye(3).bool())
        found.append(list(vars(sampler.statistics).values()))
    assert found[0] == pytest.approx(found[1]) and found[0][0] == pytest.approx(0.8)
    hardest, every = (0.2 + 0.4 + 0.1 + 0.3 + 0.1 + 0.4) / 6, (0.1 + 0.2 + 0.3 + 0.4 + 0.0 + 0.1) / 6
    assert found[0][2] == pytest.approx(hardest if statistics == "hardest" else every)


def test_a_batch_of_one_pair_or_none_says_nothing():
    sampler = FalseNegativeEliminating()
    sampler.observe(torch.ones(1, 1), torch.ones(1, 1).bool())
    sampler.observe(torch.ones(0, 0), torch.ones(0, 0).bool())
    assert sampler.positive_moments.count == sampler.negative_moments.count == 0


def test_an_anchor_all_of_whose_weights_are_zero_takes_its_best():
    scores = torch.tensor([[0.1, 0.3, 0.2, 0.9], [0.1, 0.3, 0.9, 0.5], [0.1, 0.2, 0.3, 0.4]])
    positives = torch.tensor([[False, False, False, True], [False, False, True, False], [True] * 4])
    for seed in range(20):  # below μ⁺ - margin = 0.4 the released weights are 0
        chosen = ready(preset="released")(scores, positives, torch.full((3,), 0.9), generator=generator(seed))
        assert chosen.tolist() == [1, 3, -1]


def test_a_checkpoint_brings_back_what_it_chooses():
    sampler, other = FalseNegativeEliminating(minimum_positives=5), FalseNegativeEliminating(minimum_positives=5)
    scores = torch.rand(9, 9, generator=generator()) + torch.eye(9)
    sampler.observe(scores, torch.eye(9).bool())
    assert all(isinstance(value, torch.Tensor) for value in sampler.state_dict().values())
    other.load_state_dict(sampler.state_dict())
    answers = [one(scores, torch.eye(9).bool(), torch.ones(9), generator=generator(3)) for one in (sampler, other)]
    assert torch.equal(*answers) and sampler.statistics == other.statistics


def test_a_state_from_before_pairs_were_counted_once_goes_on():
    counted = {"positive": [256.0, 0.6, 0.5], "negative": [256.0, 0.3, 0.9]}
    sampler = FalseNegativeEliminating()
    sampler.load_state_dict({name: torch.tensor(each, dtype=torch.float64) for name, each in counted.items()})
    assert sampler.ready and sampler.statistics == Statistics(0.6, (0.5 / 256) ** 0.5, 0.3, (0.9 / 256) ** 0.5)


def test_another_samplers_state_is_refused():
    with pytest.raises(ItmlabError, match="no state of FNE"):
        FalseNegativeEliminating().load_state_dict({})


@pytest.mark.parametrize(
    "option",
    [
        {"prior": 0.0},
        {"prior": 1.0},
        {"threshold": 2.0},
        {"sharpness": -1.0},
        {"preset": "mine"},
        {"negatives": "some"},
        {"minimum_positives": 0},
    ],
    ids=str,
)
def test_options_out_of_range_are_refused(option):
    with pytest.raises(ItmlabError, match="FNE"):
        FalseNegativeEliminating(**option)
