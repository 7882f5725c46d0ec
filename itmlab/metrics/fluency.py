"""Fluency of sentences: their perplexity under a causal language model (TAGS-DC, Table 3)."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from jaxtyping import Float, Int64
from torch import Tensor
from torch.nn.functional import cross_entropy

from itmlab.errors import ItmlabError
from itmlab.metrics.causal_model import CausalModel, causal_model

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

TOKENS = 1024  # padded tokens a batch: times the vocabulary of GPT-2 in single precision, 200 MB


@dataclass(frozen=True)
class Fluency:
    """How likely each sentence is: -log of its probability (nats) and its tokens, the beginning not among them."""

    negative_log_likelihood: Float[Tensor, "sentence"]
    tokens: Int64[Tensor, "sentence"]

    @property
    def perplexity(self) -> Float[Tensor, "sentence"]:
        """exp of the mean over a sentence's tokens of -log p; NaN for a sentence without tokens."""
        return (self.negative_log_likelihood / self.tokens).exp()

    @property
    def mean(self) -> float:
        """The mean perplexity of the sentences that have one, as the field reports it; a few strange ones rule it."""
        return self.perplexity[self.tokens > 0].mean().item()

    @property
    def median(self) -> float:
        """The median perplexity of the sentences that have one."""
        known = self.perplexity[self.tokens > 0]
        return known.quantile(0.5).item() if len(known) else math.nan

    @property
    def corpus(self) -> float:
        """exp of the mean of -log p over all tokens of all sentences."""
        return (self.negative_log_likelihood.sum() / self.tokens.sum()).exp().item()


@torch.no_grad()
def fluency(
    sentences: Sequence[str],
    model: "str | PreTrainedModel | CausalModel",
    tokenizer: "PreTrainedTokenizerBase | None" = None,
    *,
    tokens: int = TOKENS,
    progress: bool = False,
) -> Fluency:
    """The likelihood of each sentence under a causal language model, a name or folder or one in memory.

    A beginning of sentence stands before each, so its first word counts too; its end does not. Sentences of like length
    are batched, at most `tokens` padded tokens at a time; what shares a batch changes nothing. The result is in
    double precision, on the processor. ItmlabError: a sentence longer than the model reads, with its number.
    """
    if isinstance(sentences, str):
        raise ItmlabError("a list of sentences is needed, not one string", remedy="put it in a list")
    from tqdm.auto import tqdm

    model = causal_model(model, tokenizer)
    encoded = [[model.beginning, *ids] for ids in model.encode(sentences)] if len(sentences) else []
    for number, ids in enumerate(encoded):
        if model.longest is not None and len(ids) > model.longest:
            raise ItmlabError(f"sentence {number} has {len(ids)} tokens, the model reads {model.longest}")
    losses = torch.zeros(len(encoded), dtype=torch.float64)
    with tqdm(total=len(encoded), desc="fluency", unit="sentence", disable=not progress) as bar:
        for rows in _batches([len(ids) for ids in encoded], tokens):
            losses[rows] = _losses(model, [encoded[row] for row in rows])
            bar.update(len(rows))
    return Fluency(losses, torch.tensor([len(ids) - 1 for ids in encoded], dtype=torch.int64))


def _batches(lengths: Sequence[int], tokens: int) -> list[list[int]]:
    """Rows by length, as many at a time as fit; those with nothing but the beginning have no likelihood to find."""
    found: list[list[int]] = []
    for row in sorted((row for row, length in enumerate(lengths) if length > 1), key=lambda row: lengths[row]):
        if found and (len(found[-1]) + 1) * lengths[row] <= tokens:
            found[-1].append(row)
        else:
            found.append([row])
    return found


def _losses(model: CausalModel, encoded: Sequence[Sequence[int]]) -> Float[Tensor, "row"]:
    longest = max(len(ids) for ids in encoded)
    lengths = torch.tensor([len(ids) for ids in encoded])
    ids = torch.tensor([[*row, *[model.beginning] * (longest - len(row))] for row in encoded])
    mask = torch.arange(longest) < lengths[:, None]
    logits = model.logits(ids.to(model.device), mask.long().to(model.device))[:, :-1]
    targets = ids[:, 1:].to(model.device)
    losses = cross_entropy(logits.float().transpose(1, 2), targets, reduction="none").double().cpu()
    return losses.masked_fill(~mask[:, 1:], 0).sum(dim=1)
