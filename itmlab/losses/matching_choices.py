"""Matching as a question of yes or no, and as a choice among candidates: two losses beside TAGS-DC's triplet."""

import torch
from jaxtyping import Bool, Float
from torch import Tensor
from torch.nn.functional import softplus

from itmlab.losses.check import precise


def matching_binary(
    positive_logits: Float[Tensor, "anchor"],
    negative_logits: Float[Tensor, "anchor negative"],
    allowed: Bool[Tensor, "anchor negative"],
) -> Float[Tensor, ""]:
    """Binary cross-entropy as in UNITER's pretraining, matches and mismatches of equal weight.

    Half of −log σ(s⁺) and the mean of −log(1 − σ(s⁻)) over an anchor's allowed negatives, mean over the anchors that
    have any; a logit that is not allowed is not read.
    """
    positive, negative = precise(positive_logits), precise(negative_logits).masked_fill(~allowed, 0)
    mismatches = softplus(negative).masked_fill(~allowed, 0).sum(dim=1) / allowed.sum(dim=1).clamp(min=1)
    return _mean((softplus(-positive) + mismatches) / 2, allowed)


def matching_contrast(
    positive_logits: Float[Tensor, "anchor"],
    negative_logits: Float[Tensor, "anchor negative"],
    allowed: Bool[Tensor, "anchor negative"],
) -> Float[Tensor, ""]:
    """−log of the match's share in a softmax over it and its allowed negatives, mean over anchors that have any."""
    positive, negative = precise(positive_logits)[:, None], precise(negative_logits).masked_fill(~allowed, -torch.inf)
    shares = torch.cat([positive, negative], dim=1).log_softmax(dim=1)
    return _mean(-shares[:, 0], allowed)


def _mean(losses: Float[Tensor, "anchor"], allowed: Bool[Tensor, "anchor negative"]) -> Float[Tensor, ""]:
    some = allowed.any(dim=1)
    return torch.where(some, losses, 0).sum() / some.sum().clamp(min=1)
