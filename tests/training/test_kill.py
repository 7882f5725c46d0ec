"""A process killed at any rename or fsync, or at any moment, or on a disk that fills up, loses nothing.

Each recipe is trained by processes that are killed one after the other in one directory, until one comes to the end:
with the bytes of a run that was left alone, and nothing else in its directory. A few of these in the usual suite, 200
kills over all tiny recipes with `--long`.
"""

import errno
import os
import random
import signal
import time
from collections import Counter

import pytest
import torch

from itmlab import recipes
from itmlab.data import load
from itmlab.errors import ItmlabError
from itmlab.models import CrossEncoderConfig, DualEncoderConfig
from itmlab.runs.run import Run
from itmlab.training.loop import train
from tests.training.test_resume import same_bytes
from tests.training.towers import tower
from tests.training.world import micro, small_world

FEW, KILLS = ("fne", "tags_dc"), 200  # recipes in the usual suite; kills with --long
LEFT = {"recipe.json", "data.json", "config.json", "tokenizer.json", "tokenizer_config.json"}
LEFT |= {"model.safetensors", "history.jsonl", "timings.jsonl", "resume", "state.json"}


def small(name):
    """The recipe from scratch, small; None where it needs what the small world has not (regions, truth, a file)."""
    recipe = recipes.get(name)
    if name.startswith("oracle"):
        return None
    if type(recipe.model) is CrossEncoderConfig and recipe.extra_negatives is None:
        return tower(name, data__steps=6)
    fresh = name in recipes.DUAL_ENCODERS or (recipe.start is None and not name.endswith("+scratch"))
    if type(recipe.model) is DualEncoderConfig and recipe.extra_negatives is None and fresh:
        return micro(name, data__epochs=2)
    return None


def small_data(name):
    """What it is trained on: towers are told what covers each patch, which the drawn world alone knows."""
    return load("scenes", images=30, size=32) if name == "towers" else small_world()


def pytest_generate_tests(metafunc):
    names = [name for name in recipes.names() if small(name) is not None]
    if "name" in metafunc.fixturenames:
        metafunc.parametrize("name", names if metafunc.config.getoption("--long") else FEW)


def train_until_killed(name, directory, at):
    """In a process of its own: it kills itself before its `at`-th rename or fsync, or after it if `at` is negative."""
    torch.set_num_threads(1)
    calls = 0

    def deadly(act):
        def acting(*given, **options):
            nonlocal calls
            calls += 1
            if calls == at:
                os.kill(os.getpid(), signal.SIGKILL)
            done = act(*given, **options)
            if calls == -at:
                os.kill(os.getpid(), signal.SIGKILL)
            return done

        return acting

    for what in ("replace", "fsync"):
        setattr(os, what, deadly(getattr(os, what)))
    train(small(name), small_data(name), directory, checkpoint_every=1, progress=False)


def left_in(directory):
    return {path.name for path in directory.rglob("*")}


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    """The run of each recipe that nobody disturbed, trained once."""
    known = {}

    def run(name):
        if name not in known:
            directory = tmp_path_factory.mktemp(name) / "run"
            known[name] = train(small(name), small_data(name), directory, checkpoint_every=1, progress=False)
        return known[name]

    return run


def test_killed_at_renames_fsyncs_and_at_random(name, processes, undisturbed, tmp_path, request, record_property):
    long = request.config.getoption("--long")
    wanted = -(-KILLS // len([one for one in recipes.names() if small(one)])) if long else 5
    draw, kills, rounds = random.Random(name), Counter(), 0
    while kills.total() < wanted:
        directory, rounds = tmp_path / str(rounds), rounds + 1
        for count in range(4 * wanted):
            last = kills.total() >= wanted or count == 4 * wanted - 1
            by_moment = not last and draw.random() < 0.25
            at = 0 if last or by_moment else draw.choice((1, -1)) * draw.randint(1, 12 + 8 * (count % 3))
            process = processes.Process(target=train_until_killed, args=(name, directory, at))
            process.start()
            if by_moment:
                time.sleep(draw.uniform(0.05, 1.0))
                process.kill()
            process.join()
            assert process.exitcode in (0, -signal.SIGKILL)
            if process.exitcode == 0:
                break
            kills["at a moment" if by_moment else "before" if at > 0 else "after"] += 1
        assert same_bytes(Run(directory), undisturbed(name))
        assert left_in(directory) == LEFT
    record_property("kills", dict(kills))
    print(f"{name}: {kills.total()} kills in {rounds} runs ({dict(kills)})")


def test_on_a_disk_that_fills_up_at_random(name, undisturbed, tmp_path, monkeypatch, request):
    """What is written after some bytes does not come onto the disk; each time there is room for more."""
    room, draw, refusals, data = [0], random.Random(name), 0, small_data(name)
    monkeypatch.setattr(os, "fsync", filling(os.fsync, room))
    for _ in range(100):
        room[0] = draw.randint(1, 12 if request.config.getoption("--long") else 40)
        try:
            run = train(small(name), data, tmp_path / "run", checkpoint_every=1, progress=False)
        except (ItmlabError, OSError) as error:
            assert "No space left" in str(error) and "\n" not in str(error)
            refusals += 1
        else:
            break
    else:
        room[0] = 10**6
        run = train(small(name), data, tmp_path / "run", checkpoint_every=1, progress=False)
    assert refusals and same_bytes(run, undisturbed(name)) and left_in(run.directory) == LEFT


def filling(fsync, room):
    """An fsync that finds no room on the disk once it has been called so often."""

    def full(handle):
        room[0] -= 1
        if room[0] < 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return fsync(handle)

    return full
