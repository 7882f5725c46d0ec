"""Causal language models for fluency: any function that continues sentences, or a published model by name or folder."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from jaxtyping import Float, Int64
from torch import Tensor

from itmlab.errors import ItmlabError
from itmlab.fetching import fetched

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

Ids = Int64[Tensor, "row piece"]
SHIPPED = Path(__file__).resolve().parents[1] / "pretrained_language"


@dataclass(frozen=True)
class CausalModel:
    """What fluency needs of a language model.

    `encode` gives each sentence's token ids without special ones. `logits(ids, attention_mask)` of a batch padded on
    the right gives the logits of the token after each position, (row, piece, vocabulary). `beginning` is the id that
    stands before every sentence. `longest` is how many tokens fit, the beginning included.
    """

    encode: Callable[[Sequence[str]], list[list[int]]]
    logits: Callable[[Ids, Ids], Float[Tensor, "row piece vocabulary"]]
    beginning: int
    longest: int | None = None
    device: torch.device | str = "cpu"


def causal_model(
    model: "str | PreTrainedModel | CausalModel", tokenizer: "PreTrainedTokenizerBase | None" = None
) -> CausalModel:
    """A `CausalModel` of a name or folder ("gpt2"), or of a `transformers` model with its tokeniser.

    "scenes" is the small one that ships (`training.causal_language`): it knows the captions of `scenes` and no others.

    The model is asked in evaluation mode and left as it was. ItmlabError: nothing of that name, weights other than
    safetensors, a model that reads ahead (an encoder such as BERT), a tokeniser without a beginning of sentence.
    """
    if isinstance(model, CausalModel):
        return model
    if not callable(model):
        model, tokenizer = _pretrained(str(model))
    elif tokenizer is None:
        raise ItmlabError("a model needs its tokeniser", remedy="give tokenizer=, or the model's name or folder")
    beginning = tokenizer.bos_token_id if tokenizer.bos_token_id is not None else tokenizer.cls_token_id
    if beginning is None:
        raise ItmlabError(
            f"{type(tokenizer).__name__} has no token for the beginning of a sentence",
            remedy="set tokenizer.bos_token to one that the model knows",
        )
    found = CausalModel(
        encode=lambda sentences: _encoded(tokenizer, sentences),
        logits=lambda ids, mask: _evaluated(model, ids, mask),
        beginning=beginning,
        longest=getattr(model.config, "max_position_embeddings", None),
        device=model.device,
    )
    _check_causal(found)
    return found


def _pretrained(name: str) -> "tuple[PreTrainedModel, PreTrainedTokenizerBase]":
    from transformers import AutoModelForCausalLM, AutoTokenizer

    name = str(SHIPPED / name) if name.isalnum() and (SHIPPED / name).is_dir() else name
    options = {"trust_remote_code": False}
    weights = {"use_safetensors": True, "dtype": torch.float32, "output_loading_info": True}

    def load() -> Any:
        loaded = AutoModelForCausalLM.from_pretrained(name, **weights, **options)
        return *loaded, AutoTokenizer.from_pretrained(name, **options)

    with _without_bars():
        model, report, tokenizer = fetched(name, load)
    if lacking := sorted(report["missing_keys"]):  # transformers would fill them with noise
        raise ItmlabError(
            f"the checkpoint lacks {', '.join(lacking[:4])}{' and more' if len(lacking) > 4 else ''}",
            where=name,
            remedy="use the checkpoint of a causal language model",
        )
    return model, tokenizer


@contextmanager
def _without_bars() -> Iterator[None]:
    """`transformers` shows a progress bar of the weights read, be they few or many."""
    from transformers.utils import logging

    shown = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        if shown:
            logging.enable_progress_bar()


def _encoded(tokenizer: "PreTrainedTokenizerBase", sentences: Sequence[str]) -> list[list[int]]:
    # a caption that holds "<|endoftext|>" holds these letters, not the token
    return tokenizer(list(sentences), add_special_tokens=False, split_special_tokens=True)["input_ids"]


def _evaluated(model: "PreTrainedModel", ids: Ids, mask: Ids) -> Float[Tensor, "row piece vocabulary"]:
    modes = [(part, part.training) for part in model.modules()]
    model.eval()
    try:
        return model(input_ids=ids, attention_mask=mask, use_cache=False).logits
    finally:
        for part, mode in modes:
            part.training = mode


@torch.no_grad()
def _check_causal(model: CausalModel) -> None:
    """Refuse a model whose first logits depend on what comes after: its perplexity would be near 1 of anything."""
    ids = torch.full((2, 2), model.beginning, device=model.device)
    ids[1, 1] = model.beginning - 1 if model.beginning else 1
    first = model.logits(ids, torch.ones_like(ids))[:, 0].float()
    if not torch.allclose(first[0], first[1], atol=1e-3, rtol=1e-3):
        raise ItmlabError("this model reads ahead: it is no causal language model", remedy="use one such as gpt2")
