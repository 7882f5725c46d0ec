"""Two processes are one: the same negatives, and weights that differ only as sums in another order do."""

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

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


def launch(name, directory):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    # on a CPU `accelerate launch --num_processes 2` begins one process without a word; this begins two
    command = [sys.executable, "-m", "torch.distributed.run", "--nproc_per_node", "2", "--master_port", port]
    script = str(Path(two_processes.__file__))
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false"}
    environment["ACCELERATE_USE_CPU"] = "true"
    return subprocess.run(
        [*command, script, name, str(directory)], env=environment, capture_output=True, text=True, timeout=180
    )


@pytest.mark.parametrize("name", two_processes.RECIPES)
def test_two_processes_take_the_same_negatives_and_reach_the_same_weights(name, data, tmp_path):
    done = launch(name, tmp_path / "two")
    assert done.returncode == 0, done.stderr[-3000:]
    run = train(two_processes.RECIPES[name], data, tmp_path / "one", progress=False)
    records = [
        [json.loads(line) for line in (tmp_path / name / "history.jsonl").read_text().splitlines()]
        for name in ("one", "two")
    ]
    assert len(records[0]) == len(records[1]) == len(run.history)
    for alone, together in zip(*records, strict=True):
        assert alone["loss"] == pytest.approx(together["loss"], abs=1e-5)
        assert alone.get("losses", {}) == pytest.approx(together.get("losses", {}), abs=1e-4)
        assert alone.get("difficulty") == together.get("difficulty")
    alone, together = (load_file(tmp_path / name / "model.safetensors") for name in ("one", "two"))
    for name, weight in alone.items():
        torch.testing.assert_close(together[name], weight, atol=1e-5, rtol=1e-4, msg=name)
