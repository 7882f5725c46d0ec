"""A damaged run directory is refused in one line that names the file."""

import shutil

import pytest

from itmlab.runs.run import Run
from itmlab.training.loop import train
from tests.refusals import refused
from tests.training.world import micro

DAMAGE = {"cut short": lambda content: content[: len(content) // 2], "empty": lambda content: b""}
DAMAGE |= {"other JSON": lambda content: b"[1]\n", "nested": lambda content: b"[" * 10**5 + b"\n"}


@pytest.mark.parametrize("kind", DAMAGE)
@pytest.mark.parametrize("name", ["recipe.json", "config.json", "model.safetensors", "history.jsonl", "data.json"])
def test_a_damaged_file_is_one_line(name, kind, finished, data, tmp_path):
    if name == "history.jsonl" and kind in ("cut short", "empty"):
        pytest.skip("an incomplete last line is left out")
    path = finished.directory / name
    path.write_bytes(DAMAGE[kind](path.read_bytes()))

    def use():
        _ = Run(finished.directory).history
        Run(finished.directory).evaluate(data, split="val", ks=(1, 5))
        train(micro(), data, finished.directory, progress=False)

    refused(path.stem, use)
    shutil.rmtree(finished.directory)
