"""Drawing: every kind in every pose, at any size, with marks that say who is seen where."""

import numpy as np
import pytest

from itmlab.scenes.compose import compose
from itmlab.scenes.draw import render
from itmlab.scenes.scene import KINDS, PEOPLE, SETTINGS, Entity
from tests.scenes.make import facts

DRAWN = [name for name, kind in KINDS.items() if kind.category not in ("stuff", "place", "worn")]
CLOTHES = (Entity("coat", colour="red", wearer=0), Entity("trousers", colour="blue", wearer=0))


def drawn(kind: str, pose: str):
    colours = KINDS[kind].colours
    height = min(0.5, 0.85 / max([KINDS[kind].wide, *(wide for wide, _ in KINDS[kind].poses.values())]))
    entity = Entity(kind, 0.5, 0.9, height, colour=colours[0] if colours else "", hair="brown", pose=pose)
    return facts(entity, *(CLOTHES if kind in PEOPLE else ())).scene


@pytest.mark.parametrize("kind", DRAWN)
def test_every_kind_is_drawn_in_every_pose_about_where_its_extent_says(kind):
    for pose in [*KINDS[kind].poses] or [""]:
        scene = drawn(kind, pose)
        _, marks = render(scene, 96)
        numbers = [number + 1 for number, entity in enumerate(scene.objects) if number == 0 or entity.wearer == 0]
        ys, xs = np.nonzero(np.isin(np.asarray(marks), numbers))
        left, top, right, bottom = (edge * 96 for edge in scene.objects[0].extent)
        slack = 2 + 0.25 * 96 * scene.objects[0].height  # a quarter of the thing's height
        assert abs(ys.min() - top) < slack and abs(ys.max() - bottom) < slack, (kind, pose)
        assert abs(xs.min() - left) < slack and abs(xs.max() - right) < slack, (kind, pose)


@pytest.mark.parametrize("setting", SETTINGS)
def test_settings_look_different_and_leave_no_pixel_unmarked(setting):
    scene = facts(setting=setting).scene
    picture, marks = render(scene, 48)
    assert picture.size == (48, 48) and picture.mode == "RGB"
    assert np.asarray(marks).min() >= 1
    assert np.asarray(picture).std() > 10


@pytest.mark.parametrize("size", [32, 224])
def test_any_size_shows_the_same_picture(size):
    scene = compose(0, 5)
    picture, marks = render(scene, size)
    small, _ = render(scene, 96)
    assert picture.size == marks.size == (size, size)
    difference = np.abs(np.asarray(picture.resize((24, 24)), float) - np.asarray(small.resize((24, 24)), float))
    assert difference.mean() < 12
