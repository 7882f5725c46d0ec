"""The table of public data sets: what a folder holds of one, and what it lacks, all at once and by name."""

import gzip
import hashlib
import json
from dataclasses import replace

import numpy as np
import pytest

from itmlab.data import load, sources
from itmlab.data.sources import SOURCES, inspect_source, record_checksums
from tests.data.picture_files import write_karpathy
from tests.refusals import refused


def of_counts(monkeypatch, name, *items):
    """The data set of that name with other published counts, as a small copy has them."""
    monkeypatch.setitem(SOURCES, name, replace(SOURCES[name], items=items))


@pytest.fixture
def small_flickr30k(tmp_path, monkeypatch):
    """Four pictures in Karpathy's form, and the table as if that were all of Flickr30K."""
    splits = sources._splits_of("flickr30k", {"train": 2, "val": 1, "test": 1}, 8, "none")
    of_counts(monkeypatch, "flickr30k", splits, replace(SOURCES["flickr30k"].items[1], check=sources._pictures(
        "dataset_flickr30k.json", 4)))  # fmt: skip
    return write_karpathy(tmp_path, "flickr30k", ["train", "val", "test", "train"])


@pytest.mark.parametrize("name", SOURCES)
def test_what_to_get_is_told_without_a_folder(name, monkeypatch):
    monkeypatch.setattr(sources, "_package_folder", lambda: None)
    found = inspect_source(name)
    assert not found.complete and {each.state for each in found.found} == {"missing"}
    told = str(found)
    for item in SOURCES[name].items:
        assert item.paths[0] in told and item.address in told and item.licence in told and item.licence
    assert f"python -m itmlab data {name} --root" in told


def test_a_complete_folder_loads(small_flickr30k):
    found = inspect_source("flickr30k", small_flickr30k)
    assert found.complete and f'itmlab.load("flickr30k", {str(small_flickr30k)!r})' in str(found)
    assert len(load("flickr30k", small_flickr30k)) == 4


def test_all_that_is_missing_is_named_at_once(small_flickr30k):
    for number in (1, 3):
        (small_flickr30k / "images" / f"{number}.jpg").unlink()
    path = small_flickr30k / "dataset_flickr30k.json"
    content = json.loads(path.read_text())
    content["images"][0] |= {"split": "val", "sentences": []}
    path.write_text(json.dumps(content))
    found = inspect_source("flickr30k", small_flickr30k)
    assert [each.state for each in found.found] == ["wrong", "wrong"]
    assert found.found[0].faults == (
        "the split train has 1 images, published are 2",
        "the split val has 2 images, published are 1",
        "6 captions, published are 8",
    )
    assert found.found[1].faults == ("images/1.jpg is missing", "images/3.jpg is missing")
    assert json.loads(json.dumps(found.to_json()))["items"][1]["faults"] == list(found.found[1].faults)


def test_text_stops_after_some_and_json_does_not(small_flickr30k):
    path = small_flickr30k / "dataset_flickr30k.json"
    content = json.loads(path.read_text())
    content["images"] *= 20
    for number, row in enumerate(content["images"]):
        row |= {"filename": f"far{number}.jpg"}
    path.write_text(json.dumps(content))
    found = inspect_source("flickr30k", small_flickr30k)
    assert "and 60 more (--json lists all)" in str(found) and len(found.to_json()["items"][1]["faults"]) == 80


def test_pictures_of_coco_are_those_of_their_folder(tmp_path, monkeypatch):
    root = write_karpathy(tmp_path, "coco", ["train", "val"])
    of_counts(monkeypatch, "coco", *(sources._coco_pictures(name, 2, sources._pictures("dataset_coco.json", 2))
                                     for name in ("train2014", "val2014")))  # fmt: skip
    (root / "train2014").mkdir()
    assert [each.state for each in inspect_source("coco", root).found] == ["there", "there"]
    (root / "val2014" / "0.jpg").unlink()
    assert inspect_source("coco", root).found[1].faults == ("val2014/0.jpg is missing",)


def test_an_archive_fetched_in_part_is_told_by_its_size(tmp_path):
    (tmp_path / "val2017.zip").write_bytes(b"begun")
    told = next(each for each in inspect_source("sugarcrepe", tmp_path).found if each.item.archive)
    assert told.state == "missing" and "val2017.zip has 5 bytes, published are 815,585,330" in told.faults[0]


def test_an_archive_of_the_right_size_is_known_by_its_checksum(tmp_path, monkeypatch):
    item = next(each for each in SOURCES["sugarcrepe"].items if each.archive)
    digest = hashlib.sha256(b"right").hexdigest()
    of_counts(monkeypatch, "sugarcrepe", replace(item, archive=("val2017.zip", 5, digest)))
    for content, faults in ((b"right", 0), (b"wrong", 1)):
        (tmp_path / "val2017.zip").write_bytes(content)
        assert len(inspect_source("sugarcrepe", tmp_path, verify=True).found[0].faults) == faults
        assert not inspect_source("sugarcrepe", tmp_path).found[0].faults


def test_regions_are_known_by_their_shape(tmp_path, monkeypatch):
    of_counts(monkeypatch, "f30k_precomp", *sources._precomputed("dev", 2))
    (tmp_path / "dev_caps.txt").write_text("a dog\n" * 10)
    np.save(tmp_path / "dev_ims.npy", np.zeros((2, 36, 2048), np.float32))
    assert inspect_source("f30k_precomp", tmp_path).complete
    assert len(load("regions", tmp_path)) == 2
    np.save(tmp_path / "dev_ims.npy", np.zeros((3, 36, 2048), np.float32))
    (tmp_path / "dev_caps.txt").write_text("a dog\n" * 9)
    faults = [fault for each in inspect_source("f30k_precomp", tmp_path).found for fault in each.faults]
    assert "shape (3, 36, 2048), published is (2, 36, 2048)" in faults[0]
    assert faults[1] == "9 captions, one a line, published: 10 captions, one a line"


def test_ratings_and_negatives_are_counted(tmp_path):
    rows = "COCO_val2014:sentid:1,COCO_val2014_000000000001.jpg,2.2,c2i_intrasim\n"
    (tmp_path / "sits_val.csv").write_text("caption,image,agg_score,sampling_method\n" + rows * 25000)
    (tmp_path / "sits_test.csv").write_text("caption,image,agg_score,sampling_method\n" + rows)
    assert [each.state for each in inspect_source("cxc", tmp_path).found] == ["there", "wrong"]
    one = {str(n): {"filename": "a.jpg", "caption": "a dog", "negative_caption": "a cat"} for n in range(245)}
    with gzip.open(tmp_path / "swap_obj.json.gz", "wt") as file:
        json.dump(one, file)
    (tmp_path / "swap_att.json").write_text(json.dumps(one))
    (tmp_path / "val2017").mkdir()
    found = {each.item.paths[0]: each for each in inspect_source("sugarcrepe", tmp_path).found}
    assert found["swap_obj.json"].state == "there"
    assert found["swap_att.json"].faults == ("245 captions, a negative each, published: 666 captions, a negative each",)
    assert found["val2017"].faults == ("val2017/a.jpg is missing",)


def test_own_checksums_tell_what_has_changed_since(small_flickr30k):
    written = record_checksums("flickr30k", small_flickr30k)
    digest, name = written.read_text().splitlines()[1].split("  ")  # as sha256sum -c reads it
    assert digest == hashlib.sha256((small_flickr30k / name).read_bytes()).hexdigest()
    assert inspect_source("flickr30k", small_flickr30k, verify=True).complete
    (small_flickr30k / "images" / "0.jpg").write_bytes(b"another")
    assert inspect_source("flickr30k", small_flickr30k).complete  # nothing is read unless it is asked for
    changed = inspect_source("flickr30k", small_flickr30k, verify=True).found[1].faults
    assert changed == ("images/0.jpg is another than when its checksum was recorded",)
    refused("recorded before", record_checksums, "flickr30k", small_flickr30k)


def test_refusals(tmp_path):
    refused("no data set 'flickr'.*flickr30k", inspect_source, "flickr")
    refused("no such folder", inspect_source, "coco", tmp_path / "none")
    refused("nothing of coco is there", record_checksums, "coco", tmp_path)
    (tmp_path / "dataset_coco.json").write_text("[]")
    assert "is it Karpathy's JSON" in inspect_source("coco", tmp_path).found[0].faults[0]


def test_a_folder_that_leads_elsewhere_is_not_followed(tmp_path, tmp_path_factory):
    (tmp_path / "images").symlink_to(tmp_path_factory.mktemp("elsewhere"), target_is_directory=True)
    assert "leaves its root" in inspect_source("flickr30k", tmp_path).found[1].faults[0]


def test_the_package_of_eccv_caption_is_as_published():
    pytest.importorskip("eccv_caption", reason="eccv_caption is not installed: pip install eccv_caption")
    assert inspect_source("eccv").complete


@pytest.mark.parametrize("name", ["sugarcrepe"])
def test_real_files_are_as_published(name, real_data):
    found = inspect_source(name, real_data(f"yardsticks/{name}"))
    assert [each.state for each in found.found] == ["there"] * 7 + ["missing"]
