"""The whole table against its parts, over one pool and over folds."""

import warnings

import pytest
import torch

from itmlab.errors import ItmlabError
from itmlab.metrics import ncs, recall, semantic_recall, semantic_retrieval

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


def test_what_cannot_be_answered_is_said(drawn):
    similarity, relevance, _ = drawn
    with pytest.raises(ItmlabError, match=r"relevance \(caption, image\); got \(20, 60\) and \(20, 60\)"):
        semantic_retrieval(similarity, relevance.T)
    with pytest.raises(ItmlabError, match="k=21 of 20"):
        semantic_retrieval(similarity, relevance, ks=(21,))
    with pytest.raises(ItmlabError, match=r"k=20 of 19 candidates \(after up to 1 of ground truth are left out\)"):
        semantic_retrieval(similarity, relevance, ks=(20,), relevant=20)
    similarity[3, 4] = torch.nan
    with pytest.raises(ItmlabError, match="NaN between query 3 and candidate 4"):
        semantic_retrieval(similarity, relevance)
