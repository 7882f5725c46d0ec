"""The filter's worth against counting by hand."""

import pytest
import torch

from itmlab.errors import ItmlabError
from itmlab.explain import Made, truth_by_filter
from itmlab.synthesis import Negative
from itmlab.text import Span

from .small_world import small_set


def negative(caption: int, image: int, sentence: str, word: str, truth: bool | None) -> Negative:
    return Negative(sentence, image, caption, (Span(1, 2),), ("red",), (word,), ("attribute",), truth=truth)


@pytest.fixture
def made() -> Made:
    data = small_set(2)  # "A red square.", "there is a square that is red"; the same in blue
    first = [
        negative(0, 0, "A there square.", "there", True),
        negative(0, 0, "A blue square.", "blue", False),
        negative(0, 0, "A crimson square.", "crimson", True),
        negative(0, 0, "A odd square.", "odd", None),
    ]
    return Made(data, "tags", (0, 2), [first, [negative(2, 1, "A red square.", "red", False)]], None)


def test_each_form_of_the_filter_chooses_from_the_same_candidates(made):
    table = truth_by_filter(made, keep=3, implied={"red": {"crimson"}})
    assert list(table) == ["before the filter", "after the filter", "with implied words"]
    counts = [(one.share.count, one.share.of, one.undecided) for one in table.values()]
    assert counts == [(2, 4, 0), (2, 3, 1), (2, 2, 1)]


def test_without_implied_words_there_are_two_forms(made):
    assert list(truth_by_filter(made, keep=None, implied={})) == ["before the filter", "after the filter"]


def test_without_a_world_nobody_can_say(made):
    data = small_set(2)
    data.world = None
    with pytest.raises(ItmlabError, match="nobody says what is true"):
        truth_by_filter(Made(data, "tags", (0,), [[]], torch.zeros(1)))
