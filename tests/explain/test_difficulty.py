"""The difficulty of negatives as a run recorded it."""

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from itmlab.errors import ItmlabError
from itmlab.explain import DifficultyHistory, difficulty_history


def recorded(*counts: list[int]) -> SimpleNamespace:
    """A run that recorded these every tenth step, among other records."""
    history = [{"kind": "epoch", "epoch": 1, "step": 5}]
    history += [
        {"kind": "step", "step": 10 * (row + 1), "difficulty": {"synthetic": mine, "retrieved": mine[::-1]}}
        for row, mine in enumerate(counts)
    ]
    return SimpleNamespace(history=history, directory="runs/one")


def test_the_record_is_read_as_it_stands():
    history = difficulty_history(recorded([1, 0, 2, 0], [0, 3, 0, 0]))
    assert history.steps.tolist() == [10, 20] and history.counts.tolist() == [[1, 0, 2, 0], [0, 3, 0, 0]]
    assert history.edges.tolist() == [-1, -0.5, 0, 0.5, 1]
    assert difficulty_history(recorded([1, 0, 2, 0]), "retrieved").counts.tolist() == [[0, 2, 0, 1]]


def test_as_hard_counts_what_scores_at_least_as_high_as_the_caption():
    hard = difficulty_history(recorded([1, 0, 2, 0], [4, 4, 4, 4], [0, 0, 0, 0])).as_hard()
    assert hard[:2].tolist() == pytest.approx([2 / 3, 1 / 2]) and np.isnan(hard[2])


def test_quantiles_of_one_bin_are_even_within_it():
    history = difficulty_history(recorded([0, 0, 8, 0], [0, 0, 0, 0]))
    assert history.quantile(0.25)[0] == pytest.approx(0.125) and np.isnan(history.quantile(0.5)[1])
    assert history.quantile(1.0)[0] == pytest.approx(0.5)


@given(arrays(np.int64, (3, 8), elements=st.integers(0, 9)), st.floats(0.01, 0.99))
def test_quantiles_are_those_of_points_spread_evenly_in_their_bins(counts, share):
    """Beside numpy's interpolation of the cumulative counts."""
    history = DifficultyHistory(np.arange(3), counts)
    for row, found in enumerate(history.quantile(share)):
        total = counts[row].sum()
        if total == 0:
            assert np.isnan(found)
            continue
        below = sum(
            min(max((found - low) / 0.25, 0), 1) * n for low, n in zip(history.edges, counts[row], strict=False)
        )
        assert below == pytest.approx(share * total, abs=1e-6)


def test_neighbouring_steps_are_added_up_and_nothing_is_lost():
    history = DifficultyHistory(np.arange(10, 80, 10), np.arange(28).reshape(7, 4))
    grouped = history.grouped(3)
    assert grouped.steps.tolist() == [20, 45, 65] and grouped.counts.shape == (3, 4)
    assert grouped.counts.sum(axis=0).tolist() == history.counts.sum(axis=0).tolist()
    assert history.grouped(100).counts.tolist() == history.counts.tolist()


def test_a_run_without_such_negatives_is_refused_in_one_line():
    with pytest.raises(ItmlabError, match="no difficulty of 'swapped' negatives — there are retrieved, synthetic"):
        difficulty_history(recorded([1, 0]), "swapped")
    with pytest.raises(ItmlabError, match=r"runs/one: .* — take a run of"):
        difficulty_history(SimpleNamespace(history=[{"kind": "epoch"}], directory="runs/one"))
