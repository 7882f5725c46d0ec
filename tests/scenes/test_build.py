"""`load`: the same bytes always, a smaller set is the beginning of a larger one, drawn once."""

import hashlib
import os
import shutil
import subprocess
import sys

import numpy as np
import pytest

from itmlab.data import load as load_any
from itmlab.errors import ItmlabError
from itmlab.scenes import build, load
from itmlab.scenes.build import rows

PINNED = {"classic": (2, "a38ca05542e68f28"), "rich": (2, "21a29ebf3dc41237")}
OPTIONS = {"size": 48, "seed": 5, "unannotated": 0.3, "edition": "rich"}
DIGEST = f"""
import hashlib, json
from itmlab.scenes.build import rows
every = list(rows(images=12, **{OPTIONS}))
parts = [[r["image"]["bytes"].hex(), r["marks"].hex(), r["scene"], r["captions"], r["graphs"]] for r in every]
text = json.dumps(parts)
print(hashlib.sha256(text.encode()).hexdigest())
"""


def test_the_same_bytes_in_every_process_whatever_its_hash_seed():
    digests = set()
    for hash_seed in ("1", "2"):
        environment = os.environ | {"PYTHONHASHSEED": hash_seed}
        run = subprocess.run([sys.executable, "-c", DIGEST], env=environment, capture_output=True, text=True)
        assert run.returncode == 0, run.stderr
        digests.add(run.stdout)
    assert len(digests) == 1


@pytest.mark.parametrize("edition, knob", [("classic", 0.25), ("rich", 0.41)])
def test_whoever_changes_the_world_raises_its_version(edition, knob):
    """Scenes and captions are hashed (pixels vary with Pillow): after a change raise VERSION and pin the new hash."""
    every = rows(images=40, size=32, seed=0, unannotated=knob, edition=edition)
    text = "\n".join(row["scene"] + "|".join(row["captions"]) for row in every)
    assert (build.VERSION, hashlib.sha256(text.encode()).hexdigest()[:16]) == PINNED[edition]


def test_a_smaller_set_is_the_beginning_of_a_larger_one(scenes, cache):
    small = load(images=30, cache=cache)
    assert small.captions == scenes.captions[:150] and small.image_ids == scenes.image_ids[:30]
    assert all(np.array_equal(small.images[at], scenes.images[at]) for at in range(30))


def test_another_seed_is_another_world_and_the_knob_leaves_the_pictures_alone(cache):
    one, other = load(images=6, size=48, cache=cache), load(images=6, size=48, seed=1, cache=cache)
    assert one.captions != other.captions and one.fingerprint != other.fingerprint
    general = load(images=6, size=48, unannotated=1.0, cache=cache)
    assert general.captions != one.captions
    assert all(np.array_equal(general.images[at], one.images[at]) for at in range(6))


def test_splits_are_ten_to_one_to_one(scenes):
    assert {name: len(indices) for name, indices in scenes.splits.items()} == {"train": 100, "val": 10, "test": 10}


def test_drawn_once_then_read_from_the_cache(tmp_path, monkeypatch):
    first = load(images=4, size=48, cache=tmp_path)
    monkeypatch.setattr(build, "rows", lambda **options: pytest.fail("drawn again"))
    again = load(images=4, size=48, cache=tmp_path)
    assert again.captions == first.captions and again.fingerprint == first.fingerprint
    assert [path.name for path in tmp_path.iterdir()] == [f"rich-v{build.VERSION}-4x48-seed0-unannotated0.41"]


def test_the_classic_edition_is_found_where_it_was_kept_before_there_was_another(tmp_path):
    load(images=2, size=48, edition="classic", cache=tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == [f"v{build.VERSION}-2x48-seed0-unannotated0.25"]


@pytest.mark.parametrize("python", [sys.executable, shutil.which("false")], ids=["drawn", "processes fail"])
def test_cores_that_draw_a_share_each_make_the_same_table(python, tmp_path, monkeypatch):
    options = {"size": 32, "seed": 0, "unannotated": 0.3, "edition": "rich"}
    monkeypatch.setattr(build, "PART", 2)
    monkeypatch.setattr(build, "cores", lambda: 3)
    monkeypatch.setattr(sys, "executable", python)
    shared = build.table(images=13, cache=tmp_path, **options).with_format(None)
    alone = list(rows(images=13, **options))
    assert shared["marks"] == [row["marks"] for row in alone]
    assert shared["captions"] == [row["captions"] for row in alone]
    (folder,) = tmp_path.glob("*13x32*")
    assert [path.name for path in folder.iterdir()] == [build.FILE]


def test_the_one_door_loads_scenes_and_takes_a_split(cache):
    val = load_any("scenes", images=120, cache=cache, split="val")
    assert len(val) == 10 and len(val.captions) == 50
    assert val.images[0].size == (96, 96) and val.world.truth().shape == (10, 50)


@pytest.mark.parametrize(
    "option", [{"images": 0}, {"images": 2.5}, {"size": 5}, {"seed": -1}, {"unannotated": 1.5}, {"unannotated": "x"}]
)
def test_options_outside_their_range_are_one_clear_error(option, cache):
    with pytest.raises(ItmlabError, match=next(iter(option))):
        load(**{"images": 3, "cache": cache} | option)


def test_the_smallest_sets_load(cache):
    assert list(load(images=1, cache=cache).splits) == ["train"]
    splits = load(images=3, cache=cache).splits
    assert {name: len(at) for name, at in splits.items()} == {"train": 1, "val": 1, "test": 1}


@pytest.mark.parametrize("left", [0, 1000, 0.5, 0.98])  # bytes, or a share
def test_a_truncated_table_is_drawn_anew_with_one_line(left, tmp_path):
    whole = load(images=4, size=32, cache=tmp_path).fingerprint
    (path,) = tmp_path.rglob("scenes.arrow")
    content = path.read_bytes()
    path.unlink()  # as it is still mapped into memory
    path.write_bytes(content[: left if isinstance(left, int) else int(left * len(content))])
    with pytest.warns(UserWarning, match="scenes.arrow: damaged, so the scenes are drawn anew"):
        again = load(images=4, size=32, cache=tmp_path)
    assert again.fingerprint == whole and path.read_bytes() == content
