"""TAGS-DC's matching losses: triplets over negatives that were retrieved, and over sentences made for the picture.

All take logits of H_ITM. The sigmoid is inside the hinge; a ranking goes by the logit itself, which a saturated
sigmoid would tie. Where an anchor has several negatives the loss is the mean over them, then over the anchors that have
any (`methods.md` 3.5), so neither the number of negatives nor an anchor without one changes its scale.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace

import torch
from jaxtyping import Bool, Float, Int64
from torch import Tensor
from torch.nn.functional import softplus

from ..errors import ItmlabError
from .triplet import precise

MARGIN = 0.2  # α in the paper's table of hyper-parameters


def matching_score(logits: Float[Tensor, "*pair"]) -> Float[Tensor, "*pair"]:
    """s in [0, 1] of a pair (TAGS-DC, Eq. 3): the sigmoid of its logit, at least in single precision."""
    return precise(logits).sigmoid()


def triplet_hinges(
    positive_logits: Float[Tensor, "anchor"], negative_logits: Float[Tensor, "anchor negative"], margin: float = MARGIN
) -> Float[Tensor, "anchor negative"]:
    """[α - s(U, V) + s(U, W)]₊ of each anchor U, its match V and each of its negatives W (TAGS-DC, Eq. 4)."""
    return (margin - matching_score(positive_logits)[:, None] + matching_score(negative_logits)).relu()


def matching_triplet(
    positive_logits: Float[Tensor, "anchor"],
    negative_logits: Float[Tensor, "anchor negative"],
    allowed: Bool[Tensor, "anchor negative"] | None = None,
    margin: float = MARGIN,
) -> Float[Tensor, ""]:
    """One direction: the mean hinge of each anchor's negatives, mean over the anchors that have any.

    A negative that is not `allowed` (a row with fewer than the others) is not read, whatever its logit.
    """
    if positive_logits.ndim != 1 or negative_logits.ndim != 2 or len(negative_logits) != len(positive_logits):
        raise ItmlabError(
            f"matching needs one positive and a row of negatives an anchor; got {tuple(positive_logits.shape)} and "
            f"{tuple(negative_logits.shape)}"
        )
    if allowed is not None and allowed.shape != negative_logits.shape:
        raise ItmlabError(f"{tuple(negative_logits.shape)} negatives, but permissions of {tuple(allowed.shape)}")
    if allowed is None:
        allowed = negative_logits.new_ones(negative_logits.shape, dtype=bool)
    # emptied before the sigmoid too: an unread NaN would come back through the gradient
    hinges = triplet_hinges(positive_logits, negative_logits.masked_fill(~allowed, 0), margin).masked_fill(~allowed, 0)
    means = hinges.sum(dim=1) / allowed.sum(dim=1).clamp(min=1)
    return means.sum() / allowed.any(dim=1).sum().clamp(min=1)


def retrieved_matching(
    positive_logits: Float[Tensor, "pair"],
    caption_logits: Float[Tensor, "pair caption"],
    image_logits: Float[Tensor, "pair image"],
    captions_allowed: Bool[Tensor, "pair caption"] | None = None,
    images_allowed: Bool[Tensor, "pair image"] | None = None,
    margin: float = MARGIN,
) -> Float[Tensor, ""]:
    """L_IRTM (TAGS-DC, Eq. 5): the image against retrieved captions, plus the caption against retrieved images.

    `caption_logits` are of each pair's image with negative captions, `image_logits` of its caption with negative
    images: in the paper the 31 best of 399 random ones (`samplers.mined_negatives`).
    """
    from_image = matching_triplet(positive_logits, caption_logits, captions_allowed, margin)
    return from_image + matching_triplet(positive_logits, image_logits, images_allowed, margin)


def synthetic_matching(
    positive_logits: Float[Tensor, "pair"],
    synthetic_logits: Float[Tensor, "pair sentence"],
    allowed: Bool[Tensor, "pair sentence"] | None = None,
    margin: float = MARGIN,
) -> Float[Tensor, ""]:
    """L_ISTM (TAGS-DC, Eq. 7): the image against its m best-scoring synthetic sentences, mean over them.

    A pair for which fewer than m sentences were left is marked in `allowed`; one without any is not counted.
    """
    return matching_triplet(positive_logits, synthetic_logits, allowed, margin)


# Matching as a question of yes or no, and as a choice among candidates: two losses beside TAGS-DC's triplet.


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


# TAGS-DC's five losses as one.


@dataclass(frozen=True)
class LossWeights:
    """λ of Eq. 10; a loss of weight 0 is switched off and need not be computed.

    The default is the paper's for Flickr30K, base size, stage NSGDC; `matching_only()` is the baseline UNITER, and
    `without_words()` its stage NSG.
    """

    retrieved: float = 1.0
    masked_language: float = 0.1
    synthetic: float = 1e-3
    discrimination: float = 1e-3
    correction: float = 1e-3

    def __post_init__(self) -> None:
        for name, weight in self.named().items():
            if not 0 <= weight < math.inf:
                raise ItmlabError(f"the loss weight {name} must be 0 or above, not {weight}")

    def named(self) -> dict[str, float]:
        """Every weight by its loss's name."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @property
    def wanted(self) -> tuple[str, ...]:
        """The losses that must be computed."""
        return tuple(name for name, weight in self.named().items() if weight)

    def without_words(self) -> "LossWeights":
        """Stage NSG: no word discrimination and no word correction."""
        return replace(self, discrimination=0.0, correction=0.0)

    def matching_only(self) -> "LossWeights":
        """Retrieved negatives alone."""
        return LossWeights(self.retrieved, 0.0, 0.0, 0.0, 0.0)


# The appendix's table for stage NSGDC; its λ_ITM is Eq. 10's λ_IRTM. NSG is the same `without_words()`.
PAPER_WEIGHTS: Mapping[tuple[str, str], LossWeights] = {
    ("flickr30k", "base"): LossWeights(1.0, 1e-1, 1e-3, 1e-3, 1e-3),
    ("flickr30k", "large"): LossWeights(1.0, 1e-1, 5e-4, 5e-4, 5e-4),
    ("coco", "base"): LossWeights(1.0, 5e-2, 1e-4, 5e-4, 5e-4),
    ("coco", "large"): LossWeights(1.0, 5e-2, 5e-4, 5e-4, 5e-4),
}


def weighted_sum(losses: Mapping[str, Float[Tensor, ""]], weights: LossWeights) -> Float[Tensor, ""]:
    """Σ λ·L over the losses that are switched on (TAGS-DC, Eq. 10).

    A loss of weight 0 may be missing and is not read (0 times NaN is NaN). ItmlabError: one that is wanted is missing,
    one is unknown, all are switched off.
    """
    known = weights.named()
    if unknown := sorted(set(losses) - set(known)):
        raise ItmlabError(f"no loss is called {', '.join(unknown)}", remedy=f"there are {', '.join(known)}")
    if missing := [name for name in weights.wanted if name not in losses]:
        raise ItmlabError(f"no value for the losses {', '.join(missing)}", remedy="compute them or give weight 0")
    if not weights.wanted:
        raise ItmlabError("all losses are switched off", remedy="give one of them a weight above 0")
    return sum(known[name] * losses[name] for name in weights.wanted)


# From a flat list of scored pairs, as a one-tower model's batch is, to one row an anchor.


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
