"""Input that is valid but wrong, and environments that are, in one line each (issue 44, entries 24 to 26)."""

import json
import os

import pytest
from accelerate.state import AcceleratorState

from itmlab.data import load
from itmlab.metrics import causal_model
from itmlab.train import train
from tests.data.picture_files import write_folder
from tests.refusals import refused
from tests.train.world import micro

DOUBLED = {"type": "Replace", "pattern": {"Regex": "(.)"}, "content": "aa"}  # each time the text is twice as long


def test_a_folder_of_pictures_that_is_a_link_must_be_named(tmp_path):
    write_folder(tmp_path / "elsewhere", 1)
    root = tmp_path / "own"
    root.mkdir()
    os.rename(tmp_path / "elsewhere" / "captions.jsonl", root / "captions.jsonl")
    (root / "images").symlink_to(tmp_path / "elsewhere" / "images")
    refused("a link that leaves its root.*images=", load, "folder", root)
    assert len(load("folder", root, images=tmp_path / "elsewhere" / "images")) == 1


def test_a_language_model_whose_tokeniser_could_exhaust_memory_is_refused_before_it_is_read(tmp_path):
    from transformers import GPT2Config, GPT2LMHeadModel

    GPT2LMHeadModel(GPT2Config(vocab_size=4, n_embd=8, n_layer=1, n_head=1, n_positions=8)).save_pretrained(tmp_path)
    model = {"type": "WordLevel", "vocab": {"<s>": 0, "[UNK]": 1, "a": 2, "b": 3}, "unk_token": "[UNK]"}
    content = {"version": "1.0", "model": model, "normalizer": {"type": "Sequence", "normalizers": [DOUBLED] * 60}}
    (tmp_path / "tokenizer.json").write_text(json.dumps(content))
    refused("tokenizer.json", causal_model, str(tmp_path))


@pytest.fixture
def fresh_accelerate():
    """A process in which `accelerate` has not started."""
    AcceleratorState._reset_state(True)
    yield
    AcceleratorState._reset_state(True)


@pytest.mark.parametrize(("name", "value"), [("WORLD_SIZE", "x"), ("WORLD_SIZE", "2"), ("LOCAL_RANK", "x")])
def test_an_environment_of_processes_that_do_not_exist_is_refused(name, value, fresh_accelerate, tmp_path, monkeypatch):
    data = load("scenes", images=12, cache=tmp_path)
    if (name, value) != ("WORLD_SIZE", "x"):
        monkeypatch.setenv("LOCAL_RANK", "0")
    monkeypatch.setenv(name, value)
    refused("WORLD_SIZE", train, micro(), data, tmp_path / "run", progress=False)
