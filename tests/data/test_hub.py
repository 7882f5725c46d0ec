"""Data sets of the `datasets` library: which rows are one image, and what their files may name."""

import json

import datasets
import pytest
from PIL import Image

from itmlab.data import load
from itmlab.errors import ItmlabError
from tests.data.picture_files import photograph, write_lines
from tests.data.test_readers import splits_of
from tests.hostile.test_hostile import watched
from tests.refusals import refused


@pytest.fixture(autouse=True)
def own_hub_cache(tmp_path, monkeypatch):
    """What `datasets` unpacks goes to the test's own folder; it may ask the network if it wants to."""
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "unpacked")
    monkeypatch.setattr(datasets.config, "HF_UPDATE_DOWNLOAD_COUNTS", True)
    monkeypatch.setattr(datasets.config, "HF_HUB_OFFLINE", False)


def dataset(pictures=(0, 1, 2), **columns):
    columns = {
        "image": [photograph(number) for number in pictures],
        "caption": [[f"a {row}", f"b {row}"] for row in range(len(pictures))],
    } | columns
    return datasets.Dataset.from_dict(columns).cast_column("image", datasets.Image())


def test_a_data_set_in_memory_on_disk_and_in_files(tmp_path):
    data = load("hub", dataset=dataset())
    assert data.captions == ["a 0", "b 0", "a 1", "b 1", "a 2", "b 2"]
    assert data.select([2]).images[0].tobytes() == photograph(2).tobytes()
    datasets.DatasetDict({"train": dataset(), "validation": dataset([5])}).save_to_disk(tmp_path / "saved")
    data = load("hub", tmp_path / "saved")
    assert splits_of(data) == {"train": [0, 1, 2], "val": [3]}
    assert data.images[3].tobytes() == photograph(5).tobytes()
    dataset().to_parquet(tmp_path / "part.parquet")
    assert load("hub", tmp_path / "part.parquet").images[2].tobytes() == photograph(2).tobytes()
    folder = tmp_path / "pictures"
    folder.mkdir()
    photograph(0).save(folder / "0.png")
    write_lines(folder / "metadata.jsonl", [{"file_name": "0.png", "text": "thing 0"}])
    assert load("hub", folder).captions == ["thing 0"]


def test_rows_with_one_id_and_rows_with_one_picture_are_one_image():
    columns = {"caption": ["a", "b", "c"], "image_id": [7, 8, 7], "split": ["train", "test", "train"]}
    data = load("hub", dataset=dataset([0, 1, 0], **columns))
    assert (data.image_ids, data.captions) == (["7", "8"], ["a", "c", "b"])
    assert splits_of(data) == {"train": [0], "test": [1]}
    named = dataset([0, 1, 0], caption=["a", "b", "c"], split=["train", "test", "train"])
    for table in (named, named.remove_columns("split")):
        with pytest.warns(UserWarning, match="1 rows repeat the picture"):
            data = load("hub", dataset=table, held_out=0.5)
        assert data.captions == ["a", "c", "b"] and data.image_of_caption.tolist() == [0, 0, 1]
        assert sorted(map(len, data.splits.values())) == [1, 1]
    refused("another picture", load, "hub", dataset=dataset([0, 1], image_id=[7, 7]))


def test_a_picture_in_two_splits_or_under_two_ids_is_said_and_is_no_negative_of_itself():
    for columns in ({"split": ["train", "test", "train"]}, {"image_id": [1, 2, 3]}):
        with pytest.warns(UserWarning, match="1 pictures occur under several ids or in several splits"):
            data = load("hub", dataset=dataset([0, 0, 1], caption=["a", "b", "c"], **columns))
        assert data.positives.tolist() == [[True, True, False], [True, True, False], [False, False, True]]


def test_columns_of_a_data_set(tmp_path):
    records = dataset([0], sentences=[[{"raw": "a dog", "sentid": 1}, {"raw": "a cat", "sentid": 2}]])
    assert load("hub", dataset=records.remove_columns("caption")).captions == ["a dog", "a cat"]
    photograph().save(tmp_path / "a.png")
    table = datasets.Dataset.from_dict({"file": [str(tmp_path / "a.png")], "words": ["a thing"]})
    refused(r"no column 'image'.*'file', 'words'", load, "hub", dataset=table)
    table = table.rename_column("file", "image")
    refused("no column 'caption'", load, "hub", dataset=table)
    data = load("hub", dataset=table.rename_column("words", "text"))
    assert data.images[0].tobytes() == photograph().tobytes()


def test_faults_name_split_and_row_of_a_data_set():
    pictures = [{"bytes": b"", "path": None}, None, {"bytes": b"text", "path": "x.jpg"}, {"bytes": None, "path": "/no"}]
    features = datasets.Features({"image": datasets.Image(decode=False), "caption": datasets.Value("string")})
    bad = datasets.Dataset.from_dict({"image": pictures, "caption": ["a", "b", "c", "d"]}, features=features)
    good = datasets.Dataset.from_dict({"image": [photograph()], "caption": [""]}).cast(features)
    with pytest.raises(ItmlabError) as caught:
        load("hub", dataset=datasets.DatasetDict({"train": bad, "test": good}))
    reasons = {(fault.file, fault.row): fault.what for fault in caught.value.faults}
    assert "zero bytes" in reasons["hub/train", 0]
    assert "without an image" in reasons["hub/train", 1]
    assert "not a picture" in reasons["hub/train", 2]
    assert "no such picture" in reasons["hub/train", 3]
    assert ("hub/test", 0) in reasons


@pytest.mark.parametrize("kind", ["csv", "json", "parquet"])
def test_pictures_named_by_a_table_are_those_of_its_folder(tmp_path, monkeypatch, kind):
    """The working folder has another picture of the same name."""
    for folder, number in (("own", 1), ("elsewhere", 2)):
        (tmp_path / folder).mkdir()
        photograph(number).save(tmp_path / folder / "a.png")
    table = datasets.Dataset.from_dict({"image": ["a.png"], "caption": ["x"]})
    getattr(table, f"to_{kind}")(str(tmp_path / "own" / f"table.{kind}"))
    monkeypatch.chdir(tmp_path / "elsewhere")
    with watched():
        data = load("hub", tmp_path / "own" / f"table.{kind}")
    assert data.images[0].tobytes() == photograph(1).tobytes()
    assert data.fingerprint != load("hub", dataset=table).fingerprint


OUTSIDE = (
    "../outside.parquet",
    "ABSOLUTE",
    "hf://datasets/user/data/x.parquet",
    "zip://x.csv::../a.zip",
    "link.parquet",
)


@pytest.mark.parametrize("name", OUTSIDE)
@pytest.mark.parametrize("way", ["README.md", ".huggingface.yaml", "saved"])
def test_the_files_of_a_data_set_may_not_lead_out_of_its_folder(tmp_path, name, way):
    outside, folder = tmp_path / "outside.parquet", tmp_path / "own"
    dataset([0]).to_parquet(outside)
    name = str(outside) if name == "ABSOLUTE" else name
    folder.mkdir()
    (folder / "link.parquet").symlink_to(outside)
    if way == "saved":
        dataset([0]).save_to_disk(folder)
        state = json.loads((folder / "state.json").read_text())
        (folder / "state.json").write_text(json.dumps(state | {"_data_files": [{"filename": name}]}))
    else:
        front = f"configs:\n- config_name: default\n  data_files: '{name}'\n"
        (folder / way).write_text(f"---\n{front}---\n" if way == "README.md" else front)
    with watched():
        refused("leaves its root", load, "hub", folder)


def test_a_table_may_not_name_pictures_outside_its_folder(tmp_path):
    photograph().save(tmp_path / "secret.png")
    table = datasets.Dataset.from_dict({"image": [str(tmp_path / "secret.png")], "caption": ["x"]})
    (tmp_path / "own").mkdir()
    table.to_parquet(tmp_path / "own" / "part.parquet")
    refused("leaves its root", load, "hub", tmp_path / "own" / "part.parquet")


def test_what_is_not_a_data_set_is_one_line(tmp_path, monkeypatch):
    (tmp_path / "broken.parquet").write_bytes(b"PAR1 nothing")
    refused(r"broken.parquet: cannot be read as a data set", load, "hub", tmp_path / "broken.parquet")
    refused(r"no data set.*dataset=", load, "hub")
    refused("a list is not a data set", load, "hub", dataset=[Image.new("RGB", (1, 1))])
    monkeypatch.setattr("itmlab.data.hub.MOST_ROWS", 2)
    dataset().to_parquet(tmp_path / "long.parquet")
    refused("3 rows", load, "hub", tmp_path / "long.parquet")
    refused("3 rows", load, "hub", dataset=dataset())
