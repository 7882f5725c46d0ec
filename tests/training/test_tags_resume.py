"""A cross-encoder run that was stopped, however and wherever, ends with the very bytes of a run that never was."""

import random
import shutil
import signal
import time

import pytest
import torch
from safetensors.torch import load_file

from itmlab.data.batches import Augmentation
from itmlab.runs.checkpoint import Checkpoints
from itmlab.runs.run import Run
from itmlab.training import loop
from itmlab.training.loop import train
from itmlab.training.progress import Interrupted
from tests.training.test_resume import same_bytes, wait_for_step
from tests.training.towers import tower
from tests.training.world import small_world


@pytest.fixture(scope="module")
def whole(data, tmp_path_factory):
    return train(tower(), data, tmp_path_factory.mktemp("whole") / "run", progress=False)


@pytest.mark.parametrize("steps", [1, 4, 5, 6])  # of 5 an epoch, 9 in all
def test_stopping_after_any_step_changes_nothing(steps, whole, data, tmp_path):
    stopped = train(tower(), data, tmp_path / "run", max_steps=steps, progress=False)
    assert not stopped.finished
    resumed = train(tower(), data, tmp_path / "run", progress=False)
    assert resumed.finished and same_bytes(resumed, whole)


@pytest.mark.parametrize("name", ["uniter_pretraining", "sg", "wm"])
def test_it_holds_for_other_recipes(name, data, tmp_path):
    once = train(tower(name), data, tmp_path / "once", progress=False)
    train(tower(name), data, tmp_path / "twice", max_steps=3, progress=False)
    assert same_bytes(train(tower(name), data, tmp_path / "twice", progress=False), once)


def test_augmented_patches_are_learnt_from_and_change_alike_when_taken_up(whole, data, tmp_path, monkeypatch):
    recipe, augment, changed = tower(data__flip=0.5, data__randaugment=(2, 7)), Augmentation.__call__, []
    monkeypatch.setattr(Augmentation, "__call__", lambda *given, **more: changed.append(1) or augment(*given, **more))
    once = train(recipe, data, tmp_path / "once", progress=False)
    assert 9 * 6 <= len(changed) <= 9 * (6 + 6 * 2)  # steps, pictures of the pairs and retrieved: none only looked at
    train(recipe, data, tmp_path / "twice", max_steps=3, progress=False)
    assert same_bytes(train(recipe, data, tmp_path / "twice", progress=False), once)
    weights = [load_file(run.directory / "model.safetensors") for run in (once, whole)]
    assert not all(value.equal(weights[1][name]) for name, value in weights[0].items())


def test_the_whole_state_is_the_same_with_the_frozen_generator_in_it(data, tmp_path):
    recipe = tower("sg", data__accumulate=2)
    train(recipe, data, tmp_path / "once", max_steps=4, progress=False)
    for steps in (1, 2, 4):
        train(recipe, data, tmp_path / "thrice", max_steps=steps, progress=False)
    (once, _), (thrice, _) = (Checkpoints(tmp_path / name / "resume").load() for name in ("once", "thrice"))
    assert once.keys() == thrice.keys() == {"model", "optimiser", "random", "generator"}
    for part, tensors in once.items():
        assert all(tensors[name].equal(value) for name, value in thrice[part].items()), part
    moved = [name for name, value in once["generator"].items() if not value.equal(once["model"][name])]
    assert moved, "the generator stayed where it was while the model learnt"


def test_a_run_resumes_between_its_last_step_and_its_last_evaluation(whole, data, tmp_path, monkeypatch):
    evaluate, calls = loop.evaluate, []

    def dying(*given, **named):
        calls.append(1)
        if len(calls) == 2:
            raise MemoryError
        return evaluate(*given, **named)

    monkeypatch.setattr(loop, "evaluate", dying)
    with pytest.raises(MemoryError):
        train(tower(), data, tmp_path / "run", checkpoint_every=1, progress=False)
    assert Checkpoints(tmp_path / "run" / "resume").load()[1]["step"] == 9
    assert same_bytes(train(tower(), data, tmp_path / "run", progress=False), whole)


def test_a_signal_finishes_the_step_and_saves(whole, data, tmp_path, monkeypatch):
    learn, steps = loop.learn, []

    def interrupted_learn(*arguments):
        steps.append(1)
        if len(steps) == 7:
            signal.raise_signal(signal.SIGTERM)
        return learn(*arguments)

    with monkeypatch.context() as patch:
        patch.setattr(loop, "learn", interrupted_learn)
        with pytest.raises(Interrupted, match="stopped after step 7"):
            train(tower(), data, tmp_path / "run", progress=False)
    assert same_bytes(train(tower(), data, tmp_path / "run", progress=False), whole)


def test_the_same_seed_gives_the_same_run_and_leaves_the_callers_random_numbers_alone(whole, data, tmp_path):
    torch.manual_seed(7)
    before = torch.get_rng_state()
    assert same_bytes(train(tower(), data, tmp_path / "again", progress=False), whole)
    assert torch.get_rng_state().equal(before)
    other = train(tower(seed=1), data, tmp_path / "other", progress=False)
    assert (other.directory / "history.jsonl").read_bytes() != (whole.directory / "history.jsonl").read_bytes()


def train_in_a_process(directory):
    torch.set_num_threads(1)
    train(tower(), small_world(), directory, checkpoint_every=1, progress=False)


def test_killing_the_process_at_random_moments(processes, whole, tmp_path):
    moments, kills, directory = random.Random(1), 0, tmp_path / "run"
    for step in (1, 3, 5, 7):
        process = processes.Process(target=train_in_a_process, args=(directory,))
        process.start()
        wait_for_step(process, directory, step)
        time.sleep(moments.uniform(0, 0.1))
        process.kill()
        process.join()
        kills += process.exitcode == -signal.SIGKILL
    process = processes.Process(target=train_in_a_process, args=(directory,))
    process.start()
    process.join()
    assert kills >= 2 and process.exitcode == 0 and same_bytes(Run(directory), whole)


def test_a_finished_run_is_shipped_and_read_back(whole, data, tmp_path):
    shipped = whole.export(tmp_path / "shipped")
    assert shipped.finished and shipped.recipe == whole.recipe and shipped.history == whole.history
    scores = [run.evaluate(data, split="val", ks=(1, 5))["rsum"] for run in (shipped, whole)]
    assert scores[0] == pytest.approx(scores[1], abs=40)
    shutil.rmtree(shipped.directory)
