"""FNE's sampler: what it gathers, when it starts to sample, and how often it takes what."""

import math
from statistics import fmean, pstdev

import pytest
import torch
from scipy.stats import chisquare

from itmlab.errors import ItmlabError
from itmlab.samplers import FalseNegativeEliminating, Hardest, false_negatives

POSITIVE, NEGATIVE = (0.6, 0.1), (0.3, 0.15)


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


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


def distribution(scores, positives, positive_score, preset, *, prior=1e-4, sharpness=0.5, margin=0.2) -> list[float]:
    """Eq. 5, 9 and 13 one candidate at a time, for σ⁺ < σ⁻: the posterior holds above its peak."""
    (mean, deviation), (other_mean, other_deviation) = POSITIVE, NEGATIVE
    peak = max(
        (step / 1e4 for step in range(-20_000, 20_000)),
        key=lambda s: ((s - other_mean) / other_deviation) ** 2 - ((s - mean) / deviation) ** 2,
    )
    weights = []
    for score, positive in zip(scores, positives, strict=True):
        s = min(score, peak)
        match = prior * math.exp(-(((s - mean) / deviation) ** 2) / 2) / deviation
        mismatch = (1 - prior) * math.exp(-(((s - other_mean) / other_deviation) ** 2) / 2) / other_deviation
        probability = match / (match + mismatch)
        if probability >= (0.01 if preset == "paper" else 0.001):
            weight = math.exp(-probability if preset == "paper" else -probability / 2)
        else:
            weight = math.exp(-sharpness * (score - positive_score) ** 2)
        if positive or (preset == "released" and score < mean - margin):
            weight = 0.0
        weights.append(weight)
    return [weight / sum(weights) for weight in weights]


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
    monkeypatch.setattr(false_negatives, "TRIES", tries)
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
    sampler, positives, negatives = FalseNegativeEliminating(statistics=statistics), [], []
    mask = torch.eye(6).bool()
    for seed in range(5):
        scores = torch.rand(6, 6, generator=generator(seed)) * 0.7 + torch.eye(6) * 0.4
        sampler.observe(scores, mask)
        for i in range(6):
            row = [scores[i, j].item() for j in range(6) if j != i]
            column = [scores[j, i].item() for j in range(6) if j != i]
            if scores[i, i] > max(row + column):
                positives.append(scores[i, i].item())
                negatives += [max(row)] if statistics == "hardest" else []
            negatives += row if statistics == "all" else []
    assert 0 < len(positives) < 30  # some were not mutually best
    found = sampler.statistics
    assert (found.positive_mean, found.negative_mean) == pytest.approx((fmean(positives), fmean(negatives)))
    assert (found.positive_deviation, found.negative_deviation) == pytest.approx((pstdev(positives), pstdev(negatives)))


def test_a_batch_and_its_transpose_add_the_same_positives_and_each_their_anchors_negatives():
    scores = torch.tensor([[0.9, 0.1, 0.2], [0.3, 0.8, 0.4], [0.0, 0.1, 0.7]])
    images, captions = FalseNegativeEliminating(), FalseNegativeEliminating()
    images.observe(scores, torch.eye(3).bool())
    captions.observe(scores.T, torch.eye(3).bool())
    assert images.positive_moments.mean == captions.positive_moments.mean == pytest.approx(0.8)
    assert images.negative_moments.mean == pytest.approx((0.2 + 0.4 + 0.1) / 3)
    assert captions.negative_moments.mean == pytest.approx((0.3 + 0.1 + 0.4) / 3)


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
        {"statistics": "some"},
        {"minimum_positives": 0},
    ],
    ids=str,
)
def test_options_out_of_range_are_refused(option):
    with pytest.raises(ItmlabError, match="FNE"):
        FalseNegativeEliminating(**option)
