"""Any `datasets` data set, however it is kept."""

import datasets
import pytest
from PIL import Image

from itmlab.data import load
from itmlab.errors import ItmlabError
from tests.data.picture_files import photograph, write_lines
from tests.refusals import refused


@pytest.fixture(autouse=True)
def own_hub_cache(tmp_path, monkeypatch):
    """What `datasets` unpacks goes to the test's own folder."""
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "unpacked")


def made(count=3, **columns):
    columns = {
        "image": [photograph(n) for n in range(count)],
        "caption": [[f"a {n}", f"b {n}"] for n in range(count)],
    } | columns
    return datasets.Dataset.from_dict(columns).cast_column("image", datasets.Image())


def test_a_data_set_in_memory():
    data = load("hub", dataset=made())
    assert data.captions == ["a 0", "b 0", "a 1", "b 1", "a 2", "b 2"]
    assert data.images[1].tobytes() == photograph(1).tobytes()
    assert data.select([2]).images[0].tobytes() == photograph(2).tobytes()


def test_a_dictionary_of_splits_on_the_disk(tmp_path):
    datasets.DatasetDict({"train": made(3), "validation": made(1)}).save_to_disk(tmp_path / "saved")
    for data in (load("hub", tmp_path / "saved"), load("hub", dataset=str(tmp_path / "saved"))):
        assert {name: indices.tolist() for name, indices in data.splits.items()} == {"train": [0, 1, 2], "val": [3]}
        assert data.images[3].tobytes() == photograph(0).tobytes()


def test_local_files(tmp_path):
    made().to_parquet(tmp_path / "part.parquet")
    data = load("hub", tmp_path / "part.parquet")
    assert len(data) == 3 and data.images[2].tobytes() == photograph(2).tobytes()
    folder = tmp_path / "pictures"
    folder.mkdir()
    for number in range(2):
        photograph(number).save(folder / f"{number}.png")
    write_lines(folder / "metadata.jsonl", [{"file_name": f"{n}.png", "text": f"thing {n}"} for n in range(2)])
    assert load("hub", folder).captions == ["thing 0", "thing 1"]


def test_one_caption_a_row_joined_by_image_id():
    table = made(3, caption=["a", "b", "c"], number=[7, 8, 7], part=["train", "test", "train"])
    data = load("hub", dataset=table, image_id_column="number", split_column="part")
    assert (data.image_ids, data.captions) == (["7", "8"], ["a", "c", "b"])
    assert {name: indices.tolist() for name, indices in data.splits.items()} == {"train": [0], "test": [1]}


def test_captions_in_records_as_karpathy_has_them():
    table = made(1, sentences=[[{"raw": "a dog", "sentid": 1}, {"raw": "a cat", "sentid": 2}]]).remove_columns(
        "caption"
    )
    assert load("coco", dataset=table).captions == ["a dog", "a cat"]


def test_columns_under_other_names(tmp_path):
    photograph().save(tmp_path / "a.png")
    table = datasets.Dataset.from_dict({"file": [str(tmp_path / "a.png")], "words": ["a thing"]})
    data = load("hub", dataset=table, image_column="file", caption_column="words")
    assert data.images[0].tobytes() == photograph().tobytes()
    refused(r"no column 'image'.*image_column=, one of 'file', 'words'", load, "hub", dataset=table)
    refused(r"no column 'caption'.*caption_column=", load, "hub", dataset=table, image_column="file")


def test_faults_name_split_and_row(tmp_path):
    pictures = [{"bytes": b"", "path": None}, None, {"bytes": b"text", "path": "x.jpg"}, {"bytes": None, "path": "/no"}]
    features = datasets.Features({"image": datasets.Image(decode=False), "caption": datasets.Value("string")})
    bad = datasets.Dataset.from_dict({"image": pictures, "caption": ["a", "b", "c", "d"]}, features=features)
    good = datasets.Dataset.from_dict({"image": [photograph()], "caption": [""]}).cast(features)
    with pytest.raises(ItmlabError) as caught:
        load("hub", dataset=datasets.DatasetDict({"train": bad, "test": good}))
    found = {(fault.file, fault.row): fault.what for fault in caught.value.faults}
    assert "zero bytes" in found["hub/train", 0]
    assert "without an image" in found["hub/train", 1]
    assert "a text that begins 'text'" in found["hub/train", 2]
    assert "no such picture" in found["hub/train", 3]
    assert ("hub/test", 0) in found


def test_a_table_may_not_point_outside_its_folder(tmp_path):
    photograph().save(tmp_path / "secret.png")
    table = datasets.Dataset.from_dict({"image": [str(tmp_path / "secret.png")], "caption": ["x"]})
    (tmp_path / "own").mkdir()
    table.to_parquet(tmp_path / "own" / "part.parquet")
    refused("leaves its root", load, "hub", tmp_path / "own" / "part.parquet")


def test_what_cannot_be_opened_is_one_line(tmp_path):
    (tmp_path / "broken.parquet").write_bytes(b"PAR1 nothing")
    refused(r"broken.parquet: cannot be read as a data set", load, "hub", tmp_path / "broken.parquet")
    refused(r"no root was given.*dataset=", load, "hub")
    refused("a list is no data set", load, "hub", dataset=[Image.new("RGB", (1, 1))])
