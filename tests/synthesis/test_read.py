"""Files of negatives read back: by caption, for another selection of the data, and every fault told at once."""

import json

import pytest

from itmlab.data.faults import FaultyData
from itmlab.errors import ItmlabError
from itmlab.synthesis.export import export_negatives
from itmlab.synthesis.read import read_negatives
from tests.refusals import refused
from tests.synthesis.negatives_data import caption_set, hostile_set, swaps

ROW = {
    "image_id": "i", "caption_id": "c", "source": "a dog", "negative": "a cat", "spans": [[1, 2]],
    "source_words": ["dog"], "replacement": ["cat"], "phrase_type": ["object"], "score": 1, "fluency": None,
    "truth": False,
}  # fmt: skip
HEADER = {"itmlab_negatives": 1, "captions": 1, "negatives": 1, "left_out": 0}


def written(folder, *rows, header=HEADER, name="x.jsonl"):
    path = folder / name
    lines = [each if isinstance(each, str) else json.dumps(each) for each in (header, *rows)]
    path.write_bytes("".join(f"{line}\n" for line in lines).encode("utf-8", "surrogatepass"))
    return path


@pytest.mark.parametrize("kind", ["jsonl", "tsv", "parquet"])
def test_the_format_is_told_by_the_content(tmp_path, kind):
    data = hostile_set()
    out = export_negatives(data, swaps, tmp_path / "negatives", format=kind, header={"generator": "swaps"}).path
    found = read_negatives(str(out))
    assert found.header["generator"] == "swaps" and found.path == out and len(found) == found.header["negatives"]


def test_negatives_follow_a_selection_of_the_data(tmp_path):
    data = hostile_set()
    found = read_negatives(export_negatives(data, swaps, tmp_path / "x.jsonl", header={}).path)
    whole, part = found.of(data), data.select([3, 0])
    assert [[one.sentence for one in row] for row in found.of(part)] == [
        [one.sentence for one in whole[number]] for number in (6, 7, 0, 1)
    ]
    assert [(one.image, one.caption) for row in found.of(part) for one in row][-1] == (1, 3)


def test_captions_that_changed_are_refused(tmp_path):
    data = hostile_set()
    found = read_negatives(export_negatives(data, swaps, tmp_path / "x.jsonl", header={}).path)
    changed = caption_set([*data.captions[:5], "another", *data.captions[6:]], [number // 2 for number in range(10)])
    refused(r"1 captions of made are not those .* first 'id\\n5'", found.of, changed)
    moved = caption_set(data.captions, [0, 0, *([1] * 8)])
    refused("are not those", found.of, moved)
    refused("no negative is of a caption", found.of, data.select([]))


def test_all_faults_are_told_at_once_with_their_lines(tmp_path):
    rows = [
        ROW,
        "{",
        "[1]",
        {name: value for name, value in ROW.items() if name not in ("source", "truth")},
        ROW | {"caption_id": 3},
        ROW | {"negative": "a\0"},
        ROW | {"negative": "a dog"},
        ROW | {"spans": [[2, 1]]},
        ROW | {"spans": [[0, True]]},
        ROW | {"spans": []},
        ROW | {"replacement": "cat"},
        ROW | {"replacement": [1]},
        ROW | {"score": "high"},
        ROW | {"score": True},
        ROW | {"score": 10**400},
        '{"score": NaN, ' + json.dumps({name: value for name, value in ROW.items() if name != "score"})[1:],
        ROW | {"truth": 1},
        ROW,
        ROW | {"negative": "a cow", "image_id": "j"},
        ROW | {"negative": "a \ud800"},
        ROW | {"spans": [[0, 2**31]]},
    ]
    said = [
        (3, "malformed JSON"),
        (4, "not a JSON object"),
        (5, "no 'source', 'truth'"),
        (6, "the caption_id is 3"),
        (7, "the negative: it holds a NUL character"),
        (8, "the negative is the caption itself"),
        (9, "the span [2, 1] is not two token numbers in order"),
        (10, "the span [0, True]"),
        (11, "0 spans, 1 source_words"),
        (12, "'replacement' is not a list but 'cat'"),
        (13, "'replacement' holds 1, not a text"),
        (14, "the score is 'high'"),
        (15, "the score is True"),
        (16, "the score is 1000"),
        (17, "the score is nan"),
        (18, "the truth is 1"),
        (19, "the same negative as in row 2"),
        (20, "has another image or text"),
        (21, "not valid Unicode"),
        (22, "the span [0, 2147483648] is not two token numbers"),
    ]
    path = written(tmp_path, *rows)
    with pytest.raises(FaultyData) as raised:
        read_negatives(path)
    for (line, what), fault in zip(said, raised.value.faults, strict=True):
        assert fault.row == line and what in fault.what
    with pytest.warns(UserWarning, match="skipped 20 faults"):
        found = read_negatives(path, on_fault="skip", skipped_to=tmp_path / "skipped.jsonl")
    assert len(found) == 1 and len(found.skipped) == 20


def test_bytes_that_are_no_text_are_a_fault_of_their_line(tmp_path):
    path = written(tmp_path, ROW)
    path.write_bytes(path.read_bytes() + b'{"negative": "\xff"}\n')
    with pytest.raises(FaultyData, match=r"x\.jsonl:3: not UTF-8 at byte 14 of the line"):
        read_negatives(path)


def test_faults_of_tab_separated_lines(tmp_path):
    columns = "\t".join(ROW)
    good = "i\tc\ta dog\ta cat\t[[1, 2]]\t[\"dog\"]\t[\"cat\"]\t[\"object\"]\t1\t\tfalse"  # fmt: skip
    header = "# " + json.dumps(HEADER)
    rows = [good, good + "\tmore", good.replace("[[", "[", 1), good.replace("a cat", "a \\x"), ""]
    rows.append(good.replace("1\t\t", "1\tx\t"))
    path = written(tmp_path, columns, *rows, header=header, name="x.tsv")
    with pytest.raises(FaultyData) as raised:
        read_negatives(path)
    assert [(fault.row, fault.what.split(":")[0]) for fault in raised.value.faults] == [
        (4, "malformed row"), (5, "malformed spans"), (6, "malformed negative"), (7, "malformed row"),
        (8, "malformed fluency"),
    ]  # fmt: skip
    path = written(tmp_path, columns + "\tmore", good + "\t", header=header, name="y.tsv")
    assert len(read_negatives(path)) == 1
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    assert len(read_negatives(path)) == 1
    with pytest.raises(ItmlabError, match=r"y\.tsv:2: no column 'image_id'"):
        read_negatives(written(tmp_path, columns.replace("image_id", "image"), good, header=header, name="y.tsv"))
    refused("a column twice", read_negatives, written(tmp_path, columns + "\tscore", good, header=header, name="y.tsv"))


@pytest.mark.parametrize("kind", ["jsonl", "tsv", "parquet"])
def test_no_cut_goes_unnoticed(tmp_path, kind):
    out = export_negatives(hostile_set(4), swaps, tmp_path / f"x.{kind}", header={}).path
    content = out.read_bytes()
    for length in {*range(0, len(content), 37), content.rstrip(b"\n").rfind(b"\n") + 1, len(content) - 1}:
        out.write_bytes(content[:length])
        with pytest.raises(ItmlabError):
            read_negatives(out)


def test_a_spoilt_parquet_file_never_ends_in_another_error(tmp_path):
    out = export_negatives(hostile_set(8), swaps, tmp_path / "x.parquet", header={}).path
    content = out.read_bytes()
    for place in range(len(content) // 2 % 7, len(content), 7):
        out.write_bytes(content[:place] + bytes([content[place] ^ 0xFF]) + content[place + 1 :])
        try:
            read_negatives(out)
        except ItmlabError as error:
            assert "x.parquet" in str(error)


@pytest.mark.parametrize(
    ("header", "said"),
    [
        ("not json", "no header"),
        ({"captions": 1}, "no header"),
        (HEADER | {"itmlab_negatives": 2}, "its layout is number 2"),
        ({"itmlab_negatives": 1, "captions": 1}, "does not say how many negatives"),
        ("[" * 100_000, "no header"),
    ],
)
def test_what_is_no_file_of_negatives_is_one_clear_line(tmp_path, header, said):
    refused(said, read_negatives, written(tmp_path, ROW, header=header))


def test_no_file_and_no_permission(tmp_path):
    refused("no such file", read_negatives, tmp_path / "x.jsonl")
    refused("not a file", read_negatives, tmp_path)
