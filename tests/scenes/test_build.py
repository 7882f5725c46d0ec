"""`load`: the same bytes always, a smaller set is the beginning of a larger one, drawn once."""

import hashlib
import shutil

import numpy as np
import pytest

from itmlab.data import load as load_any
from itmlab.errors import ItmlabError
from itmlab.scenes import build, load
from itmlab.scenes.build import rows
from tests.refusals import refused

PINNED = 2, "21a29ebf3dc41237"


def test_a_change_of_the_world_raises_its_version():
    """The same in every process. Pixels are not hashed, as they vary with Pillow.

    After a change raise VERSION and pin the new hash.
    """
    table = rows(images=40, size=32, seed=0, unannotated=0.41)
    text = "\n".join(row["scene"] + "|".join(row["captions"]) for row in table)
    assert (build.VERSION, hashlib.sha256(text.encode()).hexdigest()[:16]) == PINNED


def test_a_smaller_set_is_the_beginning_of_a_larger_one(scenes, cache):
    small = load(images=30, cache=cache)
    assert small.captions == scenes.captions[:150] and small.image_ids == scenes.image_ids[:30]
    assert all(np.array_equal(small.images[at], scenes.images[at]) for at in range(30))


def test_another_seed_is_another_world_and_the_knob_leaves_the_pictures_alone(cache):
    first, other = load(images=6, size=48, cache=cache), load(images=6, size=48, seed=1, cache=cache)
    assert first.captions != other.captions and first.fingerprint != other.fingerprint
    general = load(images=6, size=48, unannotated=1.0, cache=cache)
    assert general.captions != first.captions
    assert all(np.array_equal(general.images[at], first.images[at]) for at in range(6))


@pytest.mark.parametrize("images, splits", [(1, [1]), (3, [1, 1, 1]), (120, [100, 10, 10])])
def test_splits_are_ten_to_one_to_one(images, splits, cache):
    assert [len(indices) for indices in load(images=images, cache=cache).splits.values()] == splits


def test_drawn_once_then_read_from_the_cache(tmp_path, monkeypatch):
    first = load(images=4, size=48, cache=tmp_path)
    monkeypatch.setattr(build, "rows", lambda **options: pytest.fail("drawn again"))
    again = load(images=4, size=48, cache=tmp_path)
    assert again.captions == first.captions and again.fingerprint == first.fingerprint
    assert [path.name for path in tmp_path.iterdir()] == [f"rich-v{build.VERSION}-4x48-seed0-unannotated0.41"]


def test_load_takes_scenes_by_name_and_a_split(cache):
    val = load_any("scenes", images=120, cache=cache, split="val")
    assert len(val) == 10 and len(val.captions) == 50
    assert val.images[0].size == (96, 96) and val.world.truth().shape == (10, 50)
    with pytest.raises(ItmlabError, match="edition"):
        load_any("scenes", images=3, edition="classic", cache=cache)


WRONG = [("images", 0), ("images", 2.5), ("size", 5), ("seed", -1), ("unannotated", 1.5), ("regions", "pixel")]


@pytest.mark.parametrize("option, value", WRONG)
def test_options_outside_their_range_are_one_clear_error(option, value, cache):
    with pytest.raises(ItmlabError, match=option):
        load(**{"images": 3, "cache": cache, option: value})


@pytest.mark.parametrize("left", [0, 0.5, 0.98])
def test_a_truncated_table_is_refused_and_drawn_again_once_deleted(left, tmp_path):
    fingerprint = load(images=4, size=32, cache=tmp_path).fingerprint
    (path,) = tmp_path.rglob(build.FILE)
    content = path.read_bytes()
    path.unlink()  # it is still mapped into memory
    path.write_bytes(content[: int(left * len(content))])
    refused("damaged", load, images=4, size=32, cache=tmp_path)
    shutil.rmtree(path.parent)
    assert load(images=4, size=32, cache=tmp_path).fingerprint == fingerprint and path.read_bytes() == content
