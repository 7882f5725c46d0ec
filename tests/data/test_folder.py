"""Any folder: what is read, and every fault with its file and row in one error."""

import csv
import gzip
import json
import os
import tempfile
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from itmlab.data import entries, load
from itmlab.data.entries import wrong_caption
from itmlab.errors import ItmlabError
from tests.data.picture_files import photograph, write_folder, write_lines
from tests.refusals import refused

captions = st.text(st.characters(codec="utf-8"), min_size=1, max_size=40).filter(
    lambda text: wrong_caption(text) is None
)


def test_a_folder_with_json_lines(tmp_path):
    rows = [
        {"image": "0.jpg", "captions": ["a", "b", "c"], "split": "train"},
        {"image": "1.jpg", "caption": "d", "split": "validation", "caption_id": 7, "image_id": "one"},
        {"image": "1.jpg", "caption": "e", "split": "validation", "caption_id": 8, "image_id": "one"},
        {"image": "2.jpg", "captions": ["f"], "split": "test"},
    ]
    data = load("folder", write_folder(tmp_path / "own", 3, rows))
    assert data.image_ids == ["0.jpg", "one", "2.jpg"]
    assert data.captions == ["a", "b", "c", "d", "e", "f"]
    assert data.caption_ids == ["0.jpg#0", "0.jpg#1", "0.jpg#2", "7", "8", "2.jpg#0"]
    assert data.image_of_caption.tolist() == [0, 0, 0, 1, 1, 2]
    assert {name: indices.tolist() for name, indices in data.splits.items()} == {"train": [0], "val": [1], "test": [2]}
    assert data.images[1].size == photograph().size
    assert load("folder", tmp_path / "own", split="val").captions == ["d", "e"]


def test_splits_are_known_in_any_case_and_a_misspelt_one_is_a_fault(tmp_path):
    names = ["Train", " VAL ", "Testing", "testA"]
    rows = [{"image": f"{at}.jpg", "captions": ["a"], "split": name} for at, name in enumerate(names)]
    assert set(load("folder", write_folder(tmp_path / "own", 4, rows)).splits) == {"train", "val", "test", "testA"}
    rows[2]["split"] = "tset"
    with pytest.raises(ItmlabError, match=r"jsonl:3: .*split 'tset' is unknown, did you mean 'test'\?"):
        load("folder", write_folder(tmp_path / "other", 4, rows))


def test_a_folder_with_csv(tmp_path):
    root = write_folder(tmp_path / "own", 2)
    (root / "captions.jsonl").unlink()
    (root / "captions.csv").write_text('image,caption\n0.jpg,"one, and\ntwo lines"\n1.jpg,other\n0.jpg,second\n')
    data = load("folder", root)
    assert data.captions == ["one, and\ntwo lines", "second", "other"]
    (root / "captions.csv").write_text('image,captions\n0.jpg,"[""a"", ""b""]"\n1.jpg,"[""c""]"\n')
    assert load("folder", root).captions == ["a", "b", "c"]


def test_without_splits_the_images_are_shared_out_by_seed(tmp_path):
    root = write_folder(tmp_path / "own", 10)
    first, again, other = (load("folder", root, seed=seed) for seed in (0, 0, 1))
    assert [len(first.splits[name]) for name in ("train", "val", "test")] == [8, 1, 1]
    assert first.splits["train"].tolist() == again.splits["train"].tolist()
    assert first.splits["train"].tolist() != other.splits["train"].tolist()


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(captions, min_size=1, max_size=5), st.booleans())
def test_any_text_survives_both_kinds_of_table(texts, escaped):
    with tempfile.TemporaryDirectory() as name:
        table = Path(name) / "captions.jsonl"
        table.write_text(json.dumps({"image": "x", "captions": texts}, ensure_ascii=escaped) + "\n", encoding="utf-8")
        assert load("captions", table).captions == texts
        table = Path(name) / "captions.csv"
        with open(table, "w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows([("image", "caption"), *(("x", text) for text in texts)])
        assert load("captions", table).captions == texts


@pytest.mark.parametrize(
    "text",
    ["كلب يجري تحت شجرة", "שני ילדים", "🐕‍🦺🌳", "<b>dog</b> &amp; <script>alert(1)</script>", "\u202edog", "=1+1"],
)
def test_text_in_any_script_or_markup_is_text(tmp_path, text):
    root = write_folder(tmp_path / "own", 1, [{"image": "0.jpg", "captions": [text]}])
    assert load("folder", root).captions == [text]


def faulty_folder(root):
    """A folder with one fault of each kind in its rows, and the words by which each is to be told."""
    write_folder(root, 12)
    images = root / "images"
    (images / "1.jpg").unlink()
    (images / "2.jpg").write_bytes((images / "2.jpg").read_bytes()[:-30])
    (images / "3.jpg").write_bytes(b"")
    (images / "4.jpg").write_text("404 not found")
    outside = root.parent / "outside.jpg"
    photograph().save(outside)
    (images / "link.jpg").symlink_to(outside)
    rows = [
        ({"image": "0.jpg", "captions": ["fine"]}, None),
        ({"image": "1.jpg", "captions": ["x"]}, "no such picture"),
        ({"image": "2.jpg", "captions": ["x"]}, "damaged"),
        ({"image": "3.jpg", "captions": ["x"]}, "empty (zero bytes)"),
        ({"image": "4.jpg", "captions": ["x"]}, "a text that begins '404 not found'"),
        ({"image": "5.jpg", "captions": [" \t"]}, "caption 1 of the image '5.jpg': it is empty"),
        ({"image": "6.jpg", "captions": ["a\0b"]}, "NUL"),
        ({"image": "7.jpg", "captions": []}, "has no captions"),
        ({"image": "0.jpg", "captions": ["again"]}, "'0.jpg' is already that of row 1"),
        ({"image": "8.jpg", "captions": ["x"], "image_id": "0.jpg"}, "'0.jpg' is already that of row 1"),
        ({"image": "9.jpg", "captions": ["x"], "caption_ids": ["0.jpg#0"]}, "its id '0.jpg#0' is already"),
        ({"image": "../outside.jpg", "captions": ["x"]}, "leaves its root"),
        ({"image": str(outside), "captions": ["x"]}, "leaves its root"),
        ({"image": "link.jpg", "captions": ["x"]}, "leaves its root"),
        ({"image": "10.jpg", "captions": "x"}, "'captions' is not a list"),
        ({"image": None, "captions": ["x"]}, "captions without an image"),
        ({"image": "a\0.jpg", "captions": ["x"]}, "not the name of a file"),
        ({"picture": "0.jpg", "captions": ["x"]}, "no column 'image'"),
        ({"image": "10.jpg", "words": ["x"]}, "no column 'caption'"),
        ({"image": "10.jpg", "captions": [5]}, "not a text but 5"),
    ]
    write_lines(root / "captions.jsonl", [row for row, _ in rows])
    with open(root / "captions.jsonl", "ab") as file:
        file.write(b'{"image": "11.jpg", "captions": ["\xff"]}\n{"image": \n[1, 2]\n')
    told = {line: words for line, (_, words) in enumerate(rows, start=1) if words}
    return told | {21: "not valid Unicode", 22: "malformed JSON", 23: "not a JSON object"}


def test_every_fault_is_told_with_file_and_row_in_one_error(tmp_path):
    told = faulty_folder(tmp_path / "own")
    with pytest.raises(ItmlabError) as caught:
        load("folder", tmp_path / "own")
    table = str(tmp_path / "own" / "captions.jsonl")
    by_row = {}
    for fault in caught.value.faults:
        if fault.file == table:
            by_row.setdefault(fault.row, []).append(fault.what)
    assert sorted(by_row) == sorted(told)
    for row, words in told.items():
        assert any(words in what for what in by_row[row]), (row, words, by_row[row])
    message = str(caught.value)
    assert f"{len(caught.value.faults)} faults" in message and f"{table}:2: " in message
    listed = (tmp_path / "cache" / "faults").glob("*.jsonl")
    assert len(next(listed).read_text().splitlines()) == len(caught.value.faults)


def test_skipping_is_on_request_counted_and_listed(tmp_path):
    told = faulty_folder(tmp_path / "own")
    listed = tmp_path / "left_out.jsonl"
    with pytest.warns(UserWarning, match=r"skipped \d+ faults, 1 images are left"):
        data = load("folder", tmp_path / "own", on_fault="skip", skipped_to=listed)
    assert data.captions == ["fine"] and data.images[0].size == photograph().size
    rows = [json.loads(line) for line in listed.read_text().splitlines()]
    assert len(rows) == len(data.skipped)
    assert set(told) <= {row["row"] for row in rows}


def test_a_faulty_caption_costs_only_itself(tmp_path):
    root = write_folder(tmp_path / "own", 1, [{"image": "0.jpg", "captions": ["good", "", "better"]}])
    with pytest.warns(UserWarning, match="skipped 1 fault, 1 images are left") as told:
        data = load("folder", root, on_fault="skip")
    listed = next((tmp_path / "cache" / "skipped").glob("folder-*.jsonl"))
    assert str(listed) in str(told[0].message) and json.loads(listed.read_text())["row"] == 1
    assert (data.captions, data.caption_ids) == (["good", "better"], ["0.jpg#0", "0.jpg#2"])


def test_pictures_that_no_row_names_are_faults(tmp_path):
    root = write_folder(tmp_path / "own", 2, [{"image": "0.jpg", "captions": ["x"]}])
    (root / "images" / "notes.txt").write_text("no picture")
    with pytest.raises(ItmlabError, match=r"images/1.jpg: an image without captions") as caught:
        load("folder", root)
    assert len(caught.value.faults) == 1


@pytest.mark.parametrize(
    ("text", "row", "message"),
    [
        ("image,caption\n0.jpg,a,b\n", 2, "3 cells where the header has 2"),
        ('image,caption\n0.jpg,fine\n0.jpg,"open\n0.jpg,x\n', 3, "never closes"),
        ('image,caption\n0.jpg,"a"b\n', 2, "malformed CSV"),
        ("picture,caption\n0.jpg,a\n", 2, "no column 'image'"),
        ("image,captions\n0.jpg,[a]\n", 2, "in CSV: a JSON list"),
        ("image,caption\n,a\n", 2, "captions without an image"),
        ("image,caption\n0.jpg,\n", 2, "it is empty"),
        ("image,caption,split\n0.jpg,a,train\n0.jpg,b,test\n", 3, "another split"),
    ],
)
def test_malformed_csv_names_its_line(tmp_path, text, row, message):
    root = write_folder(tmp_path / "own", 1)
    (root / "captions.jsonl").unlink()
    (root / "captions.csv").write_text(text)
    with pytest.raises(ItmlabError) as caught:
        load("folder", root)
    assert any(fault.row == row and message in fault.what for fault in caught.value.faults), caught.value.faults


def test_a_folder_of_pictures_that_is_a_link_must_be_named(tmp_path):
    write_folder(tmp_path / "elsewhere", 1)
    root = tmp_path / "own"
    root.mkdir()
    os.rename(tmp_path / "elsewhere" / "captions.jsonl", root / "captions.jsonl")
    (root / "images").symlink_to(tmp_path / "elsewhere" / "images")
    refused("leaves its root", load, "folder", root)
    assert len(load("folder", root, images=tmp_path / "elsewhere" / "images")) == 1


def test_hostile_names_stay_on_their_line(tmp_path):
    root = write_folder(tmp_path / "own", 1, [{"image": "no\n\x1b[31mred.jpg", "captions": ["x"]}])
    with pytest.raises(ItmlabError) as caught:
        load("folder", root)
    assert all("\n" not in str(fault) and "\x1b" not in str(fault) for fault in caught.value.faults)


def test_captions_alone_have_no_pictures_and_say_so(tmp_path):
    for split in ("train", "val"):
        write_lines(tmp_path / f"captions_{split}.jsonl", [{"image": f"{split}.jpg", "captions": ["a", "b"]}])
    data = load("captions", tmp_path)
    assert {name: len(indices) for name, indices in data.splits.items()} == {"train": 1, "val": 1}
    with pytest.raises(ItmlabError, match="captions alone"):
        data.split("val").images[0]


def test_a_truncated_archive_is_one_clear_error(tmp_path):
    (tmp_path / "captions.jsonl.gz").write_bytes(b"\x1f\x8b\x08\x00")
    refused(r"captions.jsonl.gz: cannot be read", load, "captions", tmp_path / "captions.jsonl.gz")


@pytest.mark.parametrize("other", ["./0.jpg", "0.jpg/.", ".//0.jpg", "a/../0.jpg"])
def test_one_path_however_it_is_written_is_one_picture(other, tmp_path):
    root = write_folder(tmp_path / "own", 1, [{"image": "0.jpg", "caption": "a"}, {"image": other, "caption": "b"}])
    assert load("folder", root).captions_of() == [["a", "b"]]
    write_lines(root / "captions.jsonl", [{"image": "0.jpg", "captions": ["a"]}, {"image": other, "captions": ["b"]}])
    with pytest.raises(ItmlabError, match=r"captions.jsonl:2: the image id '0.jpg' is already that of row 1"):
        load("folder", root)


def test_a_packed_table_that_unpacks_to_gigabytes_is_refused_before_it_is_read(tmp_path, monkeypatch):
    path = tmp_path / "captions.jsonl.gz"
    with gzip.open(path, "wb", compresslevel=9) as file:
        for _ in range(40):
            file.write(b'{"image": "a", "caption": "b"}\n' * 2**15)
    tracemalloc.start()
    with pytest.raises(ItmlabError, match="more than 16,777,216 bytes of text"):
        load("captions", path)
    assert tracemalloc.get_traced_memory()[1] < 2**24
    tracemalloc.stop()
    monkeypatch.setattr(entries, "LONGEST_LINE", 100)
    (tmp_path / "captions.csv").write_text("image,caption\na," + "b" * 200 + "\n")
    with pytest.raises(ItmlabError, match=r"captions.csv:2: a line of more than 100 characters"):
        load("captions", tmp_path / "captions.csv")
    os.mkfifo(tmp_path / "captions_pipe.jsonl")
    with pytest.raises(ItmlabError):
        load("captions", tmp_path / "captions_pipe.jsonl")
