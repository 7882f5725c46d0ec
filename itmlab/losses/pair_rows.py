"""From a flat list of scored pairs, as a one-tower model's batch is, to one row an anchor."""

import torch
from jaxtyping import Bool, Float, Int64
from torch import Tensor

from itmlab.errors import ItmlabError


def rows_by_anchor(
    logits: Float[Tensor, "pair"], anchors: Int64[Tensor, "pair"], positives: Bool[Tensor, "pair"]
) -> tuple[Float[Tensor, "anchor"], Float[Tensor, "anchor negative"], Bool[Tensor, "anchor negative"]]:
    """Positive logits, negative logits and which of those there are (the rest is 0), of anchors 0, 1, …

    Which pair is an anchor's positive is said by `positives`, and by nothing else: not by its place in the batch and
    not by its length. Negatives keep their order. ItmlabError unless every anchor has exactly one positive pair.
    """
    if not (logits.ndim == 1 and logits.shape == anchors.shape == positives.shape):
        raise ItmlabError(
            f"each pair needs a logit, an anchor and whether it is the positive; got {tuple(logits.shape)}, "
            f"{tuple(anchors.shape)} and {tuple(positives.shape)}"
        )
    count = int(anchors.max()) + 1 if len(anchors) else 0
    matches = torch.bincount(anchors[positives], minlength=count)
    if bool((matches != 1).any()):
        wrong = int((matches != 1).nonzero()[0])
        raise ItmlabError(f"anchor {wrong} has {int(matches[wrong])} positive pairs", remedy="give each exactly one")
    positive_logits = logits[positives][anchors[positives].argsort()]
    owners, order = anchors[~positives].sort(stable=True)
    lengths = torch.bincount(owners, minlength=count)
    starts = lengths.cumsum(0) - lengths
    column = torch.arange(len(owners), device=owners.device) - starts[owners]
    shape = count, int(lengths.max()) if count else 0
    allowed = torch.arange(shape[1], device=logits.device) < lengths[:, None]
    negative_logits = logits.new_zeros(shape).index_put((owners, column), logits[~positives][order])
    return positive_logits, negative_logits, allowed
