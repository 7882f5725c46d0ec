"""Negative log-likelihood of tokens, at the positions that have a label and nowhere else."""

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn.functional import cross_entropy

from itmlab.errors import ItmlabError
from itmlab.losses.check import precise

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
