"""The share of made sentences that are false of their picture."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from itmlab.errors import ItmlabError
from itmlab.metrics import true_negative_rate


@settings(max_examples=60, deadline=None)
@given(verdicts=st.lists(st.sampled_from([True, False, None]), max_size=30))
def test_undecided_sentences_are_in_neither_count(verdicts):
    found = true_negative_rate(verdicts)
    assert (found.share.count, found.undecided) == (verdicts.count(False), verdicts.count(None))
    assert found.share.of == len(verdicts) - found.undecided
    if found.share.of:
        assert found.share.percent == pytest.approx(100 * verdicts.count(False) / found.share.of)
        assert found.share.lower <= found.share.percent <= found.share.upper
    else:
        assert math.isnan(found.share.percent)


def test_the_interval_goes_by_the_pictures_of_the_decided():
    verdicts = [False, False, None, True, True, False]
    plain, grouped = true_negative_rate(verdicts), true_negative_rate(verdicts, [0, 0, 7, 1, 1, 2])
    assert plain.share.percent == grouped.share.percent == 60 and grouped.share.lower < plain.share.lower
    assert str(plain) == f"{plain.share} decided; 1 undecided"


def test_what_is_no_verdict_is_refused():
    with pytest.raises(ItmlabError, match="true, false or None, not 'no'"):
        true_negative_rate([True, "no"])
    with pytest.raises(ItmlabError, match="2 verdicts, but 1 images"):
        true_negative_rate([True, False], [0])
