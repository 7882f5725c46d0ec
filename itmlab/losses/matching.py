"""TAGS-DC's matching losses: triplets over negatives that were retrieved, and over sentences made for the picture.

All take logits of H_ITM. The sigmoid is inside the hinge; a ranking goes by the logit itself, which a saturated
sigmoid would tie. Where an anchor has several negatives the loss is the mean over them, then over the anchors that have
any (`methods.md` 3.5), so neither the number of negatives nor an anchor without one changes its scale.
"""

from jaxtyping import Bool, Float
from torch import Tensor

from itmlab.errors import ItmlabError
from itmlab.losses.check import precise

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
