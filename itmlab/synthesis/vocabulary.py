"""Which pieces of a vocabulary may be drawn, drawing them, and the words that drawn pieces spell."""

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from ..errors import ItmlabError

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

_UNUSED = re.compile(r"\[unused\d+\]")  # BERT's spare entries
_BROKEN = "\ufffd"  # a byte that is no letter by itself
_AT_ONCE = 2**22  # shares worked on at a time: some 100 MB
_ANCHOR = "a"  # a word before the drawn pieces: decoders write blanks and joints only between pieces


class Vocabulary:
    """The pieces of a tokeniser that can be drawn (`allowed`), and those of them that open a word (`beginning`).

    Special pieces, the unknown one, spare ones and those that spell nothing are never drawn. A tokeniser without any
    piece that opens a word is an ItmlabError.
    """

    def __init__(self, tokenizer: "PreTrainedTokenizerFast"):
        self._tokenizer = tokenizer
        encoded = tokenizer(_ANCHOR, add_special_tokens=False)["input_ids"]
        special, size = set(tokenizer.all_special_ids), len(tokenizer)
        self._anchor = list(encoded)
        self._before = self._text(())
        after = self._texts([(piece,) for piece in range(size)])
        names = tokenizer.convert_ids_to_tokens(list(range(size)))
        ordinary = torch.tensor(
            [piece not in special and not _UNUSED.fullmatch(names[piece] or "") for piece in range(size)]
        )
        spelled = torch.tensor([bool(text[len(self._before) :].strip()) and _BROKEN not in text for text in after])
        apart = torch.tensor([text.startswith(self._before + " ") for text in after])
        self.allowed: Bool[Tensor, "vocabulary"] = ordinary & spelled
        self.beginning: Bool[Tensor, "vocabulary"] = self.allowed & apart
        if not self.beginning.any():
            raise ItmlabError(
                f"{type(tokenizer).__name__} has no piece that begins a word",
                remedy="use WordPiece or RoBERTa's",
            )
        self.words = lru_cache(maxsize=65536)(self._words)

    def drawn(
        self,
        logits: Float[Tensor, "hidden vocabulary"],
        begins: Bool[Tensor, "hidden"],
        temperature: float,
        chance: Float[Tensor, "hidden sample"],
    ) -> Int[Tensor, "hidden sample"]:
        """Pieces from softmax(logits / temperature) over those allowed there, one for each chance in [0, 1).

        The piece is the first up to which the shares add up to more than the number. A model with more outputs than the
        tokeniser has pieces is cut; with fewer, or with logits that are not numbers, it is an ItmlabError.
        """
        size = len(self.allowed)
        if logits.ndim != 2 or logits.shape[1] < size:
            raise ItmlabError(
                f"logits of shape {tuple(logits.shape)} for a vocabulary of {size}",
                remedy="fill with a model of the tokeniser's vocabulary",
            )
        block = max(_AT_ONCE // size, 1)
        parts = zip(logits[:, :size].split(block), begins.split(block), chance.split(block), strict=True)
        return torch.cat([self._drawn(*part, temperature) for part in parts])

    def _drawn(
        self,
        logits: Float[Tensor, "hidden vocabulary"],
        begins: Bool[Tensor, "hidden"],
        chance: Float[Tensor, "hidden sample"],
        temperature: float,
    ) -> Int[Tensor, "hidden sample"]:
        """The same for a few, in double precision: the sums of 30,000 shares are compared."""
        allowed = torch.where(begins[:, None].to(logits.device), *self._masks(logits.device))
        kept = logits.double().masked_fill(~allowed, -torch.inf)
        if bool(kept.isnan().any()) or bool(kept.isposinf().any()) or not bool(kept.isfinite().any(dim=1).all()):
            raise ItmlabError("the model that refills gave logits that are not numbers", remedy="check its weights")
        shares = (kept / temperature).softmax(dim=1).cumsum(dim=1)
        wanted = chance.to(shares) * shares[:, -1:]
        last = kept.shape[1] - 1 - allowed.flip(dims=(1,)).int().argmax(dim=1, keepdim=True)
        return torch.searchsorted(shares, wanted, right=True).minimum(last).cpu()

    def _masks(self, device: torch.device) -> tuple[Bool[Tensor, "vocabulary"], Bool[Tensor, "vocabulary"]]:
        return self.beginning.to(device), self.allowed.to(device)

    def _words(self, ids: tuple[int, ...]) -> str:
        """What pieces spell, behind a blank."""
        return self._text(ids)[len(self._before) :].strip()

    def _text(self, ids: Sequence[int]) -> str:
        return self._texts([ids])[0]

    def _texts(self, rows: Sequence[Sequence[int]]) -> list[str]:
        backend = self._tokenizer.backend_tokenizer
        return backend.decode_batch([[*self._anchor, *ids] for ids in rows], skip_special_tokens=False)
