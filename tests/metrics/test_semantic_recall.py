"""Semantic recall against Eq. 4 read query by query."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from itmlab.errors import ItmlabError
from itmlab.metrics import SemanticRanking, recall, semantic_ranking, semantic_recall, semantic_recall_of_each


def by_sorting(similarity, relevance, k, m, removed=None) -> list[float]:
    """Eq. 4: sort by similarity (ties: the less relevant first), sort by relevance, count what both have."""
    found = []
    for row, gains, out in zip(
        similarity, relevance, removed or [[False] * len(similarity[0])] * len(similarity), strict=True
    ):
        pool = [index for index in range(len(row)) if not out[index]]
        retrieved = sorted(pool, key=lambda index: (-row[index], gains[index]))[:k]
        # of the candidates as relevant as the m-th, those that are retrieved come first
        relevant = sorted(pool, key=lambda index: (-gains[index], index not in retrieved))[:m]
        relevant = [index for index in relevant if gains[index] > 0]
        found.append(100 * len(set(relevant) & set(retrieved)) / len(relevant) if relevant else math.nan)
    return found


@st.composite
def matrices(draw):
    source = torch.Generator().manual_seed(draw(st.integers(0, 10**6)))
    shape = draw(st.integers(1, 6)), draw(st.integers(3, 9))
    levels = draw(st.sampled_from([1, 3, 1000]))  # all tied, many ties, hardly any
    return (
        torch.randint(0, levels, shape, generator=source) / levels,
        torch.randint(0, draw(st.sampled_from([2, 4, 1000])), shape, generator=source) / 8,
        torch.rand(shape, generator=source) < 0.15,
    )


@settings(max_examples=150, deadline=None)
@given(drawn=matrices(), data=st.data())
def test_it_is_what_sorting_finds(drawn, data):
    similarity, relevance, positives = drawn
    positives[:, 3:] = False  # so that every query keeps a candidate
    positives[:, 0] = False
    for removed in (None, positives):
        pool = similarity.shape[1] - (0 if removed is None else int(removed.sum(1).max()))
        k, m = data.draw(st.integers(1, pool)), data.draw(st.integers(1, pool))
        options = {} if removed is None else {"positives": removed, "keep_ground_truth": False}
        expected = by_sorting(
            similarity.tolist(), relevance.tolist(), k, m, None if removed is None else removed.tolist()
        )
        found = semantic_recall_of_each(similarity, relevance, k, relevant=m, **options)
        assert found.tolist() == pytest.approx(expected, nan_ok=True)
        # the other direction is a transposed view
        views = similarity.T.contiguous().T, relevance.T.contiguous().T
        assert semantic_recall_of_each(*views, k, relevant=m, **options).tolist() == pytest.approx(
            expected, nan_ok=True
        )
        any_of_them = semantic_recall_of_each(similarity, relevance, k, relevant=m, sense="any", **options)
        assert any_of_them.tolist() == pytest.approx(
            [value if math.isnan(value) else 100.0 * (value > 0) for value in expected], nan_ok=True
        )


@settings(max_examples=60, deadline=None)
@given(drawn=matrices(), data=st.data())
def test_candidates_and_queries_in_another_order_change_nothing(drawn, data):
    similarity, relevance, _ = drawn
    row = data.draw(st.permutations(range(similarity.shape[0])))
    column = data.draw(st.permutations(range(similarity.shape[1])))
    k, m = data.draw(st.integers(1, len(column))), data.draw(st.integers(1, len(column)))
    found = semantic_recall_of_each(similarity, relevance, k, relevant=m)
    moved = semantic_recall_of_each(similarity[row][:, column], relevance[row][:, column], k, relevant=m)
    assert torch.equal(moved.nan_to_num(-1), found[row].nan_to_num(-1))


@settings(max_examples=60, deadline=None)
@given(drawn=matrices(), data=st.data())
def test_ranking_by_relevance_finds_all_there_is_to_find(drawn, data):
    _, relevance, _ = drawn
    relevance = relevance + 0.1
    k, m = (data.draw(st.integers(1, relevance.shape[1])) for _ in range(2))
    assert semantic_recall(relevance, relevance, k, relevant=m) == pytest.approx(100 * min(k, m) / m)
    assert semantic_recall(relevance, relevance, k, relevant=m, sense="any") == 100


def test_where_only_ground_truth_is_relevant_it_is_recall():
    source = torch.Generator().manual_seed(0)
    similarity = torch.rand(20, 100, generator=source)
    positives = torch.arange(100) // 5 == torch.arange(20)[:, None]
    for k in (1, 5, 10):
        assert semantic_recall(similarity, positives.float(), k, relevant=5) == pytest.approx(
            recall(similarity, positives, k, sense="share")
        )


def test_the_blocks_it_is_ranked_in_do_not_show(monkeypatch):
    source = torch.Generator().manual_seed(0)
    similarity = torch.randint(0, 30, (40, 90), generator=source) / 30
    relevance = torch.randint(0, 30, (40, 90), generator=source) / 30
    whole = SemanticRanking.of(similarity, relevance, retrieved=9, ideal=20)
    for block in (1, 200, 90 * 7):
        monkeypatch.setattr(semantic_ranking, "BLOCK", block)
        some = SemanticRanking.of(similarity, relevance, retrieved=9, ideal=20)
        assert torch.equal(some.retrieved, whole.retrieved) and torch.equal(some.ideal, whole.ideal)
    # one ranking answers for every depth up to its own
    assert torch.equal(whole.recalls(4, 7), semantic_recall_of_each(similarity, relevance, 4, relevant=7))


def test_queries_to_which_nothing_is_relevant_are_counted_and_left_out():
    relevance = torch.tensor([[1.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
    similarity = torch.tensor([[3.0, 2.0, 1.0], [3.0, 2.0, 1.0]])
    with pytest.warns(UserWarning, match="SR@1: nothing is relevant to 1 of 2 queries, which are left out"):
        assert semantic_recall(similarity, relevance, 1, relevant=2) == 100
    with pytest.raises(ItmlabError, match="SR@1: nothing is relevant to any query"):
        semantic_recall(similarity, torch.zeros(2, 3), 1, relevant=1)


def test_candidates_that_score_minus_infinity_stand_before_what_is_left_out():
    similarity = torch.tensor([[-math.inf, 0.5, 0.9]])
    relevance = torch.tensor([[1.0, 0.2, 2.0]])
    positives = torch.tensor([[False, False, True]])
    found = semantic_recall(similarity, relevance, 2, relevant=2, positives=positives, keep_ground_truth=False)
    assert found == 100


@pytest.mark.parametrize(
    ("similarity", "relevance", "options", "said"),
    [
        (torch.rand(4, 6), torch.rand(6, 4), {}, r"both be .anchor, candidate.; got \(4, 6\) and \(6, 4\)"),
        (torch.rand(4), torch.rand(4), {}, r"got \(4,\)"),
        (torch.rand(0, 6), torch.rand(0, 6), {}, "empty"),
        (torch.full((4, 6), math.nan), torch.rand(4, 6), {}, "similarity is NaN between query 0 and candidate 0"),
        (torch.rand(4, 6), torch.full((4, 6), math.nan), {}, "relevance is NaN"),
        (torch.rand(4, 6), torch.full((4, 6), -0.5), {}, "relevance is -0.5 between query 0 and candidate 0"),
        (torch.rand(4, 6), torch.full((4, 6), math.inf), {}, "relevance is inf"),
        (torch.rand(4, 6), torch.rand(4, 6), {"k": 7}, "k=7 of 6 candidates — choose k from 1 to 6"),
        (torch.rand(4, 6), torch.rand(4, 6), {"k": 0}, "k=0 of 6"),
        (torch.rand(4, 6), torch.rand(4, 6), {"k": 1.5}, "k=1.5 of 6"),
        (torch.rand(4, 6), torch.rand(4, 6), {"relevant": 7}, "relevant=7 of 6 candidates"),
        (torch.rand(4, 6), torch.rand(4, 6), {"sense": "all"}, "no sense 'all'"),
        (torch.rand(4, 6), torch.rand(4, 6), {"keep_ground_truth": False}, "pass positives="),
        (torch.rand(4, 6), torch.rand(4, 6), {"keep_ground_truth": False, "positives": torch.eye(4)}, r"and \(4, 4\)"),
        (torch.rand(2, 6), torch.rand(2, 6),
         {"k": 5, "keep_ground_truth": False, "positives": torch.eye(2, 6) + torch.eye(2, 6).roll(2, 1)},
         r"k=5 of 4 candidates \(after up to 2 of ground truth are left out\)"),
        (torch.rand(2, 6), torch.rand(2, 6), {"keep_ground_truth": False, "positives": torch.ones(2, 6)}, "larger"),
    ],
    ids=str,
)  # fmt: skip
def test_what_cannot_be_answered_is_said(similarity, relevance, options, said):
    with pytest.raises(ItmlabError, match=said):
        semantic_recall(similarity, relevance, **{"k": 1, "relevant": 1, **options})
