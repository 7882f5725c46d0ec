"""Negative log-likelihood at the tokens that have a label, and the labels of TAGS-DC's word losses (Sec. 2.4).

A synthetic sentence and the caption that it was made from stand token under token, `synthetic` and `original`, padded
to one length. `counted` marks the tokens of words: special tokens and padding are outside it. The losses themselves,
Eqs. 1, 8 and 9, are in `losses.tags`.
"""

from collections.abc import Iterable
from typing import Literal

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn.functional import cross_entropy

from .base import mean_of, upcast

UNLABELLED = -100  # a position that does not count: not asked about, special, or padding
REPLACED, KEPT = 0, 1  # G of Eq. 8: 1 where the token is the caption's
Positions = Literal["all", "replaced", "masked"]
Tokens = Int[Tensor, "row piece"]
Counted = Bool[Tensor, "row piece"]
Groups = Int[Tensor, "row"]  # the caption of each row, numbered from 0


def token_likelihood(
    logits: Float[Tensor, "row piece option"] | Float[Tensor, "labelled option"],
    labels: Tokens,
    weights: Float[Tensor, "option"] | None = None,
    groups: Groups | None = None,
) -> Float[Tensor, ""]:
    """Return the mean of −log softmax(logits)[label] over the labelled positions; 0, with a gradient, without any.

    Args:
        logits: of every position, or only of the labelled ones in the order of `logits[labels != -100]`, so that a head
            over the vocabulary need not compute the others.
        labels: the label of each position, −100 for none.
        weights: the weight of each label; the mean is Σ w·NLL / Σ w.
        groups: the caption of each row. The mean is then that of TAGS-DC's released code: w·NLL averaged over the
            positions of each group, then over the groups that have any.

    >>> token_likelihood(torch.zeros(1, 3, 4), torch.tensor([[2, -100, 0]])).exp().item()
    4.0
    """
    labelled = labels != UNLABELLED
    chosen = logits[labelled] if logits.ndim == 3 else logits
    chosen, targets = upcast(chosen), labels[labelled].long()
    if not len(targets):
        return chosen.sum()
    losses = cross_entropy(chosen, targets, reduction="none")
    shares = None if weights is None else weights.to(losses)[targets]
    if groups is not None:
        group_of_label = groups.to(losses.device)[labelled.nonzero()[:, 0]]
        count = torch.bincount(group_of_label)
        sums = losses.new_zeros(len(count)).index_add(0, group_of_label, losses if shares is None else losses * shares)
        return mean_of(sums / count.clamp(min=1), count > 0)
    if shares is None:
        return losses.mean()
    return (losses * shares).sum() / shares.sum().clamp(min=torch.finfo(losses.dtype).tiny)


def label_weight(
    labels: Tokens, weights: Float[Tensor, "option"] | None = None, groups: Groups | None = None
) -> Float[Tensor, ""]:
    """Return the divisor of `token_likelihood`: the weight of all labels, or how many groups have any.

    Several processes need it to combine their means.
    """
    labelled = labels != UNLABELLED
    if groups is not None:
        return torch.tensor(len(groups[labelled.any(dim=1)].unique()), device=labels.device)
    return labelled.sum() if weights is None else weights.to(labels.device)[labels[labelled]].sum()


def counted_tokens(
    synthetic: Tokens, original: Tokens, attention_mask: Tokens | Counted, special: Iterable[int]
) -> Counted:
    """Mark the positions where neither sentence has padding or a special token (`tokenizer.all_special_ids`).

    >>> counted_tokens(torch.tensor([[1, 7, 2, 0]]), torch.tensor([[1, 8, 2, 0]]), torch.tensor([[1, 1, 1, 0]]), [1, 2])
    tensor([[False,  True, False, False]])
    """
    marks = torch.tensor(sorted(set(special)), dtype=synthetic.dtype, device=synthetic.device)
    return attention_mask.bool() & ~torch.isin(synthetic, marks) & ~torch.isin(original, marks)


def discrimination_labels(synthetic: Tokens, original: Tokens, counted: Counted) -> Tokens:
    """Return G of Eq. 8: 1 (KEPT) where the token is the caption's, 0 (REPLACED) elsewhere, −100 where not counted.

    >>> discrimination_labels(torch.tensor([[5, 7, 2]]), torch.tensor([[5, 6, 2]]), torch.tensor([[True, True, False]]))
    tensor([[   1,    0, -100]])
    """
    return torch.where(counted, (synthetic == original).long(), UNLABELLED)


def correction_labels(
    synthetic: Tokens,
    original: Tokens,
    counted: Counted,
    positions: Positions = "all",
    masked: Counted | None = None,
) -> Tokens:
    """Return the caption's tokens at all positions (Eq. 9), at the replaced or at the masked ones; −100 elsewhere.

    `masked` marks the positions that were refilled, perhaps with the same token: the released code asks at these.
    """
    asked = synthetic != original
    if positions == "masked" and masked is not None:
        asked = asked | masked
    return torch.where(counted if positions == "all" else counted & asked, original, UNLABELLED)
