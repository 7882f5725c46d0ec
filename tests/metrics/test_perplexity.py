"""Perplexity against the chain rule written out, and that neither a batch nor its padding has a say."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from itmlab.metrics import causal_model, fluency, perplexity
from itmlab.metrics.perplexity import SHIPPED
from itmlab.scenes import load
from tests.refusals import refused

SENTENCES = ["a dog runs", "dog", "the old man rides a horse by the sea", "", "sea dog a", "a man and a dog and a man"]
WORDS = sorted({word for sentence in SENTENCES for word in sentence.split()})


@pytest.fixture(scope="module")
def tokenizer():
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    vocabulary = {token: number for number, token in enumerate(["<s>", "[UNK]", *WORDS])}
    backend = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    backend.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    return PreTrainedTokenizerFast(tokenizer_object=backend, bos_token="<s>", eos_token="<s>", unk_token="[UNK]")


@pytest.fixture(scope="module")
def model(tokenizer):
    from transformers import GPT2Config, GPT2LMHeadModel

    torch.manual_seed(0)
    sizes = {"n_embd": 16, "n_layer": 2, "n_head": 2, "n_positions": 12, "initializer_range": 0.5}
    settings_ = GPT2Config(vocab_size=len(tokenizer), bos_token_id=0, eos_token_id=0, **sizes)
    return GPT2LMHeadModel(settings_).train()


@pytest.fixture(scope="module")
def causal(model, tokenizer, tmp_path_factory):
    return causal_model(saved(tmp_path_factory.mktemp("model"), model, tokenizer))


def saved(folder, *parts) -> str:
    for part in parts:
        part.save_pretrained(folder)
    return str(folder)


@torch.no_grad()
def by_chain_rule(model, tokenizer, sentence: str) -> float:
    """exp(-1/n · Σ log p(word | beginning and the words before it)), one word and one forward at a time."""
    model.eval()
    ids, total = [tokenizer.bos_token_id], 0.0
    words = [tokenizer.get_vocab()[word] for word in sentence.split()]
    for word in words:
        logits = model(torch.tensor([ids])).logits[0, -1].double()
        total -= logits.log_softmax(0)[word].item()
        ids.append(word)
    return math.exp(total / len(words)) if words else math.nan


def test_it_is_the_chain_rule_with_the_beginning_of_sentence(model, tokenizer, causal):
    expected = [by_chain_rule(model, tokenizer, sentence) for sentence in SENTENCES]
    measured = fluency(SENTENCES, causal)
    assert measured.perplexity.tolist() == pytest.approx(expected, rel=1e-5, nan_ok=True)
    assert measured.tokens.tolist() == [len(sentence.split()) for sentence in SENTENCES]
    assert fluency([], causal).perplexity.shape == (0,)


@settings(max_examples=25, deadline=None)
@given(
    sentences=st.lists(st.lists(st.sampled_from(WORDS), max_size=9).map(" ".join), max_size=8),
    size=st.integers(1, 8),
)
def test_what_shares_a_batch_changes_nothing(causal, sentences, size):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(perplexity, "BATCH", size)
        together = fluency(sentences, causal)
    alone = [fluency([sentence], causal).perplexity.item() for sentence in sentences]
    assert together.perplexity.tolist() == pytest.approx(alone, rel=1e-4, nan_ok=True)


def test_a_caption_that_spells_a_special_token_is_letters(model, tmp_path):
    from tokenizers import Tokenizer, models
    from transformers import PreTrainedTokenizerFast

    backend = Tokenizer(models.BPE({letter: number for number, letter in enumerate("<s>dog ")}, []))
    letters = PreTrainedTokenizerFast(tokenizer_object=backend, bos_token="<s>")
    assert letters("<s>")["input_ids"] == [letters.bos_token_id]
    assert fluency(["dog <s>"], saved(tmp_path, model, letters)).tokens.tolist() == [7]


def test_a_model_that_reads_ahead_is_refused(tokenizer, tmp_path):
    from transformers import BertConfig, BertLMHeadModel

    sizes = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32}
    torch.manual_seed(0)
    encoder = BertLMHeadModel(BertConfig(vocab_size=len(tokenizer), initializer_range=0.5, **sizes))
    refused("reads ahead", fluency, ["dog"], saved(tmp_path, encoder, tokenizer))


def test_what_cannot_be_read_is_refused(model, causal, tmp_path):
    refused("sentence 1 has 13 tokens, the model reads 12", fluency, ["dog", "dog " * 12], causal)
    refused("put the caption into a list", fluency, "dog", causal)
    model.transformer.save_pretrained(tmp_path)
    torch.save(model.state_dict(), tmp_path / "pytorch_model.bin")  # could run code when it is read
    (tmp_path / "model.safetensors").unlink()
    refused("cannot load the pretrained model", fluency, ["dog"], str(tmp_path))


def test_the_shipped_model_knows_captions_of_scenes_from_scrambled_ones(tmp_path):
    assert sum(path.stat().st_size for path in (SHIPPED / "scenes").iterdir()) <= 350_000
    assert causal_model("scenes").network.config.max_position_embeddings == 64
    captions = load(images=12, seed=987, cache=tmp_path).captions
    order = torch.Generator().manual_seed(0)
    scrambled = []
    for words in (caption.split() for caption in captions):
        scrambled.append(" ".join(words[at] for at in torch.randperm(len(words), generator=order)))

    unseen = fluency(captions, "scenes")
    assert unseen.perplexity.median() < 0.2 * fluency(scrambled, "scenes").perplexity.median()
