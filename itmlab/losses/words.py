"""TAGS-DC's word discrimination and word correction: which words of a made sentence are wrong, and what they were.

A synthetic sentence and the caption that it was made from stand token under token, `synthetic` and `original`, padded
to one length. `counted` marks the tokens of words: special tokens and padding are outside it (`counted_tokens`).
"""

from collections.abc import Iterable
from typing import Literal

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn.functional import cross_entropy

from ..errors import ItmlabError
from .triplet import precise

# Negative log-likelihood of tokens, at the positions that have a label and nowhere else.


UNLABELLED = -100  # a position that does not count: not asked about, special, or padding


def token_likelihood(
    logits: Float[Tensor, "row piece option"] | Float[Tensor, "labelled option"],
    labels: Int[Tensor, "row piece"],
    weights: Float[Tensor, "option"] | None = None,
) -> Float[Tensor, ""]:
    """The mean of -log softmax(logits)[label] over the labelled positions; 0, with a gradient, where there is none.

    `logits` are of every position, or only of the labelled ones in the order of `logits[labels != -100]`, which spares
    a head over the vocabulary the rest of the batch. With `weights`, a position counts as much as its label does, and
    the mean is the weighted one (Σ w·NLL / Σ w). ItmlabError: logits that are of other positions than the labels.
    """
    labelled = labels != UNLABELLED
    if labels.ndim == 2 and logits.ndim == 3 and logits.shape[:2] == labels.shape:
        chosen = logits[labelled]
    elif labels.ndim == 2 and logits.ndim == 2 and len(logits) == int(labelled.sum()):
        chosen = logits
    else:
        raise ItmlabError(
            f"labels of shape {tuple(labels.shape)} with {int(labelled.sum())} labelled positions do not fit logits of "
            f"shape {tuple(logits.shape)}",
            remedy="give logits (row, piece, option) padded to the batch's length, or (labelled, option)",
        )
    chosen, targets = precise(chosen), labels[labelled].long()
    if not len(targets):
        return chosen.sum()
    losses = cross_entropy(chosen, targets, reduction="none")
    if weights is None:
        return losses.mean()
    shares = weights.to(losses)[targets]
    return (losses * shares).sum() / shares.sum().clamp(min=torch.finfo(losses.dtype).tiny)


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


# TAGS-DC's masked language model: what stood under the mask, told from the picture and the other words.


def masked_language(
    logits: Float[Tensor, "row piece vocabulary"] | Float[Tensor, "labelled vocabulary"],
    labels: Int[Tensor, "row piece"],
) -> Float[Tensor, ""]:
    """NLL of the hidden pieces, mean over them all (TAGS-DC, Eq. 1).

    `labels` are the pieces that were hidden, -100 everywhere else, as `mask_pieces` gives them. The logits may be of
    the hidden positions only (see `token_likelihood`).
    """
    return token_likelihood(logits, labels)
