"""SR against Eq. 4 and NCS against Eq. 5, as released and as printed, read query by query; the table of both."""

import math
import warnings

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from itmlab.errors import ItmlabError
from itmlab.metrics import (
    SemanticRanking,
    image_relevance,
    ncs,
    ncs_of_each,
    recall,
    semantic,
    semantic_recall,
    semantic_recall_of_each,
    semantic_retrieval,
)

IMAGES, EACH = 20, 3


@pytest.fixture
def drawn():
    source = torch.Generator().manual_seed(0)
    similarity = torch.rand(IMAGES, IMAGES * EACH, generator=source)
    relevance = torch.rand(IMAGES * EACH, IMAGES, generator=source)
    positives = torch.arange(IMAGES * EACH) // EACH == torch.arange(IMAGES)[:, None]
    return similarity, relevance, positives


def parts(similarity, relevance, positives, ks, relevant, restrict):
    """Each number from the measure of its name, in one direction."""
    without = {"positives": positives, "keep_ground_truth": False}
    return {
        "RV": {k: recall(similarity, positives, k) for k in ks},
        "R": {k: recall(similarity, positives, k, sense="share") for k in ks},
        "SR": {k: semantic_recall(similarity, relevance, k, relevant=relevant) for k in ks},
        "SR(N)": {k: semantic_recall(similarity, relevance, k, relevant=relevant, **without) for k in ks},
        "NCS": {k: ncs(similarity, relevance, k, restrict=restrict) for k in ks},
        "NCS(N)": {k: ncs(similarity, relevance, k, restrict=restrict, **without) for k in ks},
    }


@pytest.mark.parametrize("restrict", [None, 4])
def test_every_number_is_its_measure(drawn, restrict):
    similarity, relevance, positives = drawn
    ks = (1, 5, 10)
    table = semantic_retrieval(similarity, relevance, ks=ks, relevant=7, restrict=restrict)
    expected = {
        "i2t": parts(similarity, relevance.T, positives, ks, 7, restrict),
        "t2i": parts(similarity.T, relevance, positives.T, ks, 7, restrict),
    }
    for side, measures in expected.items():
        for name, values in measures.items():
            assert table[name][side] == pytest.approx(values), (side, name)
    for name, measure in (("Rsum", "RV"), ("Nsum", "NCS"), ("Nsum(N)", "NCS(N)")):
        assert table[name] == pytest.approx(sum(sum(expected[side][measure].values()) for side in expected))
    assert table["unanswered"]["NCS"] == {"i2t": 0, "t2i": 0}
    assert semantic_retrieval(similarity, relevance, positives, ks=ks, relevant=7, restrict=restrict) == table


def test_folds_are_blocks_of_their_own_averaged(drawn):
    similarity, relevance, _ = drawn
    table = semantic_retrieval(similarity, relevance, ks=(1, 3), relevant=2, folds=4)
    blocks = [
        semantic_retrieval(
            similarity[5 * fold : 5 * fold + 5, 15 * fold : 15 * fold + 15],
            relevance[15 * fold : 15 * fold + 15, 5 * fold : 5 * fold + 5],
            ks=(1, 3),
            relevant=2,
        )
        for fold in range(4)
    ]
    for name in ("RV", "R", "SR", "SR(N)", "NCS", "NCS(N)"):
        for side in ("i2t", "t2i"):
            for k in (1, 3):
                assert table[name][side][k] == pytest.approx(sum(block[name][side][k] for block in blocks) / 4)


def test_a_model_that_ranks_by_relevance_has_600(drawn):
    _, relevance, _ = drawn
    table = semantic_retrieval(relevance.T, relevance)
    assert table["Nsum"] == pytest.approx(600) and table["Nsum(N)"] == pytest.approx(600)
    assert table["SR"]["t2i"][10] == 100


def test_queries_that_nothing_is_relevant_to_are_counted_without_a_warning(drawn):
    similarity, relevance, positives = drawn
    relevance = relevance * positives.T  # nothing but ground truth is relevant
    relevance[0] = 0
    with (
        warnings.catch_warnings(),
        pytest.raises(ItmlabError, match=r"SR\(N\)@1 i2t: nothing is relevant to any query"),
    ):
        warnings.simplefilter("error")
        semantic_retrieval(similarity, relevance)
    relevance[5, 17] = relevance[7, 16] = 0.5
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        table = semantic_retrieval(similarity, relevance)
    assert table["unanswered"]["NCS"] == {"i2t": 0, "t2i": 1}
    assert (
        table["unanswered"]["NCS(N)"] == table["unanswered"]["SR(N)"] == {"i2t": IMAGES - 2, "t2i": IMAGES * EACH - 2}
    )


def test_as_released_unanswered_queries_count_zero(drawn):
    similarity, relevance, _ = drawn
    relevance[0] = 0
    as_zero = ncs(similarity.T, relevance, 5, unanswered="zero")
    assert as_zero == pytest.approx(ncs_of_each(similarity.T, relevance, 5).nanmean().item() * 59 / 60)
    table = semantic_retrieval(similarity, relevance, unanswered="zero")
    assert table["NCS"]["t2i"][5] == pytest.approx(as_zero) and table["unanswered"]["NCS"]["t2i"] == 1
    assert semantic_recall(similarity, torch.zeros(20, 60), 1, relevant=1, unanswered="zero") == 0
    with pytest.raises(ItmlabError, match="no way 'none' with unanswered queries"):
        ncs(similarity, relevance.T, 1, unanswered="none")


@pytest.mark.parametrize("folds", [1, 4])
def test_as_released_whole_images_are_relevant(drawn, folds):
    """SR of the images with the largest sum of φ over the query's image's captions, and of all their captions."""
    similarity, relevance, _ = drawn
    table = semantic_retrieval(similarity, relevance, ks=(2,), relevant=2, relevant_items="images", folds=folds)
    size, found = IMAGES // folds, {"SR": [], "SR(N)": []}
    for image in range(IMAGES):
        pool = range(image // size * size, image // size * size + size)
        sums = {other: relevance[image * EACH : image * EACH + EACH, other].sum().item() for other in pool}
        for name, out in (("SR", None), ("SR(N)", image)):
            wanted = sorted((other for other in pool if other != out), key=sums.get, reverse=True)[:2]
            captions = [c for other in pool if other != out for c in range(other * EACH, other * EACH + EACH)]
            first = sorted(captions, key=lambda c: -similarity[image, c].item())[:2]
            found[name].append(sum(c // EACH in wanted for c in first) / (2 * EACH))
    for name, shares in found.items():
        assert table[name]["i2t"][2] == pytest.approx(100 * sum(shares) / IMAGES, rel=1e-6)
    shallow = image_relevance(relevance, torch.eye(IMAGES).repeat_interleave(EACH, 1).bool(), depth=1)
    assert (shallow > 0).sum(dim=1).max() <= EACH and shallow.max() <= EACH


def test_a_table_that_cannot_be_made_is_said(drawn):
    similarity, relevance, positives = drawn
    with pytest.raises(ItmlabError, match='"images" needs as many captions for each image'):
        semantic_retrieval(similarity[:, 1:], relevance[1:], positives[:, 1:], relevant=1, relevant_items="images")
    with pytest.raises(ItmlabError, match="no relevant items 'captions'"):
        semantic_retrieval(similarity, relevance, relevant_items="captions")
    with pytest.raises(ItmlabError, match=r"relevance \(caption, image\); got \(20, 60\) and \(20, 60\)"):
        semantic_retrieval(similarity, relevance.T)
    with pytest.raises(ItmlabError, match="k=21 of 20"):
        semantic_retrieval(similarity, relevance, ks=(21,))
    with pytest.raises(ItmlabError, match=r"k=20 of 19 candidates \(after up to 1 of ground truth are left out\)"):
        semantic_retrieval(similarity, relevance, ks=(20,), relevant=20)
    similarity[3, 4] = torch.nan
    with pytest.raises(ItmlabError, match="NaN between query 3 and candidate 4"):
        semantic_retrieval(similarity, relevance)


def recall_by_sorting(similarity, relevance, k, m, removed=None) -> list[float]:
    """Eq. 4: sort by similarity (ties: the less relevant first), sort by relevance, count what both have."""
    found = []
    for query, (row, gains) in enumerate(zip(similarity, relevance, strict=True)):
        pool = [index for index in range(len(row)) if removed is None or not removed[query][index]]
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
def test_recall_is_what_sorting_finds(drawn, data):
    similarity, relevance, positives = drawn
    positives[:, 3:] = False  # so that every query keeps a candidate
    positives[:, 0] = False
    for removed in (None, positives):
        pool = similarity.shape[1] - (0 if removed is None else int(removed.sum(1).max()))
        k, m = data.draw(st.integers(1, pool)), data.draw(st.integers(1, pool))
        options = {} if removed is None else {"positives": removed, "keep_ground_truth": False}
        expected = recall_by_sorting(
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
        monkeypatch.setattr(semantic, "BLOCK", block)
        some = SemanticRanking.of(similarity, relevance, retrieved=9, ideal=20)
        assert torch.equal(some.retrieved, whole.retrieved) and torch.equal(some.ideal, whole.ideal)
    # one ranking answers for every depth up to its own
    assert torch.equal(whole.recalls(4, 7), semantic_recall_of_each(similarity, relevance, 4, relevant=7))


def test_recall_counts_queries_to_which_nothing_is_relevant_and_leaves_them_out():
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
)  # fmt: skip
def test_a_recall_that_cannot_be_answered_is_said(similarity, relevance, options, said):
    with pytest.raises(ItmlabError, match=said):
        semantic_recall(similarity, relevance, **{"k": 1, "relevant": 1, **options})


def ncs_by_sorting(similarity, relevance, k, restrict=None, removed=None) -> list[float]:
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
def test_ncs_is_what_sorting_finds(drawn, data):
    similarity, relevance, positives = drawn
    positives[:, 3:] = False
    positives[:, 0] = False
    for removed in (None, positives):
        pool = similarity.shape[1] - (0 if removed is None else int(removed.sum(1).max()))
        k, m = data.draw(st.integers(1, pool)), data.draw(st.none() | st.integers(1, pool))
        options = {} if removed is None else {"positives": removed, "keep_ground_truth": False}
        found = ncs_of_each(similarity, relevance, k, restrict=m, **options)
        expected = ncs_by_sorting(
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


def test_ncs_counts_queries_to_which_nothing_is_relevant_and_leaves_them_out():
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


def test_an_m_above_the_pool_is_said():
    with pytest.raises(ItmlabError, match="relevant=9 of 6 candidates"):
        ncs(torch.rand(2, 6), torch.rand(2, 6), 1, restrict=9)
