"""The one door: names, options, and what is said when they are wrong."""

import subprocess
import sys

import pytest

from itmlab.data import load, names
from itmlab.errors import ItmlabError
from tests.data.picture_files import write_folder


def test_an_unknown_name_is_answered_with_the_nearest():
    with pytest.raises(
        ItmlabError, match=r"no data set 'flikr30k' — did you mean 'flickr30k'\? .*scenes, flickr30k, coco"
    ):
        load("flikr30k")
    assert "folder" in names()


def test_an_unknown_option_is_answered_with_the_known(tmp_path):
    with pytest.raises(ItmlabError, match=r"folder: there is no option 'image' — did you mean 'images'\?"):
        load("folder", write_folder(tmp_path / "own"), image="x")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"on_fault": "ignore"}, "on_fault='ignore'"),
        ({"verify": "well"}, "verify='well'"),
        ({"proportions": (1, 2)}, "not three shares"),
        ({"split": "tests"}, "no split 'tests'"),
    ],
)
def test_wrong_values_are_one_line(tmp_path, options, message):
    with pytest.raises(ItmlabError, match=message) as caught:
        load("folder", write_folder(tmp_path / "own"), **options)
    assert "\n" not in str(caught.value)


def test_a_root_that_is_not_there(tmp_path):
    with pytest.raises(ItmlabError, match=r"folder: there is no '.*nowhere'"):
        load("folder", tmp_path / "nowhere")


def test_scenes_take_no_root(tmp_path):
    with pytest.raises(ItmlabError, match="leave root out"):
        load("scenes", tmp_path)


def test_importing_the_door_loads_nothing_heavy():
    code = "import sys, itmlab.data; print(*({'torch', 'datasets', 'PIL', 'numpy'} & set(sys.modules)))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == ""


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"images": "nowhere"}, "nowhere: there is no such folder"),
        ({"captions": "nowhere.jsonl"}, "nowhere.jsonl: no such file"),
        ({"captions": "captions.txt"}, "neither JSON lines nor CSV"),
    ],
)
def test_options_that_name_what_is_not_there(tmp_path, options, message):
    with pytest.raises(ItmlabError, match=message):
        load("folder", write_folder(tmp_path / "own"), **options)


def test_a_share_of_the_training_split():
    whole = load("scenes", images=24, size=32)
    part = load("scenes", images=24, size=32, train_share=0.25, share_seed=3)
    assert [len(part.splits[name]) for name in ("train", "val", "test")] == [5, 2, 2]
    assert part.image_ids == whole.reduced(0.25, seed=3).image_ids
    assert len(load("scenes", images=24, size=32, train_share=0.25, split="train")) == 5
