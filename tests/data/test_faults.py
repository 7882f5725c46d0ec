"""Faults: one error for all of them, a list of the rest, and lines that hostile names cannot break."""

import pytest

from itmlab.data.faults import Faults, FaultyData
from tests.refusals import refused


def some_faults(count, **options):
    faults = Faults("mine", **options)
    for row in range(count):
        faults.add("a.jsonl", row, f"the image 'picture {row}.png' has no captions")
    return faults


def test_a_single_fault_is_one_line():
    Faults("mine").settle(kept=3)  # there is none
    refused(r"mine: 1 fault in the data: a.jsonl:0: the image .*on_fault=\"skip\"", some_faults(1).settle, kept=0)


@pytest.mark.parametrize("on_fault", ["error", "skip"])
def test_the_first_twenty_of_many_are_shown(on_fault):
    with pytest.raises(FaultyData, match="25 faults in the data") as caught:
        some_faults(25, on_fault=on_fault).settle(kept=0)  # nothing is left to load
    assert len(caught.value.faults) == 25 and "and 5 more" in str(caught.value)
