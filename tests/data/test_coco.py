"""MS-COCO's own annotation files."""

import json

import pytest

from itmlab.data import load
from itmlab.errors import ItmlabError

from .picture_files import photograph


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


def test_one_file_beside_images(tmp_path):
    write_annotations(tmp_path / "captions.json", tmp_path / "images", *rows(5, 3))
    data = load("coco", tmp_path)
    assert (data.image_ids, data.caption_ids) == (["5", "3"], ["51", "50", "31", "30"])
    assert data.captions[3] == "thing 3 0"


def test_the_published_layout_gives_splits(tmp_path):
    for subset, ids in (("train2017", (1, 2)), ("val2017", (3,))):
        write_annotations(tmp_path / "annotations" / f"captions_{subset}.json", tmp_path / subset, *rows(*ids))
    data = load("coco", tmp_path)
    assert {name: indices.tolist() for name, indices in data.splits.items()} == {"train": [0, 1], "val": [2]}


def test_the_file_may_be_named(tmp_path):
    write_annotations(tmp_path / "mine.json", tmp_path / "pictures", *rows(1, 2))
    data = load("coco", tmp_path, annotations=tmp_path / "mine.json", images=tmp_path / "pictures")
    assert len(data) == 2


def test_images_and_captions_that_lack_each_other_are_faults(tmp_path):
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
