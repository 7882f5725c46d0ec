"""The causal language model of captions: it learns, is repeatable and small, and is found by its name."""

import json
import math

import pytest
import torch

from itmlab.errors import ItmlabError
from itmlab.metrics import causal_model, fluency
from itmlab.metrics.perplexity import SHIPPED
from itmlab.scenes import load
from itmlab.studies.parser import causal_language
from itmlab.studies.parser.causal_language import save_causal_language, train_causal_language

CAPTIONS = ["a dog runs on the grass", "two dogs are next to a tree", "a man rides a horse", "the red car"] * 20


def test_it_learns_the_captions_and_survives_saving(tmp_path):
    losses = []
    model, tokenizer = train_causal_language(CAPTIONS, epochs=12, report=lambda epoch, loss: losses.append(loss))
    assert len(losses) == 12 and losses[-1] < 0.6 * losses[0]
    known, strange = fluency(["a man rides a horse", "horse a the rides tree"], model, tokenizer).perplexity.tolist()
    assert known < 0.2 * strange

    save_causal_language(model, tokenizer, tmp_path / "saved")
    assert {path.suffix for path in (tmp_path / "saved").iterdir()} == {".json", ".safetensors"}
    sentences = ["a dog next to the car", "two men [SEP] ride", "A DOG", ""]
    saved, live = fluency(sentences, str(tmp_path / "saved")), fluency(sentences, model, tokenizer)
    torch.testing.assert_close(saved.perplexity, live.perplexity, rtol=1e-2, atol=0, equal_nan=True)
    assert math.isnan(saved.perplexity[3])


def test_the_same_seed_gives_the_same_weights_and_leaves_the_global_generator_alone():
    torch.manual_seed(5)
    expected = torch.rand(1)
    torch.manual_seed(5)
    first, again, other = (train_causal_language(CAPTIONS, epochs=1, seed=seed)[0].state_dict() for seed in (0, 0, 1))
    assert torch.rand(1) == expected
    assert all(torch.equal(value, again[name]) for name, value in first.items())
    assert any(not torch.equal(value, other[name]) for name, value in first.items())


def test_the_command_writes_the_model_and_how_it_was_made(tmp_path, monkeypatch):
    monkeypatch.setattr(causal_language, "load", lambda name, root: load(images=40, cache=tmp_path / "cache"))
    causal_language.main(tmp_path / "small", epochs=1)
    made = json.loads((tmp_path / "small" / "made.json").read_text())
    assert made["epochs"] == 1 and made["captions"] > 100 and made["perplexity_of_test_captions"]["corpus"] > 1
    (tmp_path / "config.json").write_text('{"model_type": "gpt2"}')
    with pytest.raises(ItmlabError, match=r"config\.json"):
        causal_language.main(tmp_path, epochs=1)


def test_the_shipped_model_knows_captions_of_scenes_from_scrambled_ones(tmp_path):
    assert sum(path.stat().st_size for path in (SHIPPED / "scenes").iterdir()) <= 350_000
    assert causal_model("scenes").longest == 64
    captions = load(images=12, seed=987, cache=tmp_path).captions
    order = torch.Generator().manual_seed(0)
    scrambled = []
    for words in (caption.split() for caption in captions):
        scrambled.append(" ".join(words[at] for at in torch.randperm(len(words), generator=order)))
    made = json.loads((SHIPPED / "scenes" / "made.json").read_text())
    unseen = fluency(captions, "scenes")
    assert unseen.corpus == pytest.approx(made["perplexity_of_test_captions"]["corpus"], rel=0.4)
    assert unseen.corpus < 0.2 * fluency(scrambled, "scenes").corpus
