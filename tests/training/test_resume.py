"""A run that was stopped, however and wherever, ends with the very bytes of a run that was not."""

import errno
import os
import pickle
import random
import signal
import time

import pytest
import torch

from itmlab.runs.checkpoint import CHECKPOINT_FILE, load_checkpoint, locked
from itmlab.runs.run import Run
from itmlab.training import loop
from itmlab.training.interruption import Interrupted
from itmlab.training.loop import train
from tests.refusals import refused
from tests.training.towers import tower
from tests.training.world import micro, small_world

EVERYTHING = {"data__accumulate": 3, "data__captions_per_image": "all", "optimiser__schedule": "linear"}
RECIPES = {
    "fne": micro(),
    "sam": micro("sam", **EVERYTHING),
    "retrieved": micro("retrieved", adaptive_margin={"negatives": "random"}, **EVERYTHING),
    "augmented": micro("fne", data__crop=(0.5, 1.0), data__flip=0.5, data__randaugment=(2, 7)),
    "tags_dc": tower(),
    "sg": tower("sg", data__accumulate=2),  # with a frozen generator
    "uniter_pretraining": tower("uniter_pretraining", data__flip=0.5),
}
FILES = {"recipe.json", "data.json", "config.json", "tokenizer.json", "tokenizer_config.json"}
FILES |= {"model.safetensors", "history.jsonl", "timings.jsonl"}


def same_bytes(run, other):
    names = FILES - {"timings.jsonl"}
    return all((run.directory / name).read_bytes() == (other.directory / name).read_bytes() for name in names)


@pytest.fixture(scope="module")
def whole(data, tmp_path_factory):
    """The uninterrupted run of each recipe, trained once."""
    runs = {}

    def run(name):
        if name not in runs:
            runs[name] = train(RECIPES[name], data, tmp_path_factory.mktemp(name) / "run", progress=False)
        return runs[name]

    return run


STOPS = [("fne", (1, 4, 5)), ("fne", (9, 13, 15)), ("sam", (2,)), ("retrieved", (4,)), ("augmented", (4,))]
STOPS += [("tags_dc", (1, 4)), ("tags_dc", (5, 6)), ("sg", (2, 3)), ("uniter_pretraining", (3,))]


@pytest.mark.parametrize(("name", "steps"), STOPS)
def test_stopping_after_any_step_changes_nothing(name, steps, whole, data, tmp_path):
    for step in steps:
        assert not train(RECIPES[name], data, tmp_path / "run", max_steps=step, progress=False).finished
    resumed = train(RECIPES[name], data, tmp_path / "run", progress=False)
    assert resumed.finished and same_bytes(resumed, whole(name))
    assert {path.name for path in resumed.directory.iterdir()} == FILES


def train_in_a_process(name, directory, at=0):
    """Train; before its `at`-th rename or fsync, or after it if `at` is negative, the process kills itself."""
    torch.set_num_threads(1)
    calls = 0

    def deadly(function):
        def call(*arguments, **options):
            nonlocal calls
            calls += 1
            if calls == at:
                os.kill(os.getpid(), signal.SIGKILL)
            result = function(*arguments, **options)
            if calls == -at:
                os.kill(os.getpid(), signal.SIGKILL)
            return result

        return call

    os.replace, os.fsync = deadly(os.replace), deadly(os.fsync)
    try:
        train(RECIPES[name], small_world(), directory, checkpoint_every=1, progress=False)
    except Interrupted as stop:
        os._exit(stop.exit_code)


def run_process(processes, name, directory, at=0, *, signal_number=None, delay=0.0):
    process = processes.Process(target=train_in_a_process, args=(name, directory, at))
    process.start()
    if signal_number is not None:
        while process.is_alive() and not (directory / CHECKPOINT_FILE).exists():
            time.sleep(0.001)
        time.sleep(delay)
        os.kill(process.pid, signal_number)
    process.join()
    return process.exitcode


@pytest.mark.parametrize("name", ["fne", "tags_dc"])
def test_a_killed_process_loses_nothing(name, processes, whole, tmp_path, request):
    draw, killed, directory = random.Random(name), 0, tmp_path / "run"
    for count in range(40 if request.config.getoption("--long") else 6):
        if count % 3 == 0:
            code = run_process(processes, name, directory, signal_number=signal.SIGKILL, delay=draw.uniform(0, 0.05))
        else:
            code = run_process(processes, name, directory, draw.choice((1, -1)) * draw.randint(1, 20))
        killed += code == -signal.SIGKILL
        if Run(directory).finished if (directory / "recipe.json").exists() else False:
            break
    assert killed >= 3
    assert run_process(processes, name, directory) == 0
    assert same_bytes(Run(directory), whole(name))
    assert {path.name for path in directory.iterdir()} == FILES


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_finishes_the_step_and_saves(number, code, whole, data, tmp_path, monkeypatch):
    learn, steps = loop.learn, []

    def interrupted_learn(*arguments):
        steps.append(1)
        if len(steps) == 7:
            signal.raise_signal(number)
        return learn(*arguments)

    with monkeypatch.context() as patch:
        patch.setattr(loop, "learn", interrupted_learn)
        with pytest.raises(Interrupted, match="stopped after step 7") as stop:
            train(RECIPES["tags_dc"], data, tmp_path / "run", progress=False)
    assert isinstance(stop.value, KeyboardInterrupt) and stop.value.exit_code == code
    assert load_checkpoint(tmp_path / "run" / CHECKPOINT_FILE)["position"]["step"] == 7
    assert same_bytes(train(RECIPES["tags_dc"], data, tmp_path / "run", progress=False), whole("tags_dc"))


def test_a_full_disk_is_one_line_and_training_resumes(whole, data, tmp_path, monkeypatch):
    fsync, room = os.fsync, 0

    def full(handle):
        nonlocal room
        room -= 1
        if room < 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return fsync(handle)

    monkeypatch.setattr(os, "fsync", full)
    for room in (0, 3, 9, 14):  # noqa: B007 (read by `full`)
        refused("No space left", train, RECIPES["fne"], data, tmp_path / "run", checkpoint_every=1, progress=False)
    room = 1000
    run = train(RECIPES["fne"], data, tmp_path / "run", checkpoint_every=1, progress=False)
    assert same_bytes(run, whole("fne")) and {path.name for path in run.directory.iterdir()} == FILES


def test_a_finished_run_is_returned_unchanged(finished, data):
    before = {path: path.stat().st_mtime_ns for path in finished.directory.rglob("*")}
    assert train(micro(), data, finished.directory, progress=False).finished
    assert before == {path: path.stat().st_mtime_ns for path in finished.directory.rglob("*")}


def test_another_recipe_other_data_and_not_resuming_are_refused(finished, data):
    directory = finished.directory
    refused("another recipe: data.epochs is 4", train, micro(data__epochs=5), data, directory, progress=False)
    refused("another recipe: seed is 0", train, micro(seed=3), data, directory, progress=False)
    refused("another data", train, micro(), small_world(copies=4), directory, progress=False)
    refused("contains a run", train, micro(), data, directory, resume=False, progress=False)


def test_a_saved_model_that_is_not_a_run_is_not_overwritten(finished, data, tmp_path):
    finished.model.save(tmp_path / "model")
    before = {path: path.read_bytes() for path in (tmp_path / "model").iterdir()}
    refused("config.json but not recipe.json", train, micro(), data, tmp_path / "model", progress=False)
    assert before == {path: path.read_bytes() for path in (tmp_path / "model").iterdir()}


def test_only_one_process_trains_in_a_directory(processes, data, tmp_path):
    with locked(tmp_path / "run"):
        before = sorted(tmp_path.rglob("*"))
        refused("another process is training", train, micro(), data, tmp_path / "run", max_steps=1, progress=False)
        assert sorted(tmp_path.rglob("*")) == before
    assert not (tmp_path / "run").exists()
    process = processes.Process(target=int)
    process.start()
    process.join()
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "lock").write_text(str(process.pid))  # left by a process that has ended
    assert train(micro(), data, tmp_path / "run", max_steps=1, progress=False).recipe == micro()
    assert not (tmp_path / "run" / "lock").exists()


@pytest.mark.parametrize("broken", ["PairBatches", "learn"])  # before the first step, and at it
def test_a_failed_first_training_does_not_refuse_the_corrected_one(broken, whole, data, tmp_path, monkeypatch):
    directory = tmp_path / "new" / "run"
    with monkeypatch.context() as patch:
        patch.setattr(loop, broken, lambda *_, **__: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            train(micro("sam", seed=7), data, directory, progress=False)
    assert directory.parent.exists() == (broken == "learn")
    assert same_bytes(train(micro(), data, directory, progress=False), whole("fne"))


class RunsCode:
    def __reduce__(self):
        return print, ("code was run",)


def test_a_damaged_checkpoint_is_refused_and_runs_no_code(data, tmp_path, capsys):
    train(micro(), data, tmp_path / "run", max_steps=6, progress=False)
    path, draw = tmp_path / "run" / CHECKPOINT_FILE, random.Random(0)
    content = path.read_bytes()
    state = load_checkpoint(path)
    damaged = [b"", content[:-100], content[: len(content) // 2], pickle.dumps(RunsCode())]
    for _ in range(20):
        flipped = bytearray(content)
        flipped[draw.randrange(len(content) // 10, len(content) * 9 // 10)] ^= 1 << draw.randrange(8)
        damaged.append(bytes(flipped))
    for other in damaged:
        path.write_bytes(other)
        try:
            assert str(load_checkpoint(path)) == str(state)  # a bit of the padding
        except ValueError:
            refused(f"{CHECKPOINT_FILE}.*damaged", train, micro(), data, tmp_path / "run", progress=False)
    for other in ({"step": RunsCode()}, [1]):
        torch.save(other, path)
        refused("damaged checkpoint", train, micro(), data, tmp_path / "run", progress=False)
    torch.save(state | {"model": {}}, path)
    refused("does not fit this run", train, micro(), data, tmp_path / "run", progress=False)
    assert "code was run" not in capsys.readouterr().out
