"""Two processes are one: the same negatives, and weights that differ only as sums in another order do."""

import json
import socket

import pytest
import torch
from safetensors.torch import load_file

from itmlab.errors import ItmlabError
from itmlab.train.loop import train
from itmlab.train.state import rank_slice
from tests.train import two_processes


class Process:
    def __init__(self, index, count):
        self.process_index, self.num_processes = index, count


def test_a_batch_is_shared_without_rest_and_in_order():
    shares = [rank_slice(12, Process(index, 3)) for index in range(3)]
    assert [list(range(12))[share] for share in shares] == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11]]
    with pytest.raises(ItmlabError, match="10 pairs cannot be split evenly over 4 processes"):
        rank_slice(10, Process(0, 4))


@pytest.fixture(scope="module")
def together(processes, tmp_path_factory):
    """The directory of the runs that two processes have trained."""
    directory = tmp_path_factory.mktemp("together")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    pair = [processes.Process(target=two_processes.run, args=(rank, port, directory)) for rank in range(2)]
    for process in pair:
        process.start()
    for process in pair:
        process.join(900)
        process.kill()
    assert [process.exitcode for process in pair] == [0, 0]
    return directory


@pytest.mark.parametrize("name", two_processes.RECIPES)
def test_two_processes_take_the_same_negatives_and_reach_the_same_weights(name, together, data, tmp_path):
    run = train(two_processes.RECIPES[name], data, tmp_path, progress=False)
    directories = (tmp_path, together / name)
    records = [
        [json.loads(line) for line in (directory / "history.jsonl").read_text().splitlines()]
        for directory in directories
    ]
    assert len(records[0]) == len(records[1]) == len(run.history)
    for alone, shared in zip(*records, strict=True):
        assert alone["loss"] == pytest.approx(shared["loss"], abs=1e-5)
        assert alone.get("losses", {}) == pytest.approx(shared.get("losses", {}), abs=1e-4)
        assert alone.get("difficulty") == shared.get("difficulty")
    alone, shared = (load_file(directory / "model.safetensors") for directory in directories)
    for name, weight in alone.items():
        torch.testing.assert_close(shared[name], weight, atol=1e-5, rtol=1e-4, msg=name)
