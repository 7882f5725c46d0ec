"""Karpathy's splits of Flickr30K and MS-COCO, and MS-COCO's own annotation files."""

import json

import pytest

from itmlab.data import load
from itmlab.errors import ItmlabError
from tests.data.picture_files import photograph, write_karpathy
from tests.refusals import refused


def test_flickr30k_in_its_splits(tmp_path):
    data = load("flickr30k", write_karpathy(tmp_path, "flickr30k", ["train", "val", "test", "train"]))
    splits = {name: indices.tolist() for name, indices in data.splits.items()}
    assert splits == {"train": [0, 3], "val": [1], "test": [2]}
    assert data.image_ids == ["0.jpg", "1.jpg", "2.jpg", "3.jpg"]
    assert data.captions[:2] == ["Thing 0, view 0.", "Thing 0, view 1."]
    assert data.caption_ids == [str(number) for number in range(8)]
    assert data.images[2].size == photograph().size


def test_coco_adds_restval_to_train_as_the_field_does(tmp_path):
    root = write_karpathy(tmp_path, "coco", ["train", "restval", "val", "test"])
    data = load("coco", root)
    assert data.splits["train"].tolist() == [0, 1]
    assert data.image_ids == ["1000", "1001", "1002", "1003"]
    apart = load("coco", root, restval=False)
    assert (apart.splits["train"].tolist(), apart.splits["restval"].tolist()) == ([0], [1])


def test_five_folds_are_consecutive_blocks_of_the_files_order(tmp_path):
    data = load("coco", write_karpathy(tmp_path, "coco", ["test", "val", "test", "test"]), split="test")
    assert data.image_ids == ["1000", "1002", "1003"]
    assert data.image_of_caption.tolist() == [0, 0, 1, 1, 2, 2]


def test_faults_name_the_row_of_the_json(tmp_path):
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
    with pytest.raises(ItmlabError) as caught:
        load("flickr30k", root)
    found = {fault.row: fault.what for fault in caught.value.faults}
    assert found.pop("images[2]").endswith("has no captions")
    assert "it is empty" in found.pop("images[1].sentences[1]")
    assert "leaves its root" in found.pop("images[3]")
    assert "its id '0' is already" in found.pop("images[4].sentences[0]")
    assert "no 'filename'" in found.pop("images[5]")
    assert not found


@pytest.mark.parametrize("content", ["{", "[]", '{"images": 3}', '{"images": [{"a": 1]}'])
def test_malformed_json_is_one_clear_error(tmp_path, content):
    (tmp_path / "images").mkdir()
    (tmp_path / "dataset_flickr30k.json").write_text(content)
    refused(r"dataset_flickr30k.json", load, "flickr30k", tmp_path)


def test_a_missing_part_says_what_to_do(tmp_path):
    refused(r"no root was given.*photographs", load, "flickr30k")
    refused(r"no dataset_coco.json or captions.json.*annotations=", load, "coco", tmp_path)
    (tmp_path / "dataset_flickr30k.json").write_text('{"images": []}')
    refused(r"no folder of pictures.*images=", load, "flickr30k", tmp_path)


def write_annotations(path, folder, images, annotations):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"images": images, "annotations": annotations}))
    folder.mkdir(parents=True, exist_ok=True)
    for row in images:
        photograph(row["id"]).save(folder / row["file_name"])


def rows(*ids):
    images = [{"id": each, "file_name": f"{each:012}.jpg"} for each in ids]
    annotations = [
        {"id": 10 * each + k, "image_id": each, "caption": f"thing {each} {k}"} for each in ids for k in (0, 1)
    ]
    return images, annotations[::-1]


def test_cocos_own_file_beside_images(tmp_path):
    write_annotations(tmp_path / "captions.json", tmp_path / "images", *rows(5, 3))
    data = load("coco", tmp_path)
    assert (data.image_ids, data.caption_ids) == (["5", "3"], ["51", "50", "31", "30"])
    assert data.captions[3] == "thing 3 0"


def test_cocos_published_layout_gives_splits(tmp_path):
    for subset, ids in (("train2017", (1, 2)), ("val2017", (3,))):
        write_annotations(tmp_path / "annotations" / f"captions_{subset}.json", tmp_path / subset, *rows(*ids))
    data = load("coco", tmp_path)
    assert {name: indices.tolist() for name, indices in data.splits.items()} == {"train": [0, 1], "val": [2]}


def test_cocos_own_file_may_be_named(tmp_path):
    write_annotations(tmp_path / "mine.json", tmp_path / "pictures", *rows(1, 2))
    data = load("coco", tmp_path, annotations=tmp_path / "mine.json", images=tmp_path / "pictures")
    assert len(data) == 2


def test_cocos_images_and_captions_that_lack_each_other_are_faults(tmp_path):
    images, annotations = rows(1, 2)
    annotations = [row for row in annotations if row["image_id"] == 1]
    annotations += [{"id": 99, "image_id": 7, "caption": "of nothing"}, {"id": 98, "caption": "of nothing"}]
    write_annotations(tmp_path / "captions.json", tmp_path / "images", [*images, images[0]], annotations)
    with pytest.raises(ItmlabError) as caught:
        load("coco", tmp_path)
    found = {fault.row: fault.what for fault in caught.value.faults}
    assert "has no captions" in found["images[1]"]
    assert "already that of row images[0]" in found["images[2]"]
    assert "a caption without an image" in found["annotations[2]"]
    assert "no 'image_id'" in found["annotations[3]"]
