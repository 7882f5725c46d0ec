"""Runs in processes of their own: the same weights as here, nothing lost however it is left, no worker left over."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from itmlab import recipes
from itmlab.data import load
from itmlab.data.loading import changed_from, origin_of
from itmlab.runs.run import Run
from itmlab.training import comparison
from itmlab.training.comparison import compare
from itmlab.training.parallel import why_here
from tests.recipes.components import FifthHardest
from tests.refusals import refused
from tests.training.test_dual_encoder import small
from tests.training.world import micro

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    return tmp_path_factory.mktemp("scenes")


@pytest.fixture(scope="module")
def scenes(cache):
    return load("scenes", images=40, size=32, cache=cache)


def weights(root):
    return {str(at.relative_to(root)): at.read_bytes() for at in root.rglob("*") if at.name == "model.safetensors"}


GIVEN = {"triplet": micro("triplet"), "own": micro("fne").replace(sampler=FifthHardest())}


def test_what_workers_train_has_the_weights_of_what_is_trained_here(scenes, tmp_path, capfd):
    settings = {"seeds": 2, "split": "train"}
    here = compare(GIVEN, scenes, run_root=tmp_path / "here", jobs=1, progress=False, **settings)
    workers = compare(GIVEN, scenes, run_root=tmp_path / "workers", jobs=2, **settings)
    assert weights(tmp_path / "workers") == weights(tmp_path / "here") and len(weights(tmp_path / "here")) == 4
    assert workers.by_seed() == here.by_seed()
    said = capfd.readouterr().err
    assert "4 runs: step 64/64, 4 of 4 done, 0:00 left" in said, "one bar for all"


class Here(FifthHardest):
    """As a class of a notebook, but for its module."""

    def choose(self, scores, positives, positive_scores, *, generator):
        return super().choose(scores, positives, positive_scores, generator=generator)


def test_what_no_worker_can_be_given_is_said(scenes, monkeypatch):
    assert why_here(micro("triplet"), scenes) is None and why_here(GIVEN["own"], scenes) is None
    monkeypatch.setattr(Here, "__module__", "__main__")
    monkeypatch.setitem(vars(sys.modules["__main__"]), "Here", Here)
    assert "__main__:Here cannot be imported" in why_here(micro("fne").replace(sampler=Here()), scenes)
    assert "are not as load" in why_here(micro("triplet"), scenes.split("train"))


def test_a_data_set_knows_how_it_was_loaded_until_it_is_changed(scenes, cache):
    origin = origin_of(scenes)
    assert (origin["name"], origin["images"], origin["cache"]) == ("scenes", 40, str(cache))
    assert load(**origin).fingerprint == scenes.fingerprint and origin_of(scenes.reduced(0.5)) is None
    other = load("scenes", images=40, size=32, cache=cache)
    other.splits = {"train": other.splits["train"][:8]}
    assert origin_of(other) is None and origin_of(scenes.with_noise(0.5)) is None


def test_what_is_left_of_loaded_data_or_moved_in_them_is_loaded_the_same_by_another_process(scenes):
    half = changed_from(scenes, scenes.reduced(0.5, 3), train_share=0.5, share_seed=3)
    moved = changed_from(half, half.with_noise(0.5, 2), noise=0.5, noise_seed=2)
    for part in (half, moved, changed_from(scenes, scenes.with_noise(0.5), noise=0.5, noise_seed=0)):
        assert load(**origin_of(part)).fingerprint == part.fingerprint
    less = changed_from(moved, moved.reduced(0.5), train_share=0.5, share_seed=0)
    assert origin_of(less) is None  # `load` moves captions of what is left, not the other way round


def test_a_share_is_loaded_as_it_was_drawn_whatever_seed_the_data_were_loaded_with(cache, tmp_path, monkeypatch):
    other, parts = load("scenes", images=40, size=32, cache=cache, share_seed=3), []  # of all data it says nothing

    def seen(pair, part, **more):
        parts.append(part)
        raise StopIteration

    monkeypatch.setattr(comparison, "compare", seen)
    with pytest.raises(StopIteration):
        given = {"hardest": micro("hardest"), "sam": micro("sam")}, {"sam": "hardest"}, other, {0.5: 1}
        comparison.compare_data_fractions(*given, run_root=tmp_path, split="train")
    assert load(**origin_of(parts[0])).fingerprint == parts[0].fingerprint


def test_what_a_worker_is_refused_is_said_and_the_other_runs_are_kept(scenes, tmp_path):
    given = {"regions": small("vsepp"), "triplet": micro("triplet")}
    settings = {"seeds": 1, "run_root": tmp_path, "split": "train", "jobs": 2, "progress": False}
    refused("looks at regions and the data have none", compare, given, scenes, **settings)
    left = [path.parent for path in tmp_path.rglob("recipe.json")]
    assert [run.parent.name.partition("-")[0] for run in left] in (["triplet"], []), "what was refused has left nothing"


LONGER = {name: micro(name, data__epochs=20) for name in ("triplet", "hardest")}
SCRIPT = """
import sys
from itmlab import compare, load
from tests.training.test_dual_encoder import small
from tests.training.world import micro

data = load("scenes", images=40, size=32, cache=sys.argv[1])
given = {name: micro(name, data__epochs=20) for name in ("triplet", "hardest")}
compare(given, data, seeds=1, run_root=sys.argv[2], split="train", jobs=2)
"""


def workers_of(process):
    """Children of a process that are there, as /proc tells."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            number, rest = path.read_text().split(" (", 1)
            state, parent = rest.rpartition(") ")[2].split()[:2]
        except (OSError, ValueError):
            continue
        if int(parent) == process and state != "Z":
            found.append(int(number))
    return found


def alive(number):
    try:
        return Path(f"/proc/{number}/stat").read_text().rpartition(") ")[2][0] != "Z"
    except OSError:
        return False


@pytest.fixture(scope="module")
def whole(scenes, tmp_path_factory):
    """The folder of the same runs, trained here and not stopped."""
    root = tmp_path_factory.mktemp("whole")
    compare(LONGER, scenes, run_root=root, seeds=1, split="train", jobs=1, progress=False)
    return root


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks for processes in /proc")
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_interrupted_or_killed_it_leaves_no_worker_and_is_gone_on_with(scenes, cache, whole, tmp_path, how):
    """A script without a guard, stopped while both train; with Ctrl-C it ends as one does and has saved."""
    environment = os.environ | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    words = [sys.executable, "-c", SCRIPT, str(cache), str(tmp_path / "left")]
    begun = subprocess.Popen(words, env=environment, stderr=subprocess.PIPE, text=True)
    limit = time.monotonic() + 600
    while len(list((tmp_path / "left").rglob("history.jsonl"))) < 2 and begun.poll() is None:
        assert time.monotonic() < limit
        time.sleep(0.05)
    workers = workers_of(begun.pid)
    begun.send_signal(how)
    said = begun.communicate(timeout=600)[1]
    while any(map(alive, workers)) and time.monotonic() < limit:
        time.sleep(0.05)
    assert len(workers) == 2 and not any(map(alive, workers)), said
    left = [Run(path.parent) for path in (tmp_path / "left").rglob("recipe.json")]
    assert left and not all(run.finished for run in left)
    if how == signal.SIGINT:
        assert "compare again to go on from there" in said
        assert all((run.directory / "resume" / "state.json").is_file() for run in left), "each has saved"
    compare(LONGER, scenes, run_root=tmp_path / "left", seeds=1, split="train", jobs=1, progress=False)
    assert weights(tmp_path / "left") == weights(whole)


def test_impossible_numbers_of_jobs_are_refused(scenes, tmp_path):
    refused("jobs is 0", compare, [recipes.fne], scenes, run_root=tmp_path, jobs=0, split="train")
