"""Hidden words as tensors: ids with the mask token in their place, and labels that bring them back."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from ..errors import ItmlabError
from .alignment import Pieces
from .graph import Span
from .masking import Phrase

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

UNLABELLED = -100  # what torch's cross entropy leaves out
MASKED, RANDOM = 0.8, 0.1  # BERT's shares; the rest of the hidden pieces stay as they are


@dataclass(frozen=True)
class MaskedPieces:
    """Captions with hidden pieces. `labels` are the pieces that were there, -100 where nothing is to be predicted.

    `lost` is how many phrases of a row have no piece at all (they lay behind the cut).
    """

    input_ids: Int[Tensor, "row piece"]
    attention_mask: Int[Tensor, "row piece"]
    labels: Int[Tensor, "row piece"]
    word_mask: Bool[Tensor, "row piece"]
    lost: Int[Tensor, "row"]

    @property
    def hidden(self) -> Bool[Tensor, "row piece"]:
        """The pieces to be predicted."""
        return self.labels != UNLABELLED

    @property
    def share(self) -> Float[Tensor, "row"]:
        """The share of a row's wordpieces that is hidden, of those before its cut; 0 for a row without any."""
        return self.hidden.sum(dim=1) / self.word_mask.sum(dim=1).clamp(min=1)

    def restored(self) -> Int[Tensor, "row piece"]:
        """The ids of the captions as they were."""
        return torch.where(self.hidden, self.labels, self.input_ids)


def mask_pieces(
    tokenizer: "PreTrainedTokenizerFast",
    pieces: Pieces,
    hidden: Sequence[Sequence[Phrase | Span]],
    *,
    captions: Sequence[int] | None = None,
    replacement: Literal["mask", "bert"] = "mask",
    generator: torch.Generator | None = None,
) -> MaskedPieces:
    """Hide the pieces under each row of phrases; row r is about caption r of `pieces`, or caption `captions[r]`.

    "mask" puts the mask token everywhere (generation, TAGS); "bert" puts it in 80 % of the pieces and in 10 % any piece
    but special ones, drawn from `generator`, and leaves 10 % (training of a masked language model). A tokeniser
    without a mask token is an ItmlabError.
    """
    mask = getattr(tokenizer, "mask_token_id", None)
    if mask is None:
        raise ItmlabError(
            f"{type(tokenizer).__name__} has no mask token",
            remedy='add one: tokenizer.add_special_tokens({"mask_token": "[MASK]"}), and a row to the embedding',
        )
    rows = torch.arange(len(pieces)) if captions is None else torch.as_tensor(captions, dtype=torch.long)
    under = pieces.under(hidden, rows.tolist())
    original = pieces.input_ids[rows]
    ids = torch.where(under, mask, original)
    if replacement == "bert":
        if generator is None:
            raise ItmlabError("80/10/10 needs chance", remedy="give generator=torch.Generator()")
        ids = _mixed(tokenizer, original, ids, under, generator)
    elif replacement != "mask":
        raise ItmlabError(f"no replacement {replacement!r}", remedy="use mask or bert")
    lost = [
        sum(not bool(pieces.under([[one]], [row]).any()) for one in phrases) if bool(pieces.cut[row]) else 0
        for row, phrases in zip(rows.tolist(), hidden, strict=True)
    ]
    labels = torch.where(under, original, UNLABELLED)
    return MaskedPieces(ids, pieces.attention_mask[rows], labels, pieces.word_mask[rows], torch.tensor(lost).long())


def _mixed(
    tokenizer: "PreTrainedTokenizerFast",
    original: Int[Tensor, "row piece"],
    masked: Int[Tensor, "row piece"],
    under: Bool[Tensor, "row piece"],
    generator: torch.Generator,
) -> Int[Tensor, "row piece"]:
    """BERT's mixture at the pieces `under` the phrases, one piece at a time."""
    special = set(tokenizer.all_special_ids)
    allowed = torch.tensor([piece for piece in range(len(tokenizer)) if piece not in special])
    # Two numbers a hidden piece, row by row: a batch draws what its captions would draw one after the other.
    chance, which = torch.rand(int(under.sum()), 2, generator=generator).unbind(dim=1)
    drawn = allowed[(which * len(allowed)).long().clamp(max=len(allowed) - 1)]
    kept, mixed = original[under], masked.clone()
    mixed[under] = torch.where(chance < MASKED, masked[under], torch.where(chance < MASKED + RANDOM, drawn, kept))
    return mixed
