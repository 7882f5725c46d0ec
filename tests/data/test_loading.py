"""The one door: names, options, what packages register, and what is said when they are wrong."""

import subprocess
import sys

import pytest

from itmlab.data import load, loading, names
from itmlab.errors import ItmlabError
from tests.data.picture_files import write_folder
from tests.refusals import refused


def test_an_unknown_name_is_answered_with_the_nearest():
    refused(r"no data set 'flikr30k' — did you mean 'flickr30k'\? .*scenes, flickr30k, coco", load, "flikr30k")
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
        ({"images": "nowhere"}, "nowhere: there is no such folder"),
        ({"captions": "nowhere.jsonl"}, "nowhere.jsonl: no such file"),
        ({"captions": "captions.txt"}, "neither JSON lines nor CSV"),
    ],
)
def test_wrong_values_are_one_line(tmp_path, options, message):
    refused(message, load, "folder", write_folder(tmp_path / "own"), **options)


def test_a_root_that_is_not_there(tmp_path):
    refused(r"folder: there is no '.*nowhere'", load, "folder", tmp_path / "nowhere")


FRUIT = """
from pathlib import Path

from itmlab.data.captionset import CaptionSet
from itmlab.data.entries import Caption, Entry, assemble
from itmlab.data.faults import Faults


def made(*, ripe: bool = True) -> CaptionSet:
    colour = "red" if ripe else "green"
    return CaptionSet(name="fruit", images=[None], image_ids=["apple"], captions=[f"a {colour} apple"],
                      caption_ids=["0"], image_of_caption=[0], splits={"test": [0]})


def written(root: Path, faults: Faults, *, seed: int = 0) -> CaptionSet:
    lines = (root / "fruit.txt").read_text().splitlines()
    entries = [Entry("fruit.txt", at, line, line, [Caption(line)]) for at, line in enumerate(lines, start=1)]
    return assemble(entries, faults, pictures=list, seed=seed)


number = 3
"""


@pytest.fixture
def registered(tmp_path, monkeypatch):
    """Installs a package that registers these data sets of its module `fruit_shop`, as pip would leave it."""
    monkeypatch.syspath_prepend(tmp_path)
    loading._registered.cache_clear()

    def install(**points):
        (tmp_path / "fruit_shop.py").write_text(FRUIT)
        information = tmp_path / "fruit_shop-1.0.dist-info"
        information.mkdir()
        (information / "METADATA").write_text("Metadata-Version: 2.1\nName: fruit-shop\nVersion: 1.0\n")
        lines = [f"{name} = {value}" for name, value in points.items()]
        (information / "entry_points.txt").write_text("\n".join(["[itmlab.data]", *lines]))

    yield install
    loading._registered.cache_clear()
    sys.modules.pop("fruit_shop", None)


def test_a_package_adds_a_data_set_that_is_made(registered, tmp_path):
    registered(fruit="fruit_shop:made")
    assert "fruit" in names() and set(loading.FORMATS) < set(names())
    assert load("fruit", split="test").captions == ["a red apple"]
    assert load("fruit", ripe=False).captions == ["a green apple"]
    refused(r"fruit: there is no option 'rip' — did you mean 'ripe'", load, "fruit", rip=False)
    refused("leave root out", load, "fruit", tmp_path)


def test_a_package_adds_a_data_set_that_is_read_from_files(registered, tmp_path):
    registered(fruit="fruit_shop:written")
    (tmp_path / "fruit.txt").write_text("apple\npear\n \n")
    refused(r"fruit: no root was given — give root=", load, "fruit")
    with pytest.raises(ItmlabError, match=r"fruit: 2 faults in the data:\n  fruit.txt:3: .*it is empty"):
        load("fruit", tmp_path)
    with pytest.warns(UserWarning, match="skipped 2 faults, 2 images are left"):
        assert load("fruit", tmp_path, on_fault="skip").captions == ["apple", "pear"]


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("no_such_shop:load", "ModuleNotFoundError: No module named 'no_such_shop'"),
        ("fruit_shop:sold_out", "AttributeError: .*sold_out"),
        ("fruit_shop:number", "TypeError: 3 is not a callable object"),
    ],
)
def test_a_broken_registration_is_one_clear_line_and_only_when_it_is_asked_for(registered, tmp_path, value, words):
    registered(fruit=value)
    assert len(load("folder", write_folder(tmp_path / "own"))) == 3 and "fruit" in names()
    refused(rf"fruit \({value}\): what registers it cannot be used \({words}", load, "fruit")


def test_a_registered_name_does_not_take_a_file_formats_place(registered, tmp_path):
    registered(folder="fruit_shop:made", fruit="fruit_shop:made")
    with pytest.warns(UserWarning, match="fruit_shop:made registers 'folder', a file format of itmlab: left out"):
        known = names()
    assert known.count("folder") == 1 and "fruit" in known
    assert load("folder", write_folder(tmp_path / "own")).captions[0] == "thing 0"


def test_scenes_take_no_root(tmp_path):
    refused("leave root out", load, "scenes", tmp_path)


def test_importing_the_door_loads_nothing_heavy():
    code = "import sys, itmlab.data; print(*({'torch', 'datasets', 'PIL', 'numpy'} & set(sys.modules)))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == ""


def test_a_share_of_the_training_split():
    whole = load("scenes", images=24, size=32)
    part = load("scenes", images=24, size=32, train_share=0.25, share_seed=3)
    assert [len(part.splits[name]) for name in ("train", "val", "test")] == [5, 2, 2]
    assert part.image_ids == whole.reduced(0.25, seed=3).image_ids
    assert len(load("scenes", images=24, size=32, train_share=0.25, split="train")) == 5


def test_noise_in_the_training_split_leaves_the_truth_as_it_is():
    whole, noisy = (load("scenes", images=24, size=32, noise=noise, noise_seed=1) for noise in (0.0, 0.2))
    assert int(noisy.moved.sum()) == 20 and noisy.moved.nonzero().max() < 100  # of 100 captions of 20 images
    assert noisy.world.truth().equal(whole.world.truth())
    for caption in noisy.moved.nonzero().flatten().tolist():
        image = int(noisy.image_of_caption[caption])
        asked = whole.world.entails(image, whole.world.graphs[caption])
        label = int(
            noisy.select([image]).world.truth(None, None)[0, noisy.captions_of_image[image].tolist().index(caption)]
        )
        assert {True: 1, False: 0, None: -1}[asked] == label
    held_out = load("scenes", images=24, size=32, noise=1.0, split="test")
    assert held_out.fingerprint == whole.split("test").fingerprint and not held_out.moved.any()
    few = load("scenes", images=24, size=32, train_share=0.5, noise=0.5)
    assert int(few.moved.sum()) == 25 and len(few.splits["train"]) == 10
