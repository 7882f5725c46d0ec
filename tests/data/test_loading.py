"""`load`: names, options, and a share of the training split."""

import pytest
import torch

from itmlab.data import load, names
from tests.data.picture_files import write_folder
from tests.refusals import refused


def test_an_unknown_name_or_option_is_answered_with_the_nearest(tmp_path):
    refused(r"no data set 'flikr30k' — did you mean flickr30k", load, "flikr30k")
    refused(r"folder: .* 'image' — did you mean images", load, "folder", write_folder(tmp_path / "own"), image="x")
    assert "folder" in names()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"on_fault": "ignore"}, "on_fault='ignore'"),
        ({"split": "tests"}, "no split 'tests'"),
        ({"images": "nowhere"}, "nowhere: there is no such folder"),
        ({"captions": "nowhere.jsonl"}, "nowhere.jsonl: no such file"),
        ({"captions": "captions.txt"}, "neither JSON lines nor CSV"),
    ],
)
def test_wrong_values_are_one_line(tmp_path, options, message):
    refused(message, load, "folder", write_folder(tmp_path / "own"), **options)


def test_a_root_must_exist_and_scenes_take_none(tmp_path):
    refused(r"folder: there is no '.*nowhere'", load, "folder", tmp_path / "nowhere")
    refused("leave root out", load, "scenes", tmp_path)


@pytest.mark.parametrize(("dtype", "device"), [(torch.float64, "cpu"), (torch.bfloat16, "meta")])
def test_data_are_the_same_whatever_the_session_has_set(tmp_path, dtype, device):
    root, usual = write_folder(tmp_path / "own", 5), torch.get_default_dtype()
    expected = load("folder", root)
    torch.set_default_dtype(dtype)
    torch.set_default_device(device)
    try:
        with torch.inference_mode():
            data = load("folder", root)
            assert data.fingerprint == expected.fingerprint and len(data.split("train")) == 3
            assert data.matches().tolist() == data.positives.tolist() == expected.positives.tolist()
            assert data.reduced(0.5).select([1]).captions_of() == expected.reduced(0.5).select([1]).captions_of()
            drawn = load("scenes", images=6, size=32)
            assert drawn.splits["train"].device.type == "cpu" and drawn.world.truth()[0, 0] == 1
    finally:
        torch.set_default_dtype(usual)
        torch.set_default_device(None)


def test_a_share_of_the_training_split_is_taken():
    data = load("scenes", images=24, size=32)
    part = load("scenes", images=24, size=32, train_share=0.25)
    assert part.image_ids == data.reduced(0.25).image_ids
