"""A run that was stopped, however and wherever, ends with the very bytes of a run that was not."""

import errno
import os
import pickle
import shutil
import signal

import pytest
import torch

import itmlab
from itmlab.train import loop
from itmlab.train.directory import CHECKPOINT_FILE, load_checkpoint, locked
from itmlab.train.loop import train
from itmlab.train.session import Interrupted
from tests.refusals import refused
from tests.train.towers import tower
from tests.train.world import micro, small_world

AUGMENTED = {"data__crop": (0.5, 1.0), "data__flip": 0.5, "data__randaugment": (2, 7)}
SIZES = {"dimension": 12, "word_dimension": 10, "region_dimension": 8, "vocabulary_size": 80}
SMALL = {f"model__{name}": value for name, value in SIZES.items()}
SMALL |= {"data__batch_size": 8, "data__captions_per_image": 1, "data__epochs": 6, "data__warm_up_epochs": 1}
RECIPES = {
    "fne": micro("fne", **AUGMENTED),
    "sam": micro("sam", data__epochs=5, data__accumulate=2, data__captions_per_image="all"),
    "synthesis": itmlab.recipe("vsepp+syn+info").replace(**SMALL, synthesis__clusters=3),
    "scan": itmlab.recipe("scan").replace(**SMALL),
    "tags_dc": tower("tags_dc", tags__generator="static", data__accumulate=2),
}
FILES = {"recipe.json", "data.json", "config.json", "tokenizer.json", "tokenizer_config.json"}
FILES |= {"model.safetensors", "history.jsonl"}


def same_bytes(run, other):
    return all((run.directory / name).read_bytes() == (other.directory / name).read_bytes() for name in FILES)


def trained(name, directory, **options):
    data = small_world(regions=8 if name in ("synthesis", "scan") else 0)
    return train(RECIPES[name], data, directory, progress=False, **options)


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory):
    """The uninterrupted run of each recipe, trained once."""
    runs = {}

    def run(name):
        if name not in runs:
            runs[name] = trained(name, tmp_path_factory.mktemp(name) / "run")
        return runs[name]

    return run


def train_until_signal(name, directory, number, at):
    """Train, and save after every step; the process sends itself a signal before its fsync of this number."""
    torch.set_num_threads(1)
    fsync, calls = os.fsync, []

    def signalling(handle):
        calls.append(handle)
        if len(calls) == at:
            os.kill(os.getpid(), number)
        return fsync(handle)

    os.fsync = signalling
    try:
        trained(name, directory, checkpoint_every=1)
    except Interrupted as stop:
        os._exit(stop.exit_code)


@pytest.mark.parametrize("name", RECIPES)
def test_a_run_stopped_in_every_way_ends_as_a_whole_one(name, uninterrupted, processes, tmp_path):
    """One after another: after a step, by signals and by a kill, each time from where the last one stopped."""
    assert not trained(name, tmp_path / "run", max_steps=1).finished
    for stop, number in ((signal.SIGTERM, 5), (signal.SIGINT, 5), (signal.SIGKILL, 13)):
        process = processes.Process(target=train_until_signal, args=(name, tmp_path / "run", stop, number))
        process.start()
        process.join()
        assert process.exitcode == (-stop if stop == signal.SIGKILL else 128 + stop)
    resumed = trained(name, tmp_path / "run")
    assert resumed.finished and same_bytes(resumed, uninterrupted(name))
    assert {path.name for path in resumed.directory.iterdir()} == FILES


def test_a_full_disk_is_one_line_and_training_resumes(uninterrupted, tmp_path, monkeypatch):
    fsync, room = os.fsync, 0

    def full(handle):
        nonlocal room
        room -= 1
        if room < 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return fsync(handle)

    monkeypatch.setattr(os, "fsync", full)
    for room in (0, 3, 9, 14):  # noqa: B007 (read by `full`)
        refused("No space left", trained, "fne", tmp_path / "run", checkpoint_every=1)
    room = 1000
    assert same_bytes(trained("fne", tmp_path / "run", checkpoint_every=1), uninterrupted("fne"))


def test_a_finished_run_is_returned_unchanged(finished, data):
    before = {path: path.stat().st_mtime_ns for path in finished.directory.rglob("*")}
    assert train(micro(), data, finished.directory, progress=False).finished
    assert before == {path: path.stat().st_mtime_ns for path in finished.directory.rglob("*")}


def test_another_recipe_is_refused(finished, data):
    refused("another recipe: data.epochs is 4", train, micro(data__epochs=5), data, finished.directory, progress=False)


OTHER_DATA = {
    "captions": lambda data: data.captions.__setitem__(0, "another caption"),
    "pictures": lambda data: data.images.__setitem__(0, data.images[1]),
    "features": lambda data: data.regions.__setitem__(0, data.regions[1]),
    "splits": lambda data: data.splits.update(train=data.splits["train"][1:]),
}


@pytest.mark.parametrize("change", OTHER_DATA)
def test_a_run_does_not_resume_on_other_data(change, tmp_path):
    trained("scan", tmp_path / "run", max_steps=1)
    other = small_world(regions=8)
    OTHER_DATA[change](other)
    refused("another data", train, RECIPES["scan"], other, tmp_path / "run", progress=False)


LINKED = ["history.jsonl", CHECKPOINT_FILE, "model.safetensors", "recipe.json", "tokenizer.json", "lock"]


@pytest.mark.parametrize("name", LINKED)
def test_nothing_is_written_through_a_link(name, data, tmp_path):
    train(micro(), data, tmp_path / "run", max_steps=2, progress=False)
    path, target = tmp_path / "run" / name, tmp_path / "private"
    shutil.move(path, target) if path.exists() else target.write_text("private")
    path.symlink_to(target)
    before = target.read_bytes()
    refused("a link", train, micro(), data, tmp_path / "run", progress=False)
    assert target.read_bytes() == before and path.is_symlink()


def test_a_hard_link_to_the_history_is_left_as_it_is_and_a_pipe_is_refused(data, tmp_path):
    train(micro(), data, tmp_path / "run", max_steps=2, progress=False)
    history = tmp_path / "run" / "history.jsonl"
    os.link(history, tmp_path / "copy")
    before = (tmp_path / "copy").read_bytes()
    train(micro(), data, tmp_path / "run", max_steps=5, progress=False)
    assert (tmp_path / "copy").read_bytes() == before
    history.unlink()
    os.mkfifo(history)
    refused("not a (regular )?file", train, micro(), data, tmp_path / "run", progress=False)


def test_a_saved_model_that_is_not_a_run_is_not_overwritten(finished, data, tmp_path):
    finished.model.save(tmp_path / "model")
    before = {path: path.read_bytes() for path in (tmp_path / "model").iterdir()}
    refused("config.json but not recipe.json", train, micro(), data, tmp_path / "model", progress=False)
    assert before == {path: path.read_bytes() for path in (tmp_path / "model").iterdir()}


def test_only_one_process_trains_in_a_directory(processes, data, tmp_path):
    with locked(tmp_path / "run"):
        refused("another process is training", train, micro(), data, tmp_path / "run", max_steps=1, progress=False)
    assert not (tmp_path / "run").exists()
    process = processes.Process(target=int)
    process.start()
    process.join()
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "lock").write_text(str(process.pid))  # left by a process that has ended
    assert train(micro(), data, tmp_path / "run", max_steps=1, progress=False).recipe == micro()


@pytest.mark.parametrize("broken", ["groups", "learning_rate_at"])  # before the first step, and at it
def test_a_failed_first_training_does_not_refuse_the_corrected_one(broken, uninterrupted, data, tmp_path, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(loop, broken, lambda *_, **__: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            train(micro("sam", seed=7), data, tmp_path / "run", progress=False)
    assert same_bytes(trained("fne", tmp_path / "run"), uninterrupted("fne"))


class RunsCode:
    def __reduce__(self):
        return print, ("code was run",)


def test_a_damaged_checkpoint_is_refused_and_runs_no_code(data, tmp_path, capsys):
    train(micro(), data, tmp_path / "run", max_steps=6, progress=False)
    path = tmp_path / "run" / CHECKPOINT_FILE
    content, state = path.read_bytes(), load_checkpoint(path)
    flipped = bytearray(content)
    flipped[len(content) // 2] ^= 1
    for damaged in (b"", content[:-100], bytes(flipped), pickle.dumps(RunsCode())):
        path.write_bytes(damaged)
        refused(f"{CHECKPOINT_FILE}.*damaged", train, micro(), data, tmp_path / "run", progress=False)
    for other in ({"step": RunsCode()}, [1]):
        torch.save(other, path)
        refused("checkpoint is damaged", train, micro(), data, tmp_path / "run", progress=False)
    torch.save(state | {"model": {}}, path)
    refused("does not fit this run", train, micro(), data, tmp_path / "run", progress=False)
    assert "code was run" not in capsys.readouterr().out
