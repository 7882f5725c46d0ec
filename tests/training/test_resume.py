"""A run that was stopped, however and wherever, ends with the very bytes of a run that never was."""

import json
import os
import random
import shutil
import signal
import time

import pytest
import torch
from safetensors.torch import load_file, save_file

from itmlab.errors import ItmlabError
from itmlab.runs.checkpoint import Checkpoints
from itmlab.runs.directory import held
from itmlab.runs.run import Run
from itmlab.training import loop
from itmlab.training.loop import train
from itmlab.training.progress import Interrupted
from tests.refusals import refused
from tests.training.world import micro, small_world

KEPT = ("model.safetensors", "history.jsonl", "recipe.json", "config.json", "tokenizer.json")


def same_bytes(run, other):
    return all((run.directory / name).read_bytes() == (other.directory / name).read_bytes() for name in KEPT)


@pytest.mark.parametrize("steps", [1, 4, 5, 9, 13, 15])  # of 4 an epoch: in warm-up, at its end, with the memory
def test_stopping_after_any_step_changes_nothing(steps, finished, data, tmp_path):
    stopped = train(micro(), data, tmp_path / "run", max_steps=steps, progress=False)
    assert not stopped.finished
    assert same_bytes(train(micro(), data, tmp_path / "run", progress=False), finished)


def test_the_whole_state_is_the_same_not_only_what_is_kept(data, tmp_path):
    train(micro(), data, tmp_path / "once", max_steps=14, progress=False)
    for steps in (3, 9, 14):
        train(micro(), data, tmp_path / "thrice", max_steps=steps, progress=False)
    (once, _), (thrice, _) = (Checkpoints(tmp_path / name / "resume").load() for name in ("once", "thrice"))
    assert once.keys() == thrice.keys() == {"model", "optimiser", "momentum", "memory", "sampler", "random"}
    for part, tensors in once.items():
        assert all(tensors[name].equal(value) for name, value in thrice[part].items()), part


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("triplet", {}),
        ("info_nce", {}),
        ("sam", {}),
        ("retrieved", {"adaptive_margin": {"negatives": "random"}}),  # with a memory, and draws of its own
        ("fne", {"data__crop": (0.5, 1.0), "data__flip": 0.5, "data__randaugment": (2, 7)}),
    ],
)
def test_it_holds_for_other_recipes(name, changes, data, tmp_path):
    recipe = micro(name, data__accumulate=3, data__captions_per_image="all", optimiser__schedule="linear", **changes)
    once = train(recipe, data, tmp_path / "once", progress=False)
    train(recipe, data, tmp_path / "twice", max_steps=4, progress=False)
    assert same_bytes(train(recipe, data, tmp_path / "twice", progress=False), once)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_finishes_the_step_and_saves(number, code, finished, data, tmp_path, monkeypatch):
    learn, steps = loop.learn, []

    def interrupted_learn(*arguments):
        steps.append(1)
        if len(steps) == 10:
            signal.raise_signal(number)
        return learn(*arguments)

    monkeypatch.setattr(loop, "learn", interrupted_learn)
    with pytest.raises(Interrupted, match="stopped after step 10") as stop:
        train(micro(), data, tmp_path / "run", progress=False)
    assert isinstance(stop.value, KeyboardInterrupt) and stop.value.exit_code == code
    assert Checkpoints(tmp_path / "run" / "resume").load()[1]["step"] == 10
    monkeypatch.setattr(loop, "learn", learn)
    assert same_bytes(train(micro(), data, tmp_path / "run", progress=False), finished)


class Crash(BaseException):
    """Stands for the machine going away."""


def test_a_crash_at_any_rename_leaves_something_to_go_on_from(finished, data, tmp_path, monkeypatch):
    replace, left = os.replace, [0]

    def replace_or_crash(*arguments, **options):
        left[0] -= 1
        if left[0] == 0:
            raise Crash
        return replace(*arguments, **options)

    monkeypatch.setattr(os, "replace", replace_or_crash)
    crashes, directory = 0, tmp_path / "run"
    for count in [*range(1, 12), *range(12, 60, 5)]:
        left[0] = count
        try:
            run = train(micro(), data, directory, checkpoint_every=2, progress=False)
        except Crash:
            crashes += 1
        else:
            assert same_bytes(run, finished)
            shutil.rmtree(directory)
    left[0] = -1
    assert crashes > 12
    assert same_bytes(train(micro(), data, directory, checkpoint_every=2, progress=False), finished)


LONGER = micro(data__epochs=10)


def train_in_a_process(directory):
    torch.set_num_threads(1)
    try:
        train(LONGER, small_world(), directory, checkpoint_every=1, progress=False)
    except Interrupted as stop:
        os._exit(stop.exit_code)


def start(processes, directory):
    process = processes.Process(target=train_in_a_process, args=(directory,))
    process.start()
    return process


def wait_for_step(process, directory, step):
    """Until the process has saved that step, or has ended."""
    checkpoints = Checkpoints(directory / "resume")
    while process.is_alive() and checkpoints.read_pointer().get("position", {"step": -1})["step"] < step:
        time.sleep(0.001)


@pytest.fixture(scope="module")
def longer(data, tmp_path_factory):
    return train(LONGER, data, tmp_path_factory.mktemp("longer") / "run", progress=False)


def test_killing_the_process_at_random_moments(processes, longer, tmp_path):
    moments, kills, directory = random.Random(0), 0, tmp_path / "run"
    for step in (1, 3, 4, 8, 13, 21, 30, 36):
        process = start(processes, directory)
        wait_for_step(process, directory, step)
        time.sleep(moments.uniform(0, 0.05))
        process.kill()
        process.join()
        kills += process.exitcode == -signal.SIGKILL
    assert kills >= 4  # a busy machine may let some of them run to the end
    process = start(processes, directory)
    process.join()
    assert process.exitcode == 0 and same_bytes(Run(directory), longer)


def test_terminating_the_process(processes, longer, tmp_path):
    directory = tmp_path / "run"
    process = start(processes, directory)
    wait_for_step(process, directory, 5)
    process.terminate()
    process.join()
    assert process.exitcode == 143 and not Run(directory).finished
    process = start(processes, directory)
    process.join()
    assert process.exitcode == 0 and same_bytes(Run(directory), longer)


def test_a_finished_run_is_returned_as_it_is(finished, data):
    before = {path: path.stat().st_mtime_ns for path in finished.directory.rglob("*")}
    assert train(micro(), data, finished.directory, progress=False).finished
    assert before == {path: path.stat().st_mtime_ns for path in finished.directory.rglob("*")}
    assert not list((finished.directory / "resume").glob("step-*")), "tensors that only resuming needs are dropped"


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"data__epochs": 5}, r"another recipe: data.epochs is 4 there and 5 here"),
        ({"sampler__prior": 0.1}, r"another recipe: sampler.options.prior is 0.01 there and 0.1 here"),
        ({"seed": 3}, r"another recipe: seed is 0 there and 3 here"),
    ],
)
def test_another_recipe_is_refused_in_one_line(changes, said, finished, data):
    with pytest.raises(ItmlabError, match=said) as error:
        train(micro(**changes), data, finished.directory, progress=False)
    assert "\n" not in str(error.value) and str(finished.directory) in str(error.value)


def test_other_data_or_not_resuming_is_refused(finished, data):
    with pytest.raises(ItmlabError, match="another data"):
        train(micro(), small_world(copies=4), finished.directory, progress=False)
    with pytest.raises(ItmlabError, match="a run here already"):
        train(micro(), data, finished.directory, resume=False, progress=False)


def test_two_processes_do_not_train_in_one_directory(data, tmp_path):
    with held(tmp_path / "run" / "resume"):
        (tmp_path / "run" / ".recipe.json.begun.tmp").write_text("of who trains here")
        before = sorted(tmp_path.rglob("*"))
        refused("another process is training here", train, micro(), data, tmp_path / "run", max_steps=1, progress=False)
        assert sorted(tmp_path.rglob("*")) == before, "who is refused leaves no trace and takes none away"
    assert train(micro(), data, tmp_path / "run", max_steps=1, progress=False).recipe == micro()
    assert not [path for path in tmp_path.rglob("*") if path.suffix == ".tmp" or path.name == "lock"]


def test_of_two_processes_begun_together_one_trains_and_the_other_says_so(processes, longer, tmp_path):
    directory, fates = tmp_path / "run", processes.Queue()
    both = [processes.Process(target=train_and_tell, args=(directory, fates)) for _ in range(2)]
    for process in both:
        process.start()
    told = sorted(fates.get(timeout=120) for _ in both)
    for process in both:
        process.join()
    assert told[0] == "" and (told[1] == "" or "another process is training here" in told[1]), told
    assert same_bytes(Run(directory), longer)


def train_and_tell(directory, fates):
    torch.set_num_threads(1)
    try:
        train(LONGER, small_world(), directory, checkpoint_every=1, progress=False)
    except BaseException as error:
        fates.put(f"{type(error).__name__}: {error}")
    else:
        fates.put("")


def test_a_run_is_evaluated_while_it_trains(processes, longer, data, tmp_path):
    directory, seen = tmp_path / "run", set()
    process = start(processes, directory)
    wait_for_step(process, directory, 5)  # of 4 an epoch
    while process.is_alive():
        run = Run(directory)
        seen.add(round(run.evaluate(data, split="val", ks=(1, 5))["rsum"], 6))
        assert all("step" in record for record in run.history) and run.finished in (True, False)
    process.join()
    assert process.exitcode == 0 and same_bytes(Run(directory), longer)
    assert seen <= {round(record["rsum"], 6) for record in longer.epochs}, "each time one epoch's weights, whole"


@pytest.mark.parametrize("broken", ["PairBatches", "learn"])  # before the first step, and at it
def test_a_failed_first_training_does_not_refuse_the_corrected_one(broken, finished, data, tmp_path, monkeypatch):
    directory = tmp_path / "new" / "run"
    with monkeypatch.context() as patch:
        patch.setattr(loop, broken, lambda *_, **__: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            train(micro("sam", seed=7), data, directory, progress=False)
    assert directory.parent.exists() == (broken == "learn"), "what fails before it has begun leaves nothing at all"
    assert same_bytes(train(micro(), data, directory, progress=False), finished)


def test_a_saved_model_that_is_no_run_is_not_written_over(finished, data, tmp_path):
    finished.model.save(tmp_path / "model")
    before = {path: path.read_bytes() for path in (tmp_path / "model").iterdir()}
    refused("config.json lies here, and no recipe.json", train, micro(), data, tmp_path / "model", progress=False)
    assert before == {path: path.read_bytes() for path in (tmp_path / "model").iterdir()}


def test_what_a_killed_process_left_is_removed_and_what_others_write_is_not(finished, data, tmp_path):
    train(micro(), data, tmp_path / "run", max_steps=6, progress=False)
    theirs = tmp_path / "run" / ".scores.npy.another.tmp"
    dead = [tmp_path / "run" / ".config.json.dead.tmp", tmp_path / "run" / "resume" / ".state.json.dead.tmp"]
    (tmp_path / "run" / "resume" / "step-00000099-0000-000000").mkdir()
    for path in (theirs, *dead):
        path.write_bytes(b"begun")
    assert same_bytes(train(micro(), data, tmp_path / "run", progress=False), finished)
    assert theirs.exists() and not any(path.exists() for path in dead)
    assert [path.name for path in (tmp_path / "run" / "resume").iterdir()] == ["state.json"]


def files_taken_up(run):
    return [path for path in sorted((run.directory / "resume").rglob("*")) if path.is_file()]


def test_a_flipped_bit_of_what_is_taken_up_is_refused_naming_the_file(data, tmp_path):
    run, draw = train(micro(), data, tmp_path / "run", max_steps=6, progress=False), random.Random(0)
    checkpoints = Checkpoints(run.directory / "resume")
    tensors, position = checkpoints.load()
    assert len(files_taken_up(run)) == 7
    for path in files_taken_up(run):
        whole = path.read_bytes()
        for place in [*range(0, 128, 9), *(draw.randrange(len(whole)) for _ in range(16))]:
            flipped = bytearray(whole)
            flipped[place] ^= 1 << draw.randrange(8)
            path.write_bytes(flipped)
            try:
                found, where = checkpoints.load()
            except ItmlabError as error:
                assert str(path) in str(error) and "\n" not in str(error)
            else:  # it was in the name of the checksum
                assert where == position and found.keys() == tensors.keys()
                assert all(found[part][name].equal(value) for part in found for name, value in tensors[part].items())
        path.write_bytes(whole)
    flipped = bytearray(whole := (run.directory / "model.safetensors").read_bytes())
    flipped[-1] ^= 1
    (run.directory / "model.safetensors").write_bytes(flipped)
    refused("model.safetensors: damaged", lambda: Run(run.directory).model)
    assert len(whole) == len(flipped)


def without_seals(run):
    """Makes the run's state one of before there were checksums."""
    state = run.directory / "resume" / "state.json"
    said = {name: value for name, value in json.loads(state.read_text()).items() if name not in ("sha256", "seals")}
    state.write_text(json.dumps(said))


def test_a_state_of_before_there_were_checksums_is_taken_up(finished, data, tmp_path):
    run = train(micro(), data, tmp_path / "run", max_steps=6, progress=False)
    for path in files_taken_up(run):
        if path.suffix == ".safetensors":
            save_file(load_file(path), path)
    without_seals(run)
    (run.directory / "resume" / "lock").touch()
    assert same_bytes(train(micro(), data, tmp_path / "run", progress=False), finished)


@pytest.mark.parametrize(
    ("damage", "kept"),
    [
        (lambda lines: None, 0),  # deleted
        (lambda lines: b"", 0),
        (lambda lines: lines[0] + lines[1][:9], 1),
        (lambda lines: lines[0] + b"\0" * len(b"".join(lines[1:])), 1),
        (lambda lines: lines[0] + b"[1]\n" + lines[1], 1),
    ],
)
def test_a_damaged_history_is_taken_up_at_its_last_good_line(damage, kept, finished, data, tmp_path):
    run = train(micro(), data, tmp_path / "run", max_steps=11, progress=False)
    path, whole = run.directory / "history.jsonl", finished.history
    lines = path.read_bytes().splitlines(keepends=True)
    damaged = damage(lines)
    path.unlink() if damaged is None else path.write_bytes(damaged)
    with pytest.warns(UserWarning, match=f"history.jsonl: damaged or cut after line {kept}, so the record goes on"):
        resumed = train(micro(), data, tmp_path / "run", progress=False)
    assert resumed.history == whole[:kept] + whole[len(lines) :]
    weights = [one.directory / "model.safetensors" for one in (resumed, finished)]
    assert weights[0].read_bytes() == weights[1].read_bytes()


def test_the_memory_of_an_older_itmlab_is_one_line(data, tmp_path):
    """Before adaptive margins a memory did not keep which captions it held."""
    run = train(micro(), data, tmp_path / "run", max_steps=6, progress=False)
    (path,) = (run.directory / "resume").glob("step-*/memory.safetensors")
    save_file({name: value for name, value in load_file(path).items() if name != "caption_ids"}, path)
    without_seals(run)
    with pytest.raises(ItmlabError, match="does not say which captions it holds — train into a new directory"):
        train(micro(), data, tmp_path / "run", progress=False)


def test_a_damaged_state_is_one_line(data, tmp_path):
    run = train(micro(), data, tmp_path / "run", max_steps=6, progress=False)
    next((run.directory / "resume").glob("step-*/memory.safetensors")).write_bytes(b"no")
    with pytest.raises(ItmlabError, match=r"memory\.safetensors: the resume state cannot be read"):
        train(micro(), data, tmp_path / "run", progress=False)
    (run.directory / "resume" / "state.json").write_text('{"tensors": "../..", "parts": ["x"], "position": {}}')
    with pytest.raises(ItmlabError, match="leaves its root"):
        train(micro(), data, tmp_path / "run", progress=False)
