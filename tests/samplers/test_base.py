"""What holds for every sampler, whatever the scores."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chi2_contingency

from itmlab.errors import ItmlabError
from itmlab.samplers import FalseNegativeEliminating, Hardest, Random, SemiHard, Softest
from itmlab.samplers.base import Sampler, draw

DETERMINISTIC = {"hardest": Hardest, "softest": Softest, "semi_hard": SemiHard}
SCORES = [-math.inf, -0.7, -0.1, 0.0, 0.2, 0.2, 0.35, 0.5, 0.9, 1.0, math.inf, math.nan]


def fne(ready: bool = True, **options) -> FalseNegativeEliminating:
    """The sampler after it has seen 1,000 positives and negatives (or none)."""
    sampler = FalseNegativeEliminating(**options)
    count = 1000.0 if ready else 0.0
    sampler.load_state_dict(
        {
            "positive": torch.tensor([count, 0.6, count * 0.1**2], dtype=torch.float64),
            "negative": torch.tensor([count, 0.3, count * 0.15**2], dtype=torch.float64),
        }
    )
    return sampler


EVERY = {
    **DETERMINISTIC,
    "random": Random,
    "fne": fne,
    "fne_released": lambda: fne(preset="released"),
    "fne_raw": lambda: fne(monotone=False),
    "fne_unready": lambda: fne(ready=False),
}


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


@st.composite
def batches(draw_from, scores=SCORES):
    """Scores of any kind with a mask of any kind, in any precision."""
    anchors, candidates = draw_from(st.integers(1, 5)), draw_from(st.integers(1, 7))
    dtype = draw_from(st.sampled_from([torch.float32, torch.bfloat16, torch.float64]))

    def several(values: st.SearchStrategy, number: int) -> st.SearchStrategy:
        return st.lists(values, min_size=number, max_size=number)

    score = st.sampled_from(scores)
    matrix, positive = draw_from(several(several(score, candidates), anchors)), draw_from(several(score, anchors))
    mask = draw_from(several(several(st.booleans(), candidates), anchors))
    return torch.tensor(matrix).to(dtype), torch.tensor(mask), torch.tensor(positive).to(dtype)


@pytest.mark.parametrize("name", EVERY)
@settings(max_examples=60, deadline=None)
@given(batch=batches(), seed=st.integers(0, 1000))
def test_it_takes_a_negative_and_the_unscored_only_for_want_of_others(name, batch, seed):
    scores, positives, positive_scores = batch
    chosen = EVERY[name]()(scores, positives, positive_scores, generator=generator(seed)).tolist()
    for row, index in enumerate(chosen):
        allowed = [column for column in range(scores.shape[1]) if not positives[row, column]]
        scored = [column for column in allowed if scores[row, column] > -math.inf]
        assert index in (scored or allowed or [-1])


@pytest.mark.parametrize("name", EVERY)
@settings(max_examples=20, deadline=None)
@given(batch=batches(), seed=st.integers(0, 1000))
def test_the_same_generator_gives_the_same_choice_and_nothing_is_written_to_the_input(name, batch, seed):
    scores, positives, positive_scores = batch
    before = [tensor.clone() for tensor in batch]
    choices = [EVERY[name]()(*batch, generator=generator(seed)).tolist() for _ in range(2)]
    assert choices[0] == choices[1]
    for tensor, copy in zip((scores, positives, positive_scores), before, strict=True):
        torch.testing.assert_close(tensor, copy, rtol=0, atol=0, equal_nan=True)


@pytest.mark.parametrize("name", [*DETERMINISTIC, "fne_unready", "random"])
@settings(max_examples=20, deadline=None)
@given(batch=batches(), seed=st.integers(0, 1000), padding=st.integers(1, 5))
def test_masked_padding_columns_change_no_choice(name, batch, seed, padding):
    scores, positives, positive_scores = batch
    wide = torch.cat([scores, torch.full((len(scores), padding), 0.9, dtype=scores.dtype)], dim=1)
    mask = torch.cat([positives, torch.ones(len(scores), padding, dtype=torch.bool)], dim=1)
    plain = EVERY[name]()(scores, positives, positive_scores, generator=generator(seed))
    padded = EVERY[name]()(wide, mask, positive_scores, generator=generator(seed))
    assert plain.tolist() == padded.tolist()


@pytest.mark.parametrize("name", EVERY)
@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (0, 0)])
def test_no_anchors_or_no_candidates_is_a_choice_too(name, shape):
    chosen = EVERY[name]()(torch.zeros(shape), torch.zeros(shape).bool(), torch.zeros(shape[0]), generator=generator())
    assert chosen.dtype == torch.int64 and chosen.tolist() == [-1] * shape[0]


@pytest.mark.parametrize(
    ("choice", "fault"),
    [
        ([1, 0, 2], "picked a positive"),
        ([1, 4, -1], "from -1"),
        ([1, 2], "int64"),
        ([1.0, 2.0, 3.0], "int64"),
        (None, "NoneType"),
    ],
)
def test_a_choice_that_is_not_a_negative_for_each_anchor_is_one_clear_error(choice, fault):
    answer = None if choice is None else torch.tensor(choice)

    class Given(Sampler):
        def choose(self, *_, generator):
            return answer

    positives = torch.tensor([[True, False, False, False]]).expand(3, 4)
    with pytest.raises(ItmlabError, match=fault):
        Given()(torch.zeros(3, 4), positives, torch.zeros(3), generator=generator())


def test_a_draw_never_takes_a_weight_of_zero_nor_runs_past_the_end():
    weights = torch.tensor([[0.0, 1e-30, 0.0], [0.0, 0.0, 3.0], [0.0, 0.0, 0.0]])
    for seed in range(200):
        assert draw(weights, generator=generator(seed)).tolist() == [1, 2, -1]


@pytest.mark.parametrize("name", ["random", "fne", "fne_released", "fne_raw"])
def test_masked_padding_columns_change_no_distribution(name):
    times, row = 20_000, torch.tensor([0.1, 0.45, 0.5, 0.55, 0.7])
    wide, counts = torch.cat([row, torch.full((20,), 0.9)]), []
    for scores, mask in ((row, torch.zeros(5).bool()), (wide, torch.arange(25) >= 5)):
        batch = scores.expand(times, -1), mask.expand(times, -1), torch.full((times,), 0.6)
        counts.append(torch.bincount(EVERY[name]()(*batch, generator=generator()), minlength=25))
    assert all(count[5:].sum() == 0 for count in counts)
    table = torch.stack(counts)[:, :5]
    assert chi2_contingency(table[:, table.sum(0) > 0].numpy()).pvalue > 1e-3
