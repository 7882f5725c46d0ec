"""Damaged run directories, and files of different runs in one directory, are refused in one line."""

import json
import shutil

import pytest

import itmlab
from itmlab.models import build_model
from itmlab.models.base import digest_of, read_weights
from itmlab.train.directory import shipped_names
from itmlab.train.loop import train
from itmlab.train.run import Run
from tests.refusals import refused
from tests.train.world import micro

DAMAGE = {"cut short": lambda content: content[: len(content) // 2], "empty": lambda content: b""}
DAMAGE |= {"other JSON": lambda content: b"[1]\n", "nested": lambda content: b"[" * 10**5 + b"\n"}
FILES = ("recipe.json", "config.json", "model.safetensors", "data.json")
# an incomplete last line of the history is left out, and an empty history is one without lines
CASES = [(name, kind) for name in FILES for kind in DAMAGE]
CASES += [("history.jsonl", "other JSON"), ("history.jsonl", "nested")]


@pytest.mark.parametrize(("name", "kind"), CASES)
def test_a_damaged_file_is_refused(name, kind, finished, data):
    path = finished.directory / name
    path.write_bytes(DAMAGE[kind](path.read_bytes()))

    def use():
        _ = Run(finished.directory).history
        Run(finished.directory).evaluate(data, split="val", ks=(1, 5))
        train(micro(), data, finished.directory, progress=False)

    refused(path.stem, use)


def renumbered(tokenizer):
    """A tokeniser in which two pieces have each other's numbers."""
    vocabulary = tokenizer["model"]["vocab"]
    first, second = list(vocabulary)[-2:]
    vocabulary[first], vocabulary[second] = vocabulary[second], vocabulary[first]


EDITS = {
    "name": ("recipe.json", lambda recipe: recipe.update(name="other")),
    "seed": ("recipe.json", lambda recipe: recipe.update(seed=5)),
    "model of the recipe": ("recipe.json", lambda recipe: recipe["model"].update(mean=[0.4, 0.5, 0.5])),
    "mean": ("config.json", lambda config: config.update(mean=[0.4, 0.5, 0.5])),
    "maximum tokens": ("config.json", lambda config: config.update(maximum_tokens=8)),
    "tokeniser": ("tokenizer.json", renumbered),
}


@pytest.mark.parametrize("name", EDITS)
def test_files_that_were_changed_after_training_are_refused(name, finished):
    file, change = EDITS[name]
    content = json.loads((finished.directory / file).read_text())
    change(content)
    (finished.directory / file).write_text(json.dumps(content))
    refused("do not belong together", lambda: Run(finished.directory).model)


def test_weights_of_another_model_are_refused(finished, data, tmp_path):
    build_model(micro().model, data.split("train").captions, seed=9).save(tmp_path / "other")
    shutil.copy(tmp_path / "other" / "model.safetensors", finished.directory)
    refused("do not belong together", lambda: Run(finished.directory).model)
    refused("do not belong together", train, micro("triplet", start=str(finished.directory)), data, tmp_path / "run")


def test_shipped_runs_carry_their_digest():
    for name in shipped_names():
        run = itmlab.pretrained(name)
        weights = read_weights(run.directory / "model.safetensors")
        assert digest_of(run.directory, weights).encode() in (run.directory / "model.safetensors").read_bytes()[:10_000]
