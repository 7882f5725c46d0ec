"""TAGS-DC's word discrimination and word correction: which words of a made sentence are wrong, and what they were.

A synthetic sentence and the caption that it was made from stand token under token, `synthetic` and `original`, padded
to one length. `counted` marks the tokens of words: special tokens and padding are outside it (`counted_tokens`).
"""

from collections.abc import Iterable
from typing import Literal

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from itmlab.errors import ItmlabError
from itmlab.losses.token_likelihood import UNLABELLED, token_likelihood

Positions = Literal["all", "replaced"]
REPLACED, KEPT = 0, 1  # G of Eq. 8: 1 where the token is the caption's


def counted_tokens(
    synthetic: Int[Tensor, "row piece"],
    original: Int[Tensor, "row piece"],
    attention_mask: Int[Tensor, "row piece"] | Bool[Tensor, "row piece"],
    special: Iterable[int],
) -> Bool[Tensor, "row piece"]:
    """Where neither padding nor a special token stands in either sentence; `special` is `tokenizer.all_special_ids`."""
    _check(synthetic, original, attention_mask)
    marks = torch.tensor(sorted(set(special)), dtype=synthetic.dtype, device=synthetic.device)
    return attention_mask.bool() & ~torch.isin(synthetic, marks) & ~torch.isin(original, marks)


def discrimination_labels(
    synthetic: Int[Tensor, "row piece"], original: Int[Tensor, "row piece"], counted: Bool[Tensor, "row piece"]
) -> Int[Tensor, "row piece"]:
    """G of Eq. 8: 1 ("kept") iff the token is the caption's token at that place, else 0; -100 where none counts."""
    _check(synthetic, original, counted)
    return torch.where(counted, (synthetic == original).long(), UNLABELLED)


def correction_labels(
    synthetic: Int[Tensor, "row piece"],
    original: Int[Tensor, "row piece"],
    counted: Bool[Tensor, "row piece"],
    positions: Positions = "all",
) -> Int[Tensor, "row piece"]:
    """The caption's tokens, at all positions (Eq. 9) or at the replaced ones (the public code); -100 elsewhere."""
    _check(synthetic, original, counted)
    if positions not in ("all", "replaced"):
        raise ItmlabError(f"word correction has no positions {positions!r}", remedy='choose "all" or "replaced"')
    asked = counted if positions == "all" else counted & (synthetic != original)
    return torch.where(asked, original, UNLABELLED)


def word_discrimination(
    logits: Float[Tensor, "row piece 2"] | Float[Tensor, "labelled 2"],
    synthetic: Int[Tensor, "row piece"],
    original: Int[Tensor, "row piece"],
    counted: Bool[Tensor, "row piece"],
    *,
    replaced_weight: float = 1.0,
    kept_weight: float = 1.0,
) -> Float[Tensor, ""]:
    """L_WoD (TAGS-DC, Eq. 8): NLL of each counted token's label, options (replaced, kept), mean weighted by the label.

    Both weights are 1 by the paper; the public code has 1 and 0.11, against the few that are replaced.
    """
    if not (replaced_weight >= 0 and kept_weight >= 0 and replaced_weight + kept_weight > 0):
        raise ItmlabError(f"weights of {replaced_weight} (replaced) and {kept_weight} (kept) cannot be")
    weights = None if replaced_weight == kept_weight else torch.tensor([replaced_weight, kept_weight])
    return token_likelihood(logits, discrimination_labels(synthetic, original, counted), weights)


def word_correction(
    logits: Float[Tensor, "row piece vocabulary"] | Float[Tensor, "labelled vocabulary"],
    synthetic: Int[Tensor, "row piece"],
    original: Int[Tensor, "row piece"],
    counted: Bool[Tensor, "row piece"],
    *,
    positions: Positions = "all",
) -> Float[Tensor, ""]:
    """L_WoC (TAGS-DC, Eq. 9): NLL of the caption's own tokens given the synthetic sentence and the image.

    Logits may be of the positions that `correction_labels` labels only (see `token_likelihood`).
    """
    return token_likelihood(logits, correction_labels(synthetic, original, counted, positions))


def _check(synthetic: Tensor, original: Tensor, mask: Tensor) -> None:
    if not (synthetic.ndim == 2 and synthetic.shape == original.shape == mask.shape):
        raise ItmlabError(
            f"a synthetic sentence, its caption and their mask must stand token under token; got "
            f"{tuple(synthetic.shape)}, {tuple(original.shape)} and {tuple(mask.shape)}"
        )
