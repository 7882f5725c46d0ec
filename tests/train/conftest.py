"""Runs that several tests look at, trained once."""

import multiprocessing
import os
import shutil

import pytest
import torch

from itmlab.train.loop import train
from tests.train import world

os.environ["ACCELERATE_USE_CPU"] = "true"  # bytes are compared; what a GPU does has tests of its own


@pytest.fixture(scope="session", autouse=True)
def one_thread():
    """The number of threads changes the last digits, and one is what child processes use as well."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="session")
def data():
    return world.small_world()


@pytest.fixture(scope="session")
def finished_once(tmp_path_factory, data):
    return train(world.micro(), data, tmp_path_factory.mktemp("finished") / "run", progress=False)


@pytest.fixture
def finished(finished_once, tmp_path):
    """A finished FNE run in a directory of the test's own."""
    shutil.copytree(finished_once.directory, tmp_path / "finished")
    return type(finished_once)(tmp_path / "finished")


@pytest.fixture(scope="session")
def processes():
    """Starts processes quickly: they are forked from a server that has everything imported, not from the tests."""
    context = multiprocessing.get_context("forkserver")
    slow = ["transformers.models.bert.modeling_bert", "transformers.models.vit.modeling_vit", "accelerate"]
    ours = ["itmlab.train.loop", "itmlab.train.step_cross", "itmlab.train"]
    context.set_forkserver_preload([*ours, *slow])
    return context
