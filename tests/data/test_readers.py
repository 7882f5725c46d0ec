"""Readers: a folder, Karpathy's JSON. Every fault with file and row in one error."""

import json
import shutil
from unicodedata import normalize

import pytest

from itmlab.data import load
from itmlab.errors import ItmlabError
from tests.data.picture_files import photograph, write_folder, write_karpathy, write_lines
from tests.refusals import refused


def splits_of(data):
    return {name: indices.tolist() for name, indices in data.splits.items()}


def faults_of(name, root, **options):
    """What is wrong by row."""
    with pytest.raises(ItmlabError) as caught:
        load(name, root, **options)
    reasons = {}
    for fault in caught.value.faults:
        assert "\n" not in str(fault) and "\x1b" not in str(fault)
        reasons[fault.row] = f"{reasons.get(fault.row, '')} {fault.what}"
    return reasons


# A folder.


def test_a_folder_with_json_lines(tmp_path):
    rows = [
        {"image": "0.jpg", "captions": ["a", "b", "c"], "split": "train"},
        {"image": "1.jpg", "caption": "d", "split": "validation", "caption_id": 7, "image_id": "one"},
        {"image": "./1.jpg", "caption": "e", "split": "validation", "caption_id": 8, "image_id": "one"},
        {"image": "2.jpg", "captions": ["f"], "split": "test"},
    ]
    data = load("folder", write_folder(tmp_path / "own", 3, rows))
    assert data.image_ids == ["0.jpg", "one", "2.jpg"]
    assert data.captions == ["a", "b", "c", "d", "e", "f"]
    assert data.caption_ids == ["0.jpg#0", "0.jpg#1", "0.jpg#2", "7", "8", "2.jpg#0"]
    assert data.image_of_caption.tolist() == [0, 0, 0, 1, 1, 2]
    assert splits_of(data) == {"train": [0], "val": [1], "test": [2]}
    assert data.images[1].size == photograph().size
    assert load("folder", tmp_path / "own", split="val").captions == ["d", "e"]


def test_a_folder_with_csv(tmp_path):
    root = write_folder(tmp_path / "own", 2)
    (root / "captions.jsonl").unlink()
    (root / "captions.csv").write_text('image,caption\n0.jpg,"one, and\ntwo lines"\n1.jpg,other\n0.jpg,second\n')
    assert load("folder", root).captions == ["one, and\ntwo lines", "second", "other"]
    (root / "captions.csv").write_text('image,captions\n0.jpg,"[""a"", ""b""]"\n1.jpg,"[""c""]"\n')
    assert load("folder", root).captions == ["a", "b", "c"]


def faulty_folder(root):
    """Write a folder with one fault of each kind; return for each row a word of its message."""
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
        ({"image": "4.jpg", "captions": ["x"]}, "not a picture"),
        ({"image": "5.jpg", "captions": [" \t"]}, "caption 1 of the image '5.jpg': it is empty"),
        ({"image": "6.jpg", "captions": ["a\0b"]}, "NUL"),
        ({"image": "7.jpg", "captions": []}, "has no captions"),
        ({"image": "8.jpg", "captions": ["x"], "image_id": "0.jpg"}, "'0.jpg' is already that of row 1"),
        ({"image": "9.jpg", "captions": ["x"], "caption_ids": ["0.jpg#0"]}, "its id '0.jpg#0' is already"),
        ({"image": "../outside.jpg", "captions": ["x"]}, "leaves its root"),
        ({"image": str(outside), "captions": ["x"]}, "leaves its root"),
        ({"image": "link.jpg", "captions": ["x"]}, "leaves its root"),
        ({"image": "10.jpg", "captions": "x"}, "'captions' is not a list"),
        ({"image": None, "captions": ["x"]}, "captions without an image"),
        ({"image": "a\0.jpg", "captions": ["x"]}, "is not a file name"),
        ({"picture": "0.jpg", "captions": ["x"]}, "no column 'image'"),
        ({"image": "10.jpg", "words": ["x"]}, "no column 'caption'"),
        ({"image": "10.jpg", "captions": [5]}, "not a text but 5"),
        ({"image": "no\n\x1b[31mred.jpg", "captions": ["x"]}, "no such picture"),
    ]
    write_lines(root / "captions.jsonl", [row for row, _ in rows])
    with open(root / "captions.jsonl", "ab") as file:
        file.write(b'{"image": "11.jpg", "captions": ["\xff"]}\n{"image": \n[1, 2]\n')
    reasons = {line: words for line, (_, words) in enumerate(rows, start=1) if words}
    return reasons | {21: "not valid Unicode", 22: "malformed JSON", 23: "not a JSON object"}


def test_every_fault_comes_with_its_row_in_one_error_or_is_skipped_on_request(tmp_path):
    expected = faulty_folder(tmp_path / "own")
    reasons = faults_of("folder", tmp_path / "own")
    assert set(expected) == set(reasons) - {None}
    for row, words in expected.items():
        assert words in reasons[row], (row, words)
    with pytest.warns(UserWarning, match=r"skipped \d+ faults, 1 are left"):
        data = load("folder", tmp_path / "own", on_fault="skip")
    assert data.captions == ["fine"] and data.images[0].size == photograph().size


def test_a_picture_without_captions_is_a_fault(tmp_path):
    root = write_folder(tmp_path / "own", 2, [{"image": "0.jpg", "captions": ["x"]}])
    (root / "images" / "notes.txt").write_text("not a picture")
    assert "an image without captions" in faults_of("folder", root).pop(None)


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
    assert message in faults_of("folder", root)[row]


def test_files_with_the_same_picture_are_one_image_or_a_line_says_that_they_are_not(tmp_path):
    rows = [{"image": f"{number}.jpg", "caption": f"caption {number}"} for number in range(3)]
    root = write_folder(tmp_path / "own", 3, rows)
    shutil.copy(root / "images" / "0.jpg", root / "images" / "2.jpg")
    with pytest.warns(UserWarning, match="1 rows repeat"):
        data = load("folder", root)
    assert data.captions_of() == [["caption 0", "caption 2"], ["caption 1"]]
    write_lines(root / "captions.jsonl", [row | {"image_id": number} for number, row in enumerate(rows)])
    with pytest.warns(UserWarning, match="1 pictures occur under several ids"):
        data = load("folder", root)
    assert len(data) == 3 and data.positives.tolist()[0] == [True, False, True]


@pytest.mark.parametrize("on_disk", ["NFC", "NFD"])
def test_a_name_is_found_in_another_unicode_form(tmp_path, on_disk):
    in_table = {"NFC": "NFD", "NFD": "NFC"}[on_disk]
    root = write_folder(tmp_path / "own", 1, [{"image": normalize(in_table, "é/ü.jpg"), "caption": "x"}])
    folder = root / "images" / normalize(on_disk, "é")
    folder.mkdir()
    (root / "images" / "0.jpg").rename(folder / normalize(on_disk, "ü.jpg"))
    assert load("folder", root).images[0].size == photograph().size


# Flickr30K and MS-COCO.


def test_flickr30k_in_its_splits(tmp_path):
    data = load("flickr30k", write_karpathy(tmp_path, "flickr30k", ["train", "val", "test", "train"]))
    assert splits_of(data) == {"train": [0, 3], "val": [1], "test": [2]}
    assert data.image_ids == ["0.jpg", "1.jpg", "2.jpg", "3.jpg"]
    assert data.captions[:2] == ["Thing 0, view 0.", "Thing 0, view 1."]
    assert data.caption_ids == [str(number) for number in range(8)]
    assert data.images[2].size == photograph().size


def test_coco_adds_restval_to_train(tmp_path):
    root = write_karpathy(tmp_path, "coco", ["train", "restval", "test", "val", "test"])
    data = load("coco", root)
    assert splits_of(data) == {"train": [0, 1], "test": [2, 4], "val": [3]}
    assert data.split("test").image_ids == ["1002", "1004"]  # the order of the file, in which COCO 1K has its folds


def test_faults_name_the_row_of_karpathys_json(tmp_path):
    root = write_karpathy(tmp_path, "flickr30k", ["train"] * 6)
    path = root / "dataset_flickr30k.json"
    content = json.loads(path.read_text())
    rows = content["images"]
    rows[1]["sentences"][1]["raw"] = ""
    rows[2]["sentences"] = []
    rows[3]["filename"] = "../dataset_flickr30k.json"
    rows[4]["sentences"][0]["sentid"] = 0
    del rows[5]["filename"]
    path.write_text(json.dumps(content))
    reasons = faults_of("flickr30k", root)
    expected = {
        "images[1].sentences[1]": "it is empty",
        "images[2]": "has no captions",
        "images[3]": "leaves its root",
        "images[4].sentences[0]": "its id '0' is already",
        "images[5]": "no file name",
    }
    assert set(reasons) == set(expected) and all(expected[row] in reasons[row] for row in expected)


def test_a_missing_part_comes_with_its_remedy(tmp_path):
    refused("no root was given", load, "flickr30k")
    refused(r"no dataset_coco.json.*annotations=", load, "coco", tmp_path)
    refused(r"no folder of pictures.*images=", load, "folder", tmp_path, captions="x.jsonl")
