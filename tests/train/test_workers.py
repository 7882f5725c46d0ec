"""Several runs trained side by side: whatever stops them, no process is left, and the same call resumes."""

import os
import runpy
import signal
import subprocess
import sys
import time
from threading import Thread

import psutil
import pytest
from typer.testing import CliRunner

from itmlab import cli, train
from itmlab.losses import InfoNCE
from itmlab.samplers import FalseNegativeEliminating
from itmlab.synthesis import SynHNC
from itmlab.train.comparison import compare
from itmlab.train.session import Interrupted, stopped_in_words
from itmlab.train.settings import MemorySettings
from itmlab.train.step_dual import DualEncoderTask
from itmlab.train.workers import trained
from tests.refusals import refused
from tests.train.world import micro, small_world

SCRIPT = """
import signal, sys
from dataclasses import dataclass
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job would ignore Ctrl-C
from itmlab import compare, load
from itmlab.samplers import Hardest
from itmlab.train import Interrupted, workers
from tests.train.world import micro

workers.STILL_SECONDS = 3.0

@dataclass
class Second(Hardest):
    rank: int = 1

data = load("scenes", images=40, size=32, cache=sys.argv[1])
recipes = {name: micro(name, data__epochs=100) for name in ("triplet", "fne")}  # no run ends while the test waits
recipes["fne"] = recipes["fne"].replace(sampler=Second())
table = None
while table is None:
    try:
        options = {"run_root": sys.argv[2], "jobs": int(sys.argv[3])}
        table = compare(recipes, data, seeds=1, split="train", progress=False, **options)
    except Interrupted as stop:
        print(stop.exit_code, stop, file=sys.stderr, flush=True)
"""


def trainers_of(process, root):
    """The processes that train, once two do, and all processes that the script has started."""
    trainers = []
    while len(trainers) < 2:
        assert process.poll() is None, process.stderr.read()
        time.sleep(0.1)
        children = psutil.Process(process.pid).children(recursive=True)
        locks = {path.read_text() for path in root.glob("*/*/lock")}
        trainers = [child for child in children if str(child.pid) in locks]
    return trainers, children


def wait_for(process, word):
    return next(line for line in process.stderr if word in line)


def weights(root):
    return {path.parts[-3:]: path.read_bytes() for path in root.rglob("*.safetensors")}


@pytest.mark.slow
@pytest.mark.parametrize("memory", [None, MemorySettings(length=20)], ids=["batch", "memory"])
def test_runs_that_differ_after_the_warm_up_share_it_and_end_as_if_they_did_not(tmp_path, memory, monkeypatch):
    recipe = micro("hardest", memory=memory, data__epochs=3, data__warm_up_epochs=2)
    fne = recipe.replace(sampler=FalseNegativeEliminating(minimum_positives=4))
    last = recipe.replace(sampler=None, loss=InfoNCE(0.1)) if memory else recipe.replace(synthesis=SynHNC())
    recipes, data = {"hardest": recipe, "FNE": fne, "last": last}, small_world()
    steps, after_step = [], DualEncoderTask.after_step
    monkeypatch.setattr(DualEncoderTask, "after_step", lambda task: steps.append(after_step(task)))
    shared = trained(recipes, data, seeds=1, run_root=tmp_path / "shared", jobs=1, progress=False)
    together = len(steps)
    for name, (run,) in shared.items():
        alone = train(recipes[name], data, tmp_path / "alone" / name, progress=False)
        assert alone.history == run.history
        weights = [(one.directory / "model.safetensors").read_bytes() for one in (alone, run)]
        assert weights[0] == weights[1]
        assert {path.name for path in run.directory.iterdir()} == {path.name for path in alone.directory.iterdir()}
    assert 9 * together == 5 * (len(steps) - together), "two epochs of one run and the last epoch of three, not nine"
    assert len([*(tmp_path / "shared").iterdir()]) == 3


@pytest.mark.slow
def test_stopped_in_every_way_it_leaves_no_process_and_resumes_to_the_same_weights(tmp_path, monkeypatch):
    """Issue 44, entries 23 and 31: Ctrl-C, SIGTERM, a kill, and a worker that stands still."""
    script, scenes, runs = tmp_path / "script.py", str(tmp_path / "scenes"), tmp_path / "runs"
    script.write_text(SCRIPT)
    command = [sys.executable, script, scenes, runs, "2"]
    environment = os.environ | {
        "OMP_NUM_THREADS": "1",
        "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
    }
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment)
    try:
        for how in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
            trainers, children = trainers_of(process, runs)
            if how == signal.SIGTERM:
                trainers[0].suspend()
                assert f"process {trainers[0].pid} has not computed for 3" in wait_for(process, "has not computed")
            process.send_signal(how)
            if how != signal.SIGKILL:
                assert f"{128 + how} stopped: 0 of 2 runs in {runs} are trained" in wait_for(process, "stopped")
            # those that keep account of resources stay as long as the process that compares
            assert not psutil.wait_procs(children if how == signal.SIGKILL else trainers, timeout=60)[1]
    finally:
        process.kill()
    # in this process, from where the killed one was, and from the beginning
    handler = signal.getsignal(signal.SIGINT)
    for root in (runs, tmp_path / "alone"):
        monkeypatch.setattr(sys, "argv", [str(script), scenes, str(root), "1"])
        runpy.run_path(str(script), run_name="__main__")
    signal.signal(signal.SIGINT, handler)
    assert len(weights(runs)) == 2 and weights(runs) == weights(tmp_path / "alone")


@pytest.mark.slow
def test_an_error_in_a_worker_is_one_line(data, tmp_path):
    broken = {"a": micro(data__batch_size=8, start=str(tmp_path / "nothing")), "b": micro("triplet")}
    refused(
        "no pretrained run", compare, broken, data, seeds=1, run_root=tmp_path, split="train", jobs=2, progress=False
    )


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_says_where_the_work_stands_and_leaves_the_handlers_as_they_were(number):
    usual = signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL
    before = signal.signal(number, usual)  # under nohup a hang-up is ignored
    try:
        with pytest.raises(Interrupted, match="stopped: 1 of 3") as caught, stopped_in_words(lambda: "1 of 3"):
            signal.raise_signal(number)
        assert caught.value.exit_code == 128 + number and signal.getsignal(number) is usual
    finally:
        signal.signal(number, before)


def test_signals_that_the_caller_handles_or_ignores_are_left_alone():
    received = []
    before = signal.signal(signal.SIGTERM, lambda *_: received.append(1)), signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with stopped_in_words(lambda: ""):
            signal.raise_signal(signal.SIGTERM)
            signal.raise_signal(signal.SIGHUP)
    finally:
        signal.signal(signal.SIGTERM, before[0])
        signal.signal(signal.SIGHUP, before[1])
    assert received == [1]


def test_the_command_ends_with_the_code_of_the_signal(data, monkeypatch):
    def stopped(*_, **__):
        raise Interrupted(signal.SIGTERM, "stopped: 1 of 9 runs")

    monkeypatch.setattr(cli, "load_data", lambda *_, **__: data)
    monkeypatch.setattr(train, "compare", stopped)
    result = CliRunner().invoke(cli.app, ["compare", "--recipe", "fne"])
    assert result.exit_code == 143 and "1 of 9 runs" in result.output


def test_a_run_stopped_in_this_process_says_how_many_are_trained(data, tmp_path):
    """Issue 44, entry 31: with one job the signal arrives while a run trains."""
    recipes = [micro("triplet", data__epochs=1, data__warm_up_epochs=0), micro("fne", data__epochs=200)]
    timer = Thread(target=lambda: (_wait(tmp_path), signal.raise_signal(signal.SIGTERM)), daemon=True)
    timer.start()
    options = {"seeds": 1, "run_root": tmp_path, "split": "train", "jobs": 1, "progress": False}
    with pytest.raises(Interrupted, match="1 of 2 runs") as caught:
        compare(recipes, data, **options)
    assert caught.value.exit_code == 143


def _wait(root):
    while not list(root.glob("fne*/*/checkpoint.pt")):
        time.sleep(0.02)
