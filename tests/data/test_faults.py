"""Faults: one error for all of them, a list of the rest, and lines that hostile names cannot break."""

import pytest

from itmlab.data.faults import Fault, Faults, FaultyData, one_line
from itmlab.errors import ItmlabError
from tests.refusals import refused


def test_one_fault_is_one_line():
    faults = Faults("made")
    faults.add("a.jsonl", 3, "it is empty")
    with pytest.raises(FaultyData, match=r"made: 1 fault in the data: a.jsonl:3: it is empty — .*on_fault=\"skip\""):
        faults.settle(kept=0)


def test_the_same_fault_is_told_once_with_a_count_and_the_first_places(tmp_path):
    faults = Faults("made")
    for row in range(25):
        faults.add("a.jsonl", row, f"the image 'picture {row}.png' has no captions")
        faults.add(f"{row}.npz", None, f"boxes from 10 to {100 + row}, not shares of the image")
    faults.add("a.jsonl", 99, "malformed row")
    with pytest.raises(FaultyData) as caught:
        faults.settle(kept=0)
    lines = str(caught.value).splitlines()
    assert lines[:4] == [
        "made: 51 faults in the data:",
        "  a.jsonl:0: the image 'picture 0.png' has no captions (and 24 like it: a.jsonl:1, a.jsonl:2, a.jsonl:3, …)",
        "  0.npz: boxes from 10 to 100, not shares of the image (and 24 like it: 1.npz, 2.npz, 3.npz, …)",
        "  a.jsonl:99: malformed row",
    ]
    assert lines[4].startswith("  … all 51 are listed in ") and len(lines) == 6
    assert len(caught.value.faults) == 51
    listed = next((tmp_path / "cache" / "faults").iterdir())
    assert len(listed.read_text().splitlines()) == 51


def test_of_twenty_kinds_and_more_the_first_are_told():
    faults = Faults("made")
    for number in range(25):
        faults.add("a.jsonl", number, f"fault {chr(97 + number)}")
    with pytest.raises(FaultyData) as caught:
        faults.settle(kept=0)
    lines = str(caught.value).splitlines()
    assert lines[20] == "  a.jsonl:19: fault t" and lines[21].startswith("  … all 25 are listed in ")


@pytest.mark.parametrize("on_fault", ["error", "skip"])
def test_where_the_cache_cannot_be_written_the_faults_are_told_all_the_same(tmp_path, on_fault):
    (tmp_path / "cache").write_text("a file in its place")
    faults = Faults("made", on_fault=on_fault)
    for row in range(25):
        faults.add("a.jsonl", row, "it is empty")
    with pytest.warns(UserWarning) as warned:
        if on_fault == "skip":
            assert len(faults.settle(kept=3)) == 25
        else:
            refused(r"25 faults in the data: a.jsonl:0: it is empty \(and 24 like it", faults.settle, kept=3)
    said = [str(one.message) for one in warned]
    assert f"{tmp_path}/cache: nothing is kept here (" in said[0]
    assert (
        said[1:] == ["made: skipped 25 faults, 3 images are left; first fault: a.jsonl:0: it is empty"][: len(said) - 1]
    )


def test_a_list_of_what_was_skipped_overwrites_its_like_alone(tmp_path):
    out = tmp_path / "captions.jsonl"
    out.write_text('{"image": "a.png"}\n')
    faults = Faults("made", on_fault="skip", skipped_to=out)
    faults.add("a.jsonl", 3, "it is empty")
    refused("itmlab did not write this file", faults.settle, kept=1)
    assert out.read_text() == '{"image": "a.png"}\n'
    out.unlink()
    for _ in range(2):
        with pytest.warns(UserWarning, match="skipped 1 fault"):
            faults.settle(kept=1)
    assert len(out.read_text().splitlines()) == 1


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
