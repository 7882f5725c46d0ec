"""A damaged run directory is refused in one line that names the file."""

import shutil

import pytest

from itmlab.train.loop import train
from itmlab.train.run import Run
from tests.refusals import refused
from tests.train.world import micro

DAMAGE = {"cut short": lambda content: content[: len(content) // 2], "empty": lambda content: b""}
DAMAGE |= {"other JSON": lambda content: b"[1]\n", "nested": lambda content: b"[" * 10**5 + b"\n"}


FILES = ("recipe.json", "config.json", "model.safetensors", "data.json")
# an incomplete last line of the history is left out, and an empty history is one without lines
CASES = [(name, kind) for name in FILES for kind in DAMAGE] + [
    ("history.jsonl", "other JSON"),
    ("history.jsonl", "nested"),
]


@pytest.mark.parametrize(("name", "kind"), CASES)
def test_a_damaged_file_is_one_line(name, kind, finished, data, tmp_path):
    path = finished.directory / name
    path.write_bytes(DAMAGE[kind](path.read_bytes()))

    def use():
        _ = Run(finished.directory).history
        Run(finished.directory).evaluate(data, split="val", ks=(1, 5))
        train(micro(), data, finished.directory, progress=False)

    refused(path.stem, use)
    shutil.rmtree(finished.directory)
