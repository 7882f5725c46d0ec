"""Fluency of sentences: their perplexity under a causal language model (Fan et al. 2022, Table 3; GPT-2 there).

    PPL(s) = exp(-1/n Σ_t log p(w_t | <beginning>, w_1, …, w_{t-1}))

of a sentence of n tokens. The model is a published one by name or folder, or one of `transformers` with its tokeniser.
"""

import math
from collections.abc import Sequence
from functools import lru_cache, partial
from typing import TYPE_CHECKING, NamedTuple

import torch
from jaxtyping import Float64, Int64
from torch import Tensor
from torch.nn.functional import cross_entropy
from torch.nn.utils.rnn import pad_sequence

from ..errors import ItmlabError
from ..storage import fetched, weights_directory
from ..text.tokens import public_tokenizer
from .words import check_captions

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

SHIPPED = weights_directory() / "pretrained_language"
BATCH = 32  # sentences read at a time: of 20 tokens and the vocabulary of GPT-2 in single precision, 130 MB


class CausalModel(NamedTuple):
    """A causal language model and its tokeniser, as `transformers` loads them."""

    network: "PreTrainedModel"
    tokenizer: "PreTrainedTokenizerBase"


class Fluency(NamedTuple):
    """How likely each sentence is.

    Attributes:
        perplexity: exp of the mean of -log p over its tokens; NaN for a sentence without tokens.
        tokens: how many tokens it has, without the beginning.
    """

    perplexity: Float64[Tensor, "sentence"]
    tokens: Int64[Tensor, "sentence"]


@torch.no_grad()
def fluency(sentences: Sequence[str], model: str | CausalModel) -> Fluency:
    """Return the perplexity of each sentence under a causal language model.

    A beginning of sentence stands before each, so its first word counts too; its end does not. What shares a batch
    changes nothing.

    Args:
        sentences: the sentences.
        model: a name or folder, as for `causal_model`, or a `CausalModel`.

    Returns:
        In double precision, on the processor.

    Raises:
        ItmlabError: a sentence longer than the model reads, with its number.

    >>> scores = fluency(["two dogs", "dogs two"], "scenes")
    >>> bool(scores.perplexity[0] < scores.perplexity[1]), scores.tokens.tolist()
    (True, [2, 2])
    """
    check_captions(sentences, str)
    network, tokenizer = causal_model(model) if isinstance(model, str) else model
    encoded: list[list[int]] = []
    if len(sentences):
        # a caption that holds "<|endoftext|>" holds these letters, not the token
        ids_of = tokenizer(list(sentences), add_special_tokens=False, split_special_tokens=True)["input_ids"]
        encoded = [[_beginning(tokenizer), *ids] for ids in ids_of]
    lengths, longest = [len(ids) for ids in encoded], getattr(network.config, "max_position_embeddings", math.inf)
    for number, length in enumerate(lengths):
        if length > longest:
            raise ItmlabError(f"sentence {number} has {length} tokens, the model reads {longest}")
    losses = torch.zeros(len(encoded), dtype=torch.float64)
    by_length = sorted(range(len(lengths)), key=lengths.__getitem__)
    for start in range(0, len(by_length), BATCH):
        rows = by_length[start : start + BATCH]
        losses[rows] = _losses(network, [torch.tensor(encoded[row]) for row in rows])
    tokens = torch.tensor(lengths, dtype=torch.int64) - 1
    return Fluency((losses / tokens).exp(), tokens)


def _losses(network: "PreTrainedModel", rows: Sequence[Int64[Tensor, "piece"]]) -> Float64[Tensor, "row"]:
    """Return -log p of the tokens of each row after its first one."""
    ids = pad_sequence(rows, batch_first=True)
    mask = pad_sequence([torch.ones_like(row) for row in rows], batch_first=True)
    logits = network(input_ids=ids, attention_mask=mask, use_cache=False).logits[:, :-1]
    losses = cross_entropy(logits.float().transpose(1, 2), ids[:, 1:], reduction="none").double()
    return losses.masked_fill(mask[:, 1:] == 0, 0).sum(dim=1)


def _beginning(tokenizer: "PreTrainedTokenizerBase") -> int | None:
    """Return the token that stands before every sentence."""
    return tokenizer.bos_token_id if tokenizer.bos_token_id is not None else tokenizer.cls_token_id


@lru_cache(maxsize=1)
def causal_model(name: str) -> CausalModel:
    """Return the `CausalModel` of a published name or a folder ("gpt2"); the last one is kept for the next call.

    "scenes" ships, small (its `made.json` says how it was trained): it knows captions of `scenes` only.

    Raises:
        ItmlabError: nothing of that name, weights other than safetensors, a tokeniser without a beginning of sentence,
            or a model that reads ahead (an encoder such as BERT), for which perplexity is near 1 for anything.
    """
    from transformers import AutoModelForCausalLM

    name = str(SHIPPED / name) if name.isalnum() and (SHIPPED / name).is_dir() else name
    weights = {"use_safetensors": True, "dtype": torch.float32, "output_loading_info": True}
    load = partial(AutoModelForCausalLM.from_pretrained, name, trust_remote_code=False, **weights)
    model, report = fetched(name, load)
    if lacking := sorted(report["missing_keys"]):  # transformers would fill them with noise
        message = f"the checkpoint lacks {len(lacking)} weights, first {lacking[0]}"
        raise ItmlabError(message, where=name, remedy="use the checkpoint of a causal language model")
    tokenizer = public_tokenizer(name)
    beginning = _beginning(tokenizer)
    if beginning is None:
        message = f"{type(tokenizer).__name__} has no token for the beginning of a sentence"
        raise ItmlabError(message, where=name, remedy="use the checkpoint of a causal language model")
    first, other = model(input_ids=torch.tensor([[beginning, 0], [beginning, 1]])).logits[:, 0]
    if not torch.allclose(first, other, atol=1e-3, rtol=1e-3):
        raise ItmlabError("this model reads ahead, so it is not a causal language model", where=name, remedy="use gpt2")
    return CausalModel(model, tokenizer)
