"""Running moments and the scores that count (FNE, Sec. 3.2)."""

import math
from statistics import fmean, pstdev

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from itmlab.samplers.statistics import RunningMoments, trusted_scores


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
        assert moments.deviation == pytest.approx(pstdev(values), abs=1e-9)


def test_a_deviation_small_beside_its_mean_keeps_its_digits():
    moments = RunningMoments()
    for _ in range(1000):
        moments.add(1e8 + torch.tensor([-1e-3, 1e-3], dtype=torch.float64))
    assert moments.deviation == pytest.approx(1e-3, rel=1e-4)  # a sum of squares gives 0 or the root of a negative


def test_moments_survive_a_checkpoint():
    moments, copy = RunningMoments(), RunningMoments()
    moments.add(torch.rand(7))
    copy.from_tensor(moments.to_tensor())
    assert vars(copy) == vars(moments)


def trusted_by_loop(scores, positives):
    """The paper's sentence: only when the pair's similarity is higher than that of other non-matching pairs."""
    anchors, candidates = len(scores), len(scores[0])
    matched, hardest = [], {}
    for i in range(anchors):
        for j in range(candidates):
            row = [scores[i][other] for other in range(candidates) if not positives[i][other]]
            column = [scores[other][j] for other in range(anchors) if not positives[other][j]]
            if positives[i][j] and row and column and all(scores[i][j] > score for score in row + column):
                matched.append(scores[i][j])
                hardest[i] = max(row)
    return matched, list(hardest.values())


@settings(max_examples=80, deadline=None)
@given(seed=st.integers(0, 10**6), anchors=st.integers(1, 5), candidates=st.integers(1, 6), share=st.floats(0.1, 0.9))
def test_scores_that_count_are_those_of_the_loop(seed, anchors, candidates, share):
    source = torch.Generator().manual_seed(seed)
    scores = torch.randint(0, 9, (anchors, candidates), generator=source) / 8
    positives = torch.rand(anchors, candidates, generator=source) < share
    matched, hardest = trusted_scores(scores, positives)
    expected = trusted_by_loop(scores.tolist(), positives.tolist())
    assert (sorted(matched.tolist()), sorted(hardest.tolist())) == (sorted(expected[0]), sorted(expected[1]))


def test_another_caption_of_the_image_does_not_unseat_a_positive():
    scores = torch.tensor([[0.6, 0.8, 0.1], [0.7, 0.5, 0.2], [0.0, 0.3, 0.9]])
    ids = torch.tensor([4, 4, 5])
    matched, hardest = trusted_scores(scores, ids[:, None] == ids)
    assert sorted(matched.tolist()) == pytest.approx([0.5, 0.6, 0.7, 0.8, 0.9])
    assert sorted(hardest.tolist()) == pytest.approx([0.1, 0.2, 0.3])


@pytest.mark.parametrize("odd", [math.nan, math.inf])
def test_what_is_not_finite_does_not_reach_the_statistics(odd):
    scores = torch.tensor([[odd, 0.1, 0.2], [0.1, 0.9, 0.3], [0.2, 0.0, 0.8]])
    matched, hardest = trusted_scores(scores, torch.eye(3).bool())
    assert sorted(matched.tolist()) == pytest.approx([0.8, 0.9])
    assert hardest.isfinite().all()
