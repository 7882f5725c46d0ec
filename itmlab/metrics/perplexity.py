"""Fluency of sentences: their perplexity under a causal language model (Fan et al. 2022, Table 3; GPT-2 there).

    PPL(s) = exp(-1/n Σ_t log p(w_t | <beginning>, w_1, …, w_{t-1}))

of a sentence of n tokens. The model is any function that continues sentences, or a published one by name or folder.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import torch
from jaxtyping import Float, Int64
from torch import Tensor
from torch.nn.functional import cross_entropy
from torch.nn.utils.rnn import pad_sequence

from ..errors import ItmlabError
from ..storage import fetched, weights_directory
from ..text.tokens import public_tokenizer

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

Ids = Int64[Tensor, "row piece"]
SHIPPED = weights_directory() / "pretrained_language"
TOKENS = 1024  # padded tokens a batch: times the vocabulary of GPT-2 in single precision, 200 MB


@dataclass(frozen=True)
class CausalModel:
    """What fluency needs of a language model.

    Attributes:
        encode: returns each sentence's token ids without special ones.
        logits: returns the logits of the token after each position, (row, piece, vocabulary), from ids and attention
            mask of a batch padded on the right.
        beginning: the id that stands before every sentence.
        longest: how many tokens fit, the beginning included.
        device: of the model.
    """

    encode: Callable[[Sequence[str]], list[list[int]]]
    logits: Callable[[Ids, Ids], Float[Tensor, "row piece vocabulary"]]
    beginning: int
    longest: int | None = None
    device: torch.device | str = "cpu"


@dataclass(frozen=True)
class Fluency:
    """How likely each sentence is.

    Attributes:
        negative_log_likelihood: minus the log of its probability, in nats.
        tokens: how many tokens it has, without the beginning.
    """

    negative_log_likelihood: Float[Tensor, "sentence"]
    tokens: Int64[Tensor, "sentence"]

    @property
    def perplexity(self) -> Float[Tensor, "sentence"]:
        """exp of the mean of -log p over a sentence's tokens; NaN for a sentence without tokens."""
        return (self.negative_log_likelihood / self.tokens).exp()


@torch.no_grad()
def fluency(sentences: Sequence[str], model: str | CausalModel) -> Fluency:
    """Return the likelihood of each sentence under a causal language model.

    A beginning of sentence stands before each, so its first word counts too; its end does not. What shares a batch
    changes nothing.

    Args:
        sentences: the sentences.
        model: a name or folder, as for `causal_model`, or a `CausalModel`.

    Returns:
        In double precision, on the processor.

    Raises:
        ItmlabError: a sentence longer than the model reads, with its number.

    >>> letters = lambda sentences: [[ord(letter) for letter in sentence] for sentence in sentences]
    >>> uniform = CausalModel(letters, lambda ids, mask: torch.zeros(*ids.shape, 128), beginning=0)
    >>> [round(value) for value in fluency(["a dog", "cat"], uniform).perplexity.tolist()]
    [128, 128]
    """
    if isinstance(sentences, str):
        raise ItmlabError("a list of sentences is needed, not one string", remedy="put it in a list")
    model = model if isinstance(model, CausalModel) else causal_model(model)
    encoded = [[model.beginning, *ids] for ids in model.encode(sentences)] if len(sentences) else []
    lengths = [len(ids) for ids in encoded]
    for number, length in enumerate(lengths):
        if model.longest is not None and length > model.longest:
            raise ItmlabError(f"sentence {number} has {length} tokens, the model reads {model.longest}")
    losses = torch.zeros(len(encoded), dtype=torch.float64)
    for rows in _batches(lengths):
        losses[rows] = _losses(model, [encoded[row] for row in rows])
    return Fluency(losses, torch.tensor(lengths, dtype=torch.int64) - 1)


def _batches(lengths: Sequence[int]) -> list[list[int]]:
    """Return rows by length, as many at a time as fit; sentences without tokens are left out."""
    batches: list[list[int]] = []
    for row in sorted((row for row, length in enumerate(lengths) if length > 1), key=lambda row: lengths[row]):
        if batches and (len(batches[-1]) + 1) * lengths[row] <= TOKENS:
            batches[-1].append(row)
        else:
            batches.append([row])
    return batches


def _losses(model: CausalModel, encoded: Sequence[Sequence[int]]) -> Float[Tensor, "row"]:
    rows = [torch.tensor(ids) for ids in encoded]
    ids = pad_sequence(rows, batch_first=True, padding_value=model.beginning).to(model.device)
    mask = pad_sequence([torch.ones_like(row) for row in rows], batch_first=True).to(model.device)
    logits = model.logits(ids, mask)[:, :-1]
    losses = cross_entropy(logits.float().transpose(1, 2), ids[:, 1:], reduction="none").double()
    return losses.masked_fill(mask[:, 1:] == 0, 0).sum(dim=1).cpu()


def causal_model(name: str) -> CausalModel:
    """Return the `CausalModel` of a published name or a folder ("gpt2").

    "scenes" ships, small (its `made.json` says how it was trained): it knows captions of `scenes` only.

    Raises:
        ItmlabError: nothing of that name, weights other than safetensors, a model that reads ahead (an encoder such as
            BERT), or a tokeniser without a beginning of sentence.
    """
    model, tokenizer = _pretrained(name)
    beginning = tokenizer.bos_token_id if tokenizer.bos_token_id is not None else tokenizer.cls_token_id
    if beginning is None:
        message = f"{type(tokenizer).__name__} has no token for the beginning of a sentence"
        raise ItmlabError(message, where=name, remedy="use the checkpoint of a causal language model")

    def encode(sentences: Sequence[str]) -> list[list[int]]:
        # a caption that holds "<|endoftext|>" holds these letters, not the token
        return tokenizer(list(sentences), add_special_tokens=False, split_special_tokens=True)["input_ids"]

    def logits(ids: Ids, mask: Ids) -> Float[Tensor, "row piece vocabulary"]:
        return model(input_ids=ids, attention_mask=mask, use_cache=False).logits

    causal = CausalModel(encode, logits, beginning, getattr(model.config, "max_position_embeddings", None))
    _check_causal(causal)
    return causal


@torch.no_grad()
def _check_causal(model: CausalModel) -> None:
    """Refuse a model whose first logits depend on what comes after: its perplexity would be near 1 for anything."""
    ids = torch.full((2, 2), model.beginning)
    ids[1, 1] = model.beginning - 1 if model.beginning else 1
    first = model.logits(ids, torch.ones_like(ids))[:, 0].float()
    if not torch.allclose(first[0], first[1], atol=1e-3, rtol=1e-3):
        raise ItmlabError("this model reads ahead, so it is not a causal language model", remedy="use one such as gpt2")


def _pretrained(name: str) -> "tuple[PreTrainedModel, PreTrainedTokenizerBase]":
    from transformers import AutoModelForCausalLM
    from transformers.utils import logging

    name = str(SHIPPED / name) if name.isalnum() and (SHIPPED / name).is_dir() else name
    weights = {"use_safetensors": True, "dtype": torch.float32, "output_loading_info": True}
    load = partial(AutoModelForCausalLM.from_pretrained, name, trust_remote_code=False, **weights)
    shown = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()  # of the weights read
    try:
        model, report = fetched(name, load)
    finally:
        if shown:
            logging.enable_progress_bar()
    if lacking := sorted(report["missing_keys"]):  # transformers would fill them with noise
        message = f"the checkpoint lacks {len(lacking)} weights, first {lacking[0]}"
        raise ItmlabError(message, where=name, remedy="use the checkpoint of a causal language model")
    return model, public_tokenizer(name)
