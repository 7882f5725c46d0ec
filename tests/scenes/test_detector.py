"""The detector: what it is asked, how it learns, and the regions that it gives."""

from pathlib import Path

import pytest
import torch

from itmlab.scenes import detector
from itmlab.scenes.build import load
from itmlab.scenes.detector import Detector, Learning, detected, labelled, learn_to_detect, marks
from itmlab.scenes.scene import KINDS
from itmlab.scenes.world import NOTHING, answers, questions
from tests.refusals import refused


@pytest.fixture(scope="module")
def data():
    return load(images=40, seed=90_001)


@pytest.fixture(scope="module")
def detected_data():
    return load(images=40, seed=90_001, regions="detector")


# What is asked.


def test_answers_are_what_the_world_knows_of_an_object(data) -> None:
    asked = questions()
    for scene in list(data.world.scenes)[:10]:
        for number, entity in enumerate(scene.objects):
            given_answers = dict(zip(asked, answers(scene, number, asked), strict=True))
            assert asked["kind"][given_answers["kind"]] == entity.kind
            assert (asked["colour"][given_answers["colour"]] if given_answers["colour"] >= 0 else "") == entity.colour
            worn = {other.kind: other.colour for other in scene.objects if other.wearer == number}
            for garment in (name for name in asked if name in KINDS):
                wanted = worn.get(garment, "none") if entity.category == "person" else None
                assert (asked[garment][given_answers[garment]] if given_answers[garment] >= 0 else None) == wanted
    of_nothing = answers(data.world.scenes[0], -1, asked)
    assert asked["kind"][of_nothing[0]] == NOTHING and set(of_nothing[1:]) == {-1}


# What it sees.


def test_the_shipped_detector_keeps_its_marks_on_pictures_it_never_saw(data) -> None:
    assert Detector.load().asked == questions()
    results = marks(Detector.load(), *labelled(data, questions()))
    assert results["kinds"] >= 96 and results["colour"] >= 97
    assert results["worn"] >= 97 and results["worn on people"] >= 88


# The regions of a data set.


def test_regions_are_the_boxes_and_the_whole_picture(data, detected_data) -> None:
    pixels = load(images=40, seed=90_001, regions="pixels")
    for index in (0, 7, 39):
        region, before = detected_data.regions[index], pixels.regions[index]
        assert region.features.shape == (len(before.features) + 1, 192) and len(region.tags) == len(region.features)
        assert torch.allclose(region.boxes[:-1], before.boxes) and region.boxes[-1].tolist() == [0, 0, 1, 1, 1, 1, 1]
        assert ((region.confidence >= 0) & (region.confidence <= 1)).all()
        assert detected_data.regions.objects(index)[:-1].tolist() == pixels.regions.objects(index).tolist()
        assert detected_data.regions.objects(index)[-1] == data.world.scenes[index].place
        assert len(detected_data.regions.boxes(index)) == len(region.features)


def test_regions_are_computed_once_for_each_detector(tmp_path: Path, data, monkeypatch) -> None:
    arguments = data.images, data.image_ids, data.world, tmp_path
    first = detected(*arguments)
    monkeypatch.setattr(detector, "_seen", None)  # computing again would call it
    assert torch.equal(detected(*arguments)[0].features, first[0].features)
    assert len(list(tmp_path.iterdir())) == 1
    refused("no detector of scenes", detected, *arguments, weights=tmp_path / "none.safetensors")


# Learning.


def test_it_learns(tmp_path: Path, data) -> None:
    few = data.select(range(8))
    learnt = learn_to_detect(tmp_path / "learnt", few, Learning(epochs=2, batch=32))
    cut, truth = labelled(few, questions())
    assert marks(learnt, cut, truth)["kinds"] > marks(Detector(questions()).eval(), cut, truth)["kinds"]


def test_a_damaged_or_foreign_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.safetensors").write_bytes(b"\x08")
    refused("no detector of scenes", Detector.load, tmp_path / "a.safetensors")
    refused("no detector of scenes", Detector.load, tmp_path / "none.safetensors")
