"""The causal language model of captions: it learns, is remade to the bit, is small, and is found by name."""

import json
import math

import pytest
import torch
from safetensors.torch import load_file

from itmlab.errors import ItmlabError
from itmlab.metrics import causal_model, fluency
from itmlab.metrics.perplexity import SHIPPED
from itmlab.scenes import load
from itmlab.studies.parser import causal_language
from itmlab.studies.parser.causal_language import save_causal_language, train_causal_language
from tests.refusals import refused

CAPTIONS = ["a dog runs on the grass", "two dogs are next to a tree", "a man rides a horse", "the red car"] * 20


@pytest.fixture(scope="module")
def trained():
    losses = []
    model, tokenizer = train_causal_language(CAPTIONS, epochs=12, report=lambda epoch, loss: losses.append(loss))
    return model, tokenizer, losses


def test_it_learns_the_captions(trained):
    model, tokenizer, losses = trained
    assert len(losses) == 12 and losses[-1] < 0.6 * losses[0]
    known, strange = fluency(["a man rides a horse", "horse a the rides tree"], model, tokenizer).perplexity.tolist()
    assert known < 0.2 * strange


def test_the_same_captions_and_seed_give_the_same_weights_and_leave_the_global_numbers_alone():
    torch.manual_seed(5)
    expected = torch.rand(1)
    torch.manual_seed(5)
    one, again, other = (train_causal_language(CAPTIONS, epochs=1, seed=seed)[0].state_dict() for seed in (0, 0, 1))
    assert torch.rand(1) == expected
    assert all(torch.equal(value, again[name]) for name, value in one.items())
    assert any(not torch.equal(value, other[name]) for name, value in one.items())


def test_saved_it_is_read_by_its_folder_without_code_and_says_nearly_the_same(trained, tmp_path):
    model, tokenizer, _ = trained
    save_causal_language(model, tokenizer, tmp_path / "own")
    assert {path.suffix for path in (tmp_path / "own").iterdir()} == {".json", ".safetensors"}
    sentences = ["a dog next to the car", "two men [SEP] ride", "A DOG", ""]
    saved, live = (fluency(sentences, *given) for given in ((str(tmp_path / "own"),), (model, tokenizer)))
    torch.testing.assert_close(saved.perplexity, live.perplexity, rtol=1e-2, atol=0, equal_nan=True)
    assert saved.tokens.tolist() == live.tokens.tolist() and math.isnan(saved.perplexity[3])


def test_no_epoch_is_one_line():
    with pytest.raises(ItmlabError, match="0 epochs teach nothing"):
        train_causal_language(CAPTIONS, epochs=0)


def test_the_command_writes_the_model_and_how_it_was_made(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(causal_language, "load", lambda name, root: load(images=40, cache=tmp_path / "cache"))
    causal_language.main(tmp_path / "small", epochs=1)
    made = json.loads((tmp_path / "small" / "made.json").read_text())
    assert made["epochs"] == 1 and made["captions"] > 100 and made["perplexity_of_test_captions"]["corpus"] > 1
    assert "perplexity of" in capsys.readouterr().out
    assert fluency(["a dog"], str(tmp_path / "small")).perplexity.isfinite().all()


def test_a_folder_of_another_model_is_not_written_over(tmp_path):
    (tmp_path / "config.json").write_text('{"model_type": "gpt2"}')
    refused("config.json: itmlab did not write this file", causal_language.main, tmp_path, epochs=1)
    assert [path.name for path in tmp_path.iterdir()] == ["config.json"]


def test_the_shipped_one_is_small_and_is_found_by_name(tmp_path, monkeypatch):
    folder = SHIPPED / "scenes"
    monkeypatch.chdir(tmp_path)  # whatever lies in the working directory
    (tmp_path / "scenes").mkdir()
    weights = load_file(folder / "model.safetensors")
    assert sum(value.numel() for value in weights.values()) <= 160_000
    assert sum(path.stat().st_size for path in folder.iterdir()) <= 350_000
    model = causal_model("scenes")
    assert model.longest == 64 and model.device.type == "cpu"


def test_the_shipped_one_knows_captions_of_scenes_from_scrambled_ones(tmp_path):
    captions = load(images=12, seed=987, cache=tmp_path).captions
    order = torch.Generator().manual_seed(0)
    scrambled = [
        " ".join(words[at] for at in torch.randperm(len(words), generator=order))
        for words in (caption.split() for caption in captions)
    ]
    made = json.loads((SHIPPED / "scenes" / "made.json").read_text())
    unseen = fluency(captions, "scenes")
    assert unseen.corpus == pytest.approx(made["perplexity_of_test_captions"]["corpus"], rel=0.4)
    assert unseen.corpus < 0.2 * fluency(scrambled, "scenes").corpus
