"""One query's ranking and its measures."""

import pytest
import torch

from itmlab.errors import ItmlabError
from itmlab.explain import rank

SCORES = torch.tensor([0.1, 0.9, 0.5, 0.7])
RELEVANCE = torch.tensor([2.0, 1.0, 4.0, 0.0])
POSITIVES = torch.tensor([True, False, False, False])


def test_the_best_come_first_with_what_is_known_of_them():
    ranking = rank(SCORES, RELEVANCE, k=3, positives=POSITIVES, truth=torch.tensor([1, 0, -1, 0]))
    assert ranking.index.tolist() == [1, 3, 2] and ranking.relevance.tolist() == [1, 0, 4] and ranking.best == 4
    assert ranking.annotated.tolist() == [False] * 3 and ranking.verdict.tolist() == [0, 0, -1]


def test_the_measures_are_the_share_of_annotated_of_most_relevant_and_of_the_best_sum():
    measures = rank(SCORES, RELEVANCE, k=3, positives=POSITIVES, relevant=2).measures
    assert measures == pytest.approx({"R@3": 0.0, "SR@3": 50.0, "NCS@3": 100 * 5 / 7})


def test_equal_scores_go_by_number():
    assert rank(torch.zeros(4), RELEVANCE, k=2).index.tolist() == [0, 1]


def test_a_typed_query_has_no_ground_truth_and_no_recall():
    ranking = rank(SCORES, RELEVANCE, k=2)
    assert ranking.annotated is None and ranking.verdict is None and set(ranking.measures) == {"SR@2", "NCS@2"}


def test_where_nothing_is_relevant_no_share_is_invented():
    assert rank(SCORES, torch.zeros(4), k=2).measures == {}


@pytest.mark.parametrize(
    ("scores", "relevance", "said"),
    [
        (SCORES, RELEVANCE[:3], "same order"),
        (SCORES * float("nan"), RELEVANCE, "NaN"),
        (SCORES[None], RELEVANCE, "one"),
    ],
)
def test_what_cannot_be_ranked_is_said(scores, relevance, said):
    with pytest.raises(ItmlabError, match=said):
        rank(scores, relevance, k=2)
