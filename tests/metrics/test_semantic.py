"""SR against Eq. 4 and NCS against Eq. 5, as released and as printed, read query by query; the table of both."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from itmlab.metrics import (
    image_relevance,
    ncs,
    ncs_of_each,
    semantic_recall_of_each,
    semantic_retrieval,
)
from tests.refusals import refused

IMAGES, EACH = 20, 3


@pytest.fixture
def drawn():
    source = torch.Generator().manual_seed(0)
    similarity = torch.rand(IMAGES, IMAGES * EACH, generator=source)
    relevance = torch.rand(IMAGES * EACH, IMAGES, generator=source)
    positives = torch.arange(IMAGES * EACH) // EACH == torch.arange(IMAGES)[:, None]
    return similarity, relevance, positives


def mean_recall(*matrices, **options) -> float:
    return semantic_recall_of_each(*matrices, **options).nanmean().item()


def parts(similarity, relevance, positives, ks, relevant):
    """Each number from the measure of its name, in one direction."""
    without = {"without": positives}
    return {
        "SR": {k: mean_recall(similarity, relevance, k, relevant=relevant) for k in ks},
        "SR(N)": {k: mean_recall(similarity, relevance, k, relevant=relevant, **without) for k in ks},
        "NCS": {k: ncs(similarity, relevance, k) for k in ks},
        "NCS(N)": {k: ncs(similarity, relevance, k, **without) for k in ks},
    }


def test_every_number_is_its_measure(drawn):
    similarity, relevance, positives = drawn
    ks = (1, 5, 10)
    table = semantic_retrieval(similarity, relevance, positives, ks=ks, relevant=7)
    expected = {
        "i2t": parts(similarity, relevance.T, positives, ks, 7),
        "t2i": parts(similarity.T, relevance, positives.T, ks, 7),
    }
    for side, measures in expected.items():
        for name, values in measures.items():
            assert table[name][side] == pytest.approx(values), (side, name)
    for name, measure in (("Nsum", "NCS"), ("Nsum(N)", "NCS(N)")):
        assert table[name] == pytest.approx(sum(sum(expected[side][measure].values()) for side in expected))
    assert table["unanswered"]["NCS"] == {"i2t": 0, "t2i": 0}


def test_unanswered_queries_are_counted_and_left_out(drawn):
    similarity, relevance, positives = drawn
    relevance = relevance * positives.T  # nothing but ground truth is relevant
    relevance[0] = 0
    refused(r"SR\(N\)@1 i2t: nothing is relevant to any query", semantic_retrieval, similarity, relevance, positives)
    relevance[5, 17] = relevance[7, 16] = 0.5
    unanswered = semantic_retrieval(similarity, relevance, positives)["unanswered"]
    assert unanswered["NCS"] == {"i2t": 0, "t2i": 1}
    assert unanswered["NCS(N)"] == unanswered["SR(N)"] == {"i2t": IMAGES - 2, "t2i": IMAGES * EACH - 2}
    few = torch.tensor([[1.0, 2.0], [0.0, 0.0], [0.0, 0.0]])
    with pytest.warns(UserWarning, match="NCS@1: nothing is relevant to 2 of 3 queries"):
        assert ncs(few, few, 1) == 100
    assert ncs_of_each(few, few, 1).nan_to_num().mean() == pytest.approx(100 / 3)  # as the released code counts


def test_the_released_recall_seeks_whole_images(drawn):
    """SR of the images with the largest sum of φ over the captions of the query's image, and of all their captions."""
    similarity, relevance, positives = drawn
    gains = image_relevance(relevance, positives).repeat_interleave(EACH, dim=1)
    shares = []
    for image in range(IMAGES):
        sums = [relevance[image * EACH : image * EACH + EACH, other].sum().item() for other in range(IMAGES)]
        sought = sorted(range(IMAGES), key=sums.__getitem__, reverse=True)[:2]
        first = similarity[image].argsort(descending=True)[:2].tolist()
        shares.append(100 * sum(caption // EACH in sought for caption in first) / (2 * EACH))
    released = semantic_recall_of_each(similarity, gains, 2, relevant=2 * EACH)
    assert released.tolist() == pytest.approx(shares)
    assert (image_relevance(relevance, positives, depth=1) > 0).sum(dim=1).max() <= EACH


@st.composite
def matrices(draw):
    """Scores, relevance, and positives that leave every query candidates."""
    source = torch.Generator().manual_seed(draw(st.integers(0, 10**6)))
    shape = draw(st.integers(1, 6)), draw(st.integers(3, 9))
    levels = draw(st.sampled_from([1, 3, 1000]))  # all tied, many ties, hardly any
    positives = torch.rand(shape, generator=source) < 0.15
    positives[:, 3:] = positives[:, :1] = False
    return (
        torch.randint(0, levels, shape, generator=source) / levels,
        torch.randint(0, draw(st.sampled_from([2, 4, 1000])), shape, generator=source) / 8,
        positives,
    )


def by_sorting(similarity, relevance, k, m, restrict=None, removed=None) -> tuple[list[float], list[float]]:
    """SR@k (Eq. 4) and NCS@k (Eq. 5) of each query: sort by similarity, sort by relevance, count what both have.

    Equal similarity: the less relevant stands first. Of the candidates as relevant as the m-th, those that are
    retrieved come first. NCS as printed (`restrict=m`): both sums over the m most relevant; else over the top k.
    """
    recalls, scores = [], []
    for query, (row, gains) in enumerate(zip(similarity.tolist(), relevance.tolist(), strict=True)):
        pool = [index for index in range(len(row)) if removed is None or not removed[query][index]]
        retrieved = sorted(pool, key=lambda index: (-row[index], gains[index]))[:k]
        ranked = sorted(pool, key=lambda index: (-gains[index], index not in retrieved))
        relevant = [index for index in ranked[:m] if gains[index] > 0]
        recalls.append(100 * len(set(relevant) & set(retrieved)) / len(relevant) if relevant else math.nan)
        ideal = ranked[: restrict or k]
        counted = retrieved if restrict is None else set(retrieved) & set(ideal)
        most = sum(gains[index] for index in ideal)
        scores.append(100 * sum(gains[index] for index in counted) / most if most else math.nan)
    return recalls, scores


@pytest.mark.parametrize("without", [False, True])
@settings(max_examples=100, deadline=None)
@given(drawn=matrices(), data=st.data())
def test_they_are_the_equations(without, drawn, data):
    similarity, relevance, positives = drawn
    removed = positives if without else None
    options = {"without": positives if without else None}
    pool = similarity.shape[1] - (int(positives.sum(1).max()) if without else 0)
    k, m, printed = (data.draw(st.integers(1, pool)) for _ in range(3))
    restrict = data.draw(st.sampled_from([None, printed]))
    views = similarity.T.contiguous().T, relevance.T.contiguous().T  # the other direction is a transposed view
    recalls, scores = by_sorting(similarity, relevance, k, m, restrict, removed)
    for matrices_ in ((similarity, relevance), views):
        shares = semantic_recall_of_each(*matrices_, k, relevant=m, **options)
        assert shares.tolist() == pytest.approx(recalls, nan_ok=True)
        sums = ncs_of_each(*matrices_, k, restrict=restrict, **options)
        assert sums.tolist() == pytest.approx(scores, rel=1e-5, nan_ok=True)


def test_the_papers_words():
    similarity = torch.tensor([[0.9, 0.8, 0.7, 0.1]])
    relevance = torch.tensor([[2.0, 0.0, 4.0, 6.0]])
    assert ncs(similarity, relevance, 1) == pytest.approx(100 * 2 / 6)
    assert ncs(similarity, relevance, 3) == pytest.approx(100 * 6 / 12)
    assert ncs(similarity, relevance, 3, restrict=2) == pytest.approx(100 * 4 / 10)  # only the third is among the two
    without = {"without": torch.tensor([[True, False, False, False]])}
    assert ncs(similarity, relevance, 1, **without) == 0
    assert ncs(similarity, relevance, 2, **without) == pytest.approx(100 * 4 / 10)
    assert ncs(torch.zeros(1, 4), torch.tensor([[0.0, 1.0, 2.0, 3.0]]), 2) == pytest.approx(20)  # ties: the worst


SCORES = torch.rand(4, 6)


@pytest.mark.parametrize(
    ("similarity", "relevance", "options", "message"),
    [
        (SCORES, SCORES.T, {}, r"one shape; got \(4, 6\) and \(6, 4\)"),
        (torch.rand(0, 6), torch.rand(0, 6), {}, "empty"),
        (torch.full((4, 6), math.nan), SCORES, {}, "similarity is NaN between query 0 and candidate 0"),
        (SCORES, torch.full((4, 6), math.nan), {}, "relevance is NaN"),
        (SCORES, torch.full((4, 6), -0.5), {}, "relevance must be finite"),
        (SCORES, torch.full((4, 6), math.inf), {}, "relevance must be finite"),
        (SCORES, SCORES, {"k": 7}, "k=7 of 6 candidates — choose k from 1 to 6"),
        (SCORES, SCORES, {"k": 1.5}, "k=1.5 of 6"),
        (SCORES, SCORES, {"relevant": 7}, "relevant=7 of 6 candidates"),
        (SCORES, SCORES, {"without": torch.eye(4, 6) > 0, "k": 6}, "k=6 of 5 candidates"),
        (SCORES, SCORES, {"without": torch.ones(4, 6)}, "more"),
    ],
)  # fmt: skip
def test_a_recall_that_cannot_be_answered_is_refused(similarity, relevance, options, message):
    refused(message, semantic_recall_of_each, similarity, relevance, **{"k": 1, "relevant": 1, **options})


def test_a_table_that_cannot_be_made_is_refused(drawn):
    similarity, relevance, positives = drawn
    refused(
        r"transpose of relevance .*got \(20, 60\) and \(60, 20\)",
        semantic_retrieval,
        similarity,
        relevance.T,
        positives,
    )
    refused("k=20 of 19 candidates", semantic_retrieval, similarity, relevance, positives, ks=(20,), relevant=20)
