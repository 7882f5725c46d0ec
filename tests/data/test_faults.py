"""Faults: one error for all of them, a list of the rest, and lines that hostile names cannot break."""

import pytest

from itmlab.data.faults import Fault, Faults, FaultyData, one_line
from itmlab.errors import ItmlabError


def test_one_fault_is_one_line():
    faults = Faults("made")
    faults.add("a.jsonl", 3, "it is empty")
    with pytest.raises(FaultyData, match=r"made: 1 fault in the data: a.jsonl:3: it is empty — .*on_fault=\"skip\""):
        faults.settle(kept=0)


def test_many_faults_are_a_line_each_and_the_rest_is_listed(tmp_path):
    faults = Faults("made")
    for row in range(25):
        faults.add("a.jsonl", row, "it is empty")
    with pytest.raises(FaultyData) as caught:
        faults.settle(kept=0)
    lines = str(caught.value).splitlines()
    assert lines[0] == "made: 25 faults in the data:"
    assert lines[1:3] == ["  a.jsonl:0: it is empty", "  a.jsonl:1: it is empty"]
    assert "… and 5 more, all listed in " in lines[21]
    assert len(caught.value.faults) == 25
    listed = next((tmp_path / "cache" / "faults").iterdir())
    assert len(listed.read_text().splitlines()) == 25


def test_nothing_left_after_skipping_is_an_error(tmp_path):
    faults = Faults("made", on_fault="skip", skipped_to=tmp_path / "list.jsonl")
    faults.add("a.jsonl", 3, "it is empty")
    with pytest.raises(ItmlabError, match=r"0 images are left.*first fault: a.jsonl:3"):
        faults.settle(kept=0)
    assert (tmp_path / "list.jsonl").exists()


def test_no_fault_is_nothing_said():
    assert Faults("made").settle(kept=3) == []


def test_control_characters_do_not_reach_the_terminal():
    assert one_line("a\nb\x1b[31m\u202ec") == "a\\nb\\x1b[31m\\u202ec"
    assert len(one_line("x" * 1000)) == 400
    assert "\n" not in str(Fault("a\nb", 1, "x"))
