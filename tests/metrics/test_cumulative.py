"""NCS against Eq. 5 read query by query, as released and as printed."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from itmlab.errors import ItmlabError
from itmlab.metrics import ncs, ncs_of_each
from tests.metrics.test_semantic_recall import matrices


def by_sorting(similarity, relevance, k, restrict=None, removed=None) -> list[float]:
    """Eq. 5, printed (`restrict=m`): both sums over the m most relevant; released: over what the top k hold."""
    values = []
    for query, (row, gains) in enumerate(zip(similarity, relevance, strict=True)):
        pool = [index for index in range(len(row)) if removed is None or not removed[query][index]]
        retrieved = sorted(pool, key=lambda index: (-row[index], gains[index]))[:k]
        ideal = sorted(pool, key=lambda index: (-gains[index], index not in retrieved))[: restrict or k]
        counted = retrieved if restrict is None else set(retrieved) & set(ideal)
        most = sum(gains[index] for index in ideal)
        values.append(100 * sum(gains[index] for index in counted) / most if most else math.nan)
    return values


@settings(max_examples=150, deadline=None)
@given(drawn=matrices(), data=st.data())
def test_it_is_what_sorting_finds(drawn, data):
    similarity, relevance, positives = drawn
    positives[:, 3:] = False
    positives[:, 0] = False
    for removed in (None, positives):
        pool = similarity.shape[1] - (0 if removed is None else int(removed.sum(1).max()))
        k, m = data.draw(st.integers(1, pool)), data.draw(st.none() | st.integers(1, pool))
        options = {} if removed is None else {"positives": removed, "keep_ground_truth": False}
        found = ncs_of_each(similarity, relevance, k, restrict=m, **options)
        expected = by_sorting(
            similarity.tolist(), relevance.tolist(), k, m, None if removed is None else removed.tolist()
        )
        assert found.tolist() == pytest.approx(expected, nan_ok=True, abs=1e-4)
        assert ((found >= 0) & (found <= 100) | found.isnan()).all()


@settings(max_examples=60, deadline=None)
@given(drawn=matrices(), data=st.data())
def test_a_perfect_ranking_has_100_and_a_better_order_no_less(drawn, data):
    similarity, relevance, _ = drawn
    relevance[:, 0] += 0.1
    candidates = relevance.shape[1]
    k = data.draw(st.integers(1, candidates))
    assert ncs(relevance, relevance, k) == pytest.approx(100)
    assert ncs(relevance, relevance, candidates, restrict=k) == pytest.approx(100)
    # where a worse candidate stands before a better one, letting the two trade places never lowers it
    row = data.draw(st.integers(0, len(similarity) - 1))
    first, second = (data.draw(st.integers(0, candidates - 1)) for _ in range(2))
    if similarity[row, first] > similarity[row, second] and relevance[row, first] < relevance[row, second]:
        better = similarity.clone()
        better[row, [first, second]] = similarity[row, [second, first]]
        for restrict in (None, k):
            assert (
                ncs(better, relevance, k, restrict=restrict) >= ncs(similarity, relevance, k, restrict=restrict) - 1e-6
            )


def test_the_papers_words():
    similarity = torch.tensor([[0.9, 0.8, 0.7, 0.1]])
    relevance = torch.tensor([[2.0, 0.0, 4.0, 6.0]])
    assert ncs(similarity, relevance, 1) == pytest.approx(100 * 2 / 6)
    assert ncs(similarity, relevance, 2) == pytest.approx(100 * 2 / 10)
    assert ncs(similarity, relevance, 3) == pytest.approx(100 * 6 / 12)
    assert ncs(similarity, relevance, 3, restrict=2) == pytest.approx(100 * 4 / 10)  # only the third is among the two
    positives = torch.tensor([[True, False, False, False]])
    assert ncs(similarity, relevance, 1, positives=positives, keep_ground_truth=False) == 0  # 0 / 6, and 0 is known
    assert ncs(similarity, relevance, 2, positives=positives, keep_ground_truth=False) == pytest.approx(100 * 4 / 10)


def test_a_model_that_scores_everything_alike_is_given_the_worst():
    relevance = torch.tensor([[0.0, 1.0, 2.0, 3.0]])
    assert ncs(torch.zeros(1, 4), relevance, 2) == pytest.approx(100 * 1 / 5)


def test_queries_to_which_nothing_is_relevant_are_counted_and_left_out():
    relevance = torch.tensor([[1.0, 2.0], [0.0, 0.0], [0.0, 0.0]])
    with pytest.warns(UserWarning, match="NCS@1: nothing is relevant to 2 of 3 queries"):
        assert ncs(relevance, relevance, 1) == 100
    assert ncs_of_each(relevance, relevance, 1).isnan().tolist() == [False, True, True]
    with pytest.raises(ItmlabError, match="NCS@2: nothing is relevant to any query"):
        ncs(torch.rand(3, 2), torch.zeros(3, 2), 2)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float64, torch.int64])
def test_scores_of_any_precision_are_ranked(dtype):
    similarity = torch.tensor([[3, 2, 1], [1, 2, 3]]).to(dtype)
    assert ncs(similarity, torch.tensor([[1.0, 2.0, 4.0], [4.0, 2.0, 1.0]]), 1) == 25


def test_m_above_the_pool_is_said():
    with pytest.raises(ItmlabError, match="relevant=9 of 6 candidates"):
        ncs(torch.rand(2, 6), torch.rand(2, 6), 1, restrict=9)
