"""The nearest of many vectors, against a plain sort."""

import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from itmlab.train.search import largest
from tests.refusals import refused


@settings(deadline=None, max_examples=50)
@given(st.lists(st.lists(st.integers(0, 5), min_size=9, max_size=9), min_size=1, max_size=4), st.integers(1, 12))
def test_the_largest_are_those_of_a_sort_with_ties_by_place(rows, k):
    scores, places = largest(torch.tensor(rows).float(), k)
    for row, row_scores, row_places in zip(rows, scores.tolist(), places.tolist(), strict=True):
        assert row_places == sorted(range(len(row)), key=lambda place: (-row[place], place))[:k]
        assert row_scores == [row[place] for place in row_places]


def test_none_is_refused():
    refused("at least 1", largest, torch.ones(1, 3), 0)
