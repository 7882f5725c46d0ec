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
    assert Faults("mine").settle(kept=3) == []
    refused(r"mine: 1 fault in the data: a.jsonl:0: the image .*on_fault=\"skip\"", some_faults(1).settle, kept=0)


@pytest.mark.parametrize("on_fault", ["error", "skip"])
def test_a_cache_that_cannot_be_written_does_not_hide_the_faults(tmp_path, on_fault):
    (tmp_path / "cache").write_text("a file in its place")
    faults = some_faults(25, on_fault=on_fault)
    with pytest.warns(UserWarning, match="nothing is cached here"):
        if on_fault == "skip":
            assert len(faults.settle(kept=3)) == 25
        else:
            with pytest.raises(FaultyData, match="25 faults in the data"):
                faults.settle(kept=3)


def test_nothing_left_after_skipping_is_an_error():
    refused(r"0 images are left.*first fault: a.jsonl:0", some_faults(1, on_fault="skip").settle, kept=0)
