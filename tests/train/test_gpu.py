"""On a GPU: bfloat16 forward, single-precision weights, and a run that resumes."""

import os

import pytest
import torch

from itmlab.train.loop import train
from itmlab.train.run import Run
from tests.train.towers import tower
from tests.train.world import micro, small_world

pytestmark = [pytest.mark.gpu, pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")]


RECIPES = {"fne": micro(), "cross-encoder": tower("sg", data__steps=20)}
for mode in ("off", "default", "reduce-overhead"):
    RECIPES[mode] = micro(optimiser__compile=mode, model__dropout=0.0)


def train_on_the_gpu(name, directory):
    os.environ.pop("ACCELERATE_USE_CPU", None)
    train(RECIPES[name], small_world(), directory, max_steps=9, progress=False)
    train(RECIPES[name], small_world(), directory, progress=False)


@pytest.mark.parametrize("mode", ["default", "reduce-overhead"])
def test_compiled_encoders_learn_the_same(mode, processes, tmp_path):
    losses = []
    for name in ("off", mode):
        process = processes.Process(target=train_on_the_gpu, args=(name, tmp_path / name))
        process.start()
        process.join()
        losses.append(Run(tmp_path / name).epochs[0]["loss"])
    assert losses[1] == pytest.approx(losses[0], rel=0.02)  # bfloat16


@pytest.mark.parametrize("name", ["fne", "cross-encoder"])
def test_it_trains_and_resumes(name, processes, data, tmp_path):
    process = processes.Process(target=train_on_the_gpu, args=(name, tmp_path / "run"))
    process.start()
    process.join()
    run = Run(tmp_path / "run")
    assert process.exitcode == 0 and run.finished
    assert all(weight.dtype == torch.float32 and weight.isfinite().all() for weight in run.model.parameters())
    assert run.epochs[-1]["loss"] < run.epochs[0]["loss"]
    assert run.evaluate(data, ks=(1, 5))["rsum"] > 0
