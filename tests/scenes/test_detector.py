"""The detector: what it is asked, how it learns, and the regions that it gives."""

from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from itmlab.scenes import detector
from itmlab.scenes.build import load
from itmlab.scenes.detector import Detector, Learning, crops, detected, labelled, learn_to_detect, marks
from itmlab.scenes.scene import KINDS
from itmlab.scenes.world import NOTHING, answers, questions
from tests.refusals import refused


@pytest.fixture(scope="module")
def data():
    return load(images=40, seed=90_001)


@pytest.fixture(scope="module")
def seen():
    return load(images=40, seed=90_001, regions="detector")


# What is asked.


def test_answers_are_what_the_world_knows_of_an_object(data) -> None:
    asked = questions()
    for scene in list(data.world.scenes)[:10]:
        for number, entity in enumerate(scene.objects):
            said = dict(zip(asked, answers(scene, number, asked), strict=True))
            assert asked["kind"][said["kind"]] == entity.kind
            assert (asked["colour"][said["colour"]] if said["colour"] >= 0 else "") == entity.colour
            worn = {other.kind: other.colour for other in scene.objects if other.wearer == number}
            for garment in (name for name in asked if name in KINDS):
                wanted = worn.get(garment, "none") if entity.category == "person" else None
                assert (asked[garment][said[garment]] if said[garment] >= 0 else None) == wanted
    of_nothing = answers(data.world.scenes[0], -1, asked)
    assert asked["kind"][of_nothing[0]] == NOTHING and set(of_nothing[1:]) == {-1}


def test_patches_are_asked_what_covers_most_of_them(data) -> None:
    marks_of_pixels = np.zeros((96, 96), dtype=int)
    for number, mask in enumerate(data.world.masks(3)):
        entity = data.world.objects(3)[number]
        if entity.category != "place":
            marks_of_pixels[mask.numpy() & ((entity.wearer is not None) | (marks_of_pixels == 0))] = number + 1
    kinds = questions()["kind"]
    found = [kinds[at] for at in data.world.patch_answers(3, 8, 8)[:, 0].tolist()]
    for at, kind in enumerate(found):
        row, column = divmod(at, 8)
        patch = marks_of_pixels[row * 12 : row * 12 + 12, column * 12 : column * 12 + 12]
        counts = np.bincount(patch.ravel())
        best = {data.world.objects(3)[number - 1].kind for number in np.flatnonzero(counts == counts.max()) if number}
        assert kind in best or (kind == NOTHING and not best)


# What it sees.


def test_a_crop_is_the_box_and_a_tenth_around_it() -> None:
    picture = Image.fromarray(np.arange(96 * 96 * 3, dtype=np.uint32).reshape(96, 96, 3).astype(np.uint8))
    box = np.array([[20, 20, 60, 60]], dtype=np.float32)
    wanted = picture.resize((32, 32), Image.Resampling.BILINEAR, box=(16, 16, 64, 64))
    assert (crops(picture, box)[0] == np.asarray(wanted)).all()
    corner = crops(picture, np.array([[0, 0, 96, 96]], dtype=np.float32))  # nothing is seen outside the picture
    assert (corner[0] == np.asarray(picture.resize((32, 32), Image.Resampling.BILINEAR))).all()


def test_the_shipped_detector_keeps_its_marks_on_pictures_it_never_saw(data) -> None:
    assert Detector.load().asked == questions()
    found = marks(Detector.load(), *labelled(data, questions()))
    assert found["kinds"] >= 96 and found["colour"] >= 97 and found["worn"] >= 97 and found["worn on people"] >= 88


# The regions of a data set.


def test_regions_are_the_boxes_and_the_whole_picture(data, seen) -> None:
    pixels = load(images=40, seed=90_001, regions="pixels")
    for index in (0, 7, 39):
        region, before = seen.regions[index], pixels.regions[index]
        assert region.features.shape == (len(before.features) + 1, 192) and len(region.tags) == len(region.features)
        assert torch.allclose(region.boxes[:-1], before.boxes) and region.boxes[-1].tolist() == [0, 0, 1, 1, 1, 1, 1]
        assert ((region.confidence >= 0) & (region.confidence <= 1)).all()
        assert seen.regions.objects(index)[:-1].tolist() == pixels.regions.objects(index).tolist()
        assert seen.regions.objects(index)[-1] == data.world.scenes[index].place
        assert len(seen.regions.boxes(index)) == len(region.features)


def test_regions_are_computed_once_for_each_detector(tmp_path: Path, data, monkeypatch) -> None:
    given = data.images, data.image_ids, data.world, tmp_path
    first = detected(*given)
    monkeypatch.setattr(detector, "_seen", None)  # computing again would call it
    assert torch.equal(detected(*given)[0].features, first[0].features)
    assert len(list(tmp_path.iterdir())) == 1
    refused("no detector of scenes", detected, *given, weights=tmp_path / "none.safetensors")


# Learning.


def test_learning_is_repeatable_and_learns(tmp_path: Path, data) -> None:
    few, settings = data.select(range(8)), Learning(epochs=2, batch=32)
    learnt, again = (learn_to_detect(tmp_path / name, few, settings) for name in ("learnt", "again"))
    assert all(
        torch.equal(first, second) for first, second in zip(learnt.parameters(), again.parameters(), strict=True)
    )
    cut, truth = labelled(few, questions())
    assert marks(learnt, cut, truth)["kinds"] > marks(Detector(questions()).eval(), cut, truth)["kinds"]


def test_marks_are_shares_of_right_answers(data) -> None:
    class Oracle(torch.nn.Module):
        asked = questions()

        def forward(self, pixels: torch.Tensor) -> tuple[None, dict[str, torch.Tensor]]:
            rows = truth[: len(pixels)].clamp(min=0)
            return None, {
                what: torch.nn.functional.one_hot(rows[:, at], len(names)).float()
                for at, (what, names) in enumerate(self.asked.items())
            }

    cut, truth = labelled(data.select(range(4)), questions())
    assert set(marks(Oracle(), cut, truth).values()) == {100.0}
    wrong = truth.clone()
    wrong[:, 1] = torch.where(truth[:, 1] >= 0, (truth[:, 1] + 1) % 11, -1)
    assert marks(Oracle(), cut, wrong)["colour"] == 0.0


def test_a_damaged_or_foreign_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.safetensors").write_bytes(b"\x08")
    refused("no detector of scenes", Detector.load, tmp_path / "a.safetensors")
    refused("no detector of scenes", Detector.load, tmp_path / "none.safetensors")
