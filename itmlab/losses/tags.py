"""The losses of TAGS-DC (Fan et al. 2022), Eqs. 1 to 10 in the paper's order: what `training.step_cross` minimises.

    Eq. 1   L_MLM  = NLL(H_MLM(I, T_masked), hidden tokens)             token_likelihood
    Eq. 3   s      = H_ITM(I, T) in [0, 1]                              matching_score
    Eq. 4   TripL(U, V, W) = [α − s(U, V) + s(U, W)]₊                   triplet_hinges
    Eq. 5   L_IRTM = TripL(I, T, T⁻) + TripL(T, I, I⁻), retrieved       retrieved_matching
    Eq. 7   L_ISTM = mean over the made sentences of TripL(I, T, T̄)     synthetic_matching
    Eq. 8   L_WoD  = NLL(H_WoD(I, T̄), which tokens are the caption's)   word_discrimination
    Eq. 9   L_WoC  = NLL(H_WoC(I, T̄), T)                                word_correction
    Eq. 10  L      = Σ λ·L                                              weighted_sum

(Eq. 2 fills masks and Eq. 6 keeps the best-scoring sentences: `synthesis.tags`.) Matching takes logits of H_ITM: the
sigmoid is inside the hinge, but a ranking goes by the logit, which a saturated sigmoid would tie. Where an anchor has
several negatives its loss is the mean over them, then over the anchors that have any (METHODS 3.5), so neither the
number of negatives nor an anchor without one changes its scale.
"""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Literal

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn.functional import cross_entropy

from ..fields import Weight, check_fields
from .base import PerAnchor, Scalar, mean_of, upcast

MARGIN = 0.2  # α in the paper's table of hyper-parameters
Negatives = Float[Tensor, "anchor negative"]
Allowed = Bool[Tensor, "anchor negative"]

UNLABELLED = -100  # a position that does not count: not asked about, special, or padding
REPLACED, KEPT = 0, 1  # G of Eq. 8: 1 where the token is the caption's
Positions = Literal["all", "replaced", "masked"]
Tokens = Int[Tensor, "row piece"]
Counted = Bool[Tensor, "row piece"]
Groups = Int[Tensor, "row"]  # the caption of each row, numbered from 0


def matching_score(logits: Float[Tensor, "*pair"]) -> Float[Tensor, "*pair"]:
    """Return s in [0, 1] of a pair (Eq. 3): the sigmoid of its logit, at least in single precision."""
    return upcast(logits).sigmoid()


def triplet_hinges(positive_logits: PerAnchor, negative_logits: Negatives, margin: float = MARGIN) -> Negatives:
    """Return [α − s(U, V) + s(U, W)]₊ of each anchor U, its match V and each of its negatives W (Eq. 4).

    >>> triplet_hinges(torch.tensor([0.0]), torch.tensor([[0.0, -9.0]]), margin=0.25)
    tensor([[0.2500, 0.0000]])
    """
    return (margin - matching_score(positive_logits)[:, None] + matching_score(negative_logits)).relu()


def retrieved_matching(
    positive_logits: PerAnchor,
    caption_logits: Negatives,
    image_logits: Negatives,
    captions_allowed: Allowed,
    images_allowed: Allowed,
    margin: float = MARGIN,
) -> Scalar:
    """L_IRTM (Eq. 5): the image against retrieved captions, plus the caption against retrieved images.

    Args:
        positive_logits: of each pair.
        caption_logits: of each pair's image with negative captions; in the paper the 31 best of 399 random ones
            (`samplers.mined_negatives`).
        image_logits: of each pair's caption with negative images.
        captions_allowed: which of the captions are negatives.
        images_allowed: which of the images are negatives.
        margin: α.

    >>> alike, all_of_them = torch.zeros(2, 3), torch.ones(2, 3).bool()
    >>> round(retrieved_matching(alike[:, 0], alike, alike, all_of_them, all_of_them).item(), 2)  # a margin each way
    0.4
    """
    from_image = synthetic_matching(positive_logits, caption_logits, captions_allowed, margin)
    return from_image + synthetic_matching(positive_logits, image_logits, images_allowed, margin)


def synthetic_matching(
    positive_logits: PerAnchor, negative_logits: Negatives, allowed: Allowed, margin: float = MARGIN
) -> Scalar:
    """L_ISTM (Eq. 7): the mean hinge of each image's synthetic sentences, mean over the images that have any.

    Args:
        positive_logits: of each pair.
        negative_logits: of each pair's image with its synthetic sentences.
        allowed: which of the sentences exist; the logits of others are ignored, whatever they are.
        margin: α.
    """
    # emptied before the sigmoid too: an unread NaN would come back through the gradient
    hinges = triplet_hinges(positive_logits, negative_logits.masked_fill(~allowed, 0), margin).masked_fill(~allowed, 0)
    return mean_of(hinges.sum(dim=1) / allowed.sum(dim=1).clamp(min=1), allowed.any(dim=1))


def word_discrimination(
    logits: Float[Tensor, "row piece 2"] | Float[Tensor, "labelled 2"],
    synthetic: Tokens,
    original: Tokens,
    counted: Counted,
    *,
    replaced_weight: float = 1.0,
    kept_weight: float = 1.0,
    groups: Groups | None = None,
) -> Scalar:
    """L_WoD (Eq. 8): NLL of each counted token's label, replaced or kept, weighted by the label.

    Args:
        logits: two numbers per token, for replaced and kept.
        synthetic: the tokens of the synthetic sentences.
        original: the tokens of their captions.
        counted: which tokens belong to words.
        replaced_weight: the weight of replaced tokens.
        kept_weight: the weight of kept ones. The paper has 1 for both; the released code has 0.11 here, counts special
            tokens too and divides by the number of tokens of each caption (`groups`).
        groups: the caption of each row (see `token_likelihood`).
    """
    weights = None if replaced_weight == kept_weight else torch.tensor([replaced_weight, kept_weight])
    return token_likelihood(logits, discrimination_labels(synthetic, original, counted), weights, groups)


def word_correction(
    logits: Float[Tensor, "row piece vocabulary"] | Float[Tensor, "labelled vocabulary"],
    synthetic: Tokens,
    original: Tokens,
    counted: Counted,
    *,
    positions: Positions = "all",
    masked: Counted | None = None,
    groups: Groups | None = None,
) -> Scalar:
    """L_WoC (Eq. 9): NLL of the caption's tokens given the synthetic sentence and the image.

    Args:
        logits: of every position, or only of those that `correction_labels` labels.
        synthetic: the tokens of the synthetic sentences.
        original: the tokens of their captions.
        counted: which tokens belong to words.
        positions: where the caption's token is asked for: "all", "replaced" or "masked".
        masked: the positions that were refilled.
        groups: the caption of each row (see `token_likelihood`).
    """
    return token_likelihood(logits, correction_labels(synthetic, original, counted, positions, masked), groups=groups)


@dataclass(frozen=True)
class LossWeights:
    """λ of Eq. 10; a loss of weight 0 is not computed.

    The default is the paper's for Flickr30K, base size, stage NSGDC. `nsg_only()` is its stage NSG, `irtm_only()` the
    baseline UNITER.

    Args:
        retrieved: the weight of L_IRTM.
        masked_language: of L_MLM.
        synthetic: of L_ISTM.
        discrimination: of L_WoD.
        correction: of L_WoC.

    Raises:
        ItmlabError: a weight is negative or not finite.
    """

    retrieved: Weight = 1.0
    masked_language: Weight = 0.1
    synthetic: Weight = 1e-3
    discrimination: Weight = 1e-3
    correction: Weight = 1e-3

    def __post_init__(self) -> None:
        check_fields(self, "tags.weights")

    def named(self) -> dict[str, float]:
        """Return every weight by the name of its loss."""
        return asdict(self)

    @property
    def wanted(self) -> tuple[str, ...]:
        """The losses that must be computed."""
        return tuple(name for name, weight in self.named().items() if weight)

    def nsg_only(self) -> "LossWeights":
        """Return the weights of stage NSG: no word discrimination and no word correction."""
        return replace(self, discrimination=0.0, correction=0.0)

    def irtm_only(self) -> "LossWeights":
        """Return the weights of training with retrieved negatives alone."""
        return LossWeights(self.retrieved, 0.0, 0.0, 0.0, 0.0)


# The appendix's Table 5 for stage NSGDC; its λ_ITM is Eq. 10's λ_IRTM. NSG is the same `nsg_only()`.
PAPER_WEIGHTS: Mapping[tuple[str, str], LossWeights] = {
    ("flickr30k", "base"): LossWeights(1.0, 1e-1, 1e-3, 1e-3, 1e-3),
    ("flickr30k", "large"): LossWeights(1.0, 1e-1, 5e-4, 5e-4, 5e-4),
    ("coco", "base"): LossWeights(1.0, 5e-2, 1e-4, 5e-4, 5e-4),
    ("coco", "large"): LossWeights(1.0, 5e-2, 5e-4, 5e-4, 5e-4),
}


def weighted_sum(losses: Mapping[str, Scalar], weights: LossWeights) -> Scalar:
    """Return Σ λ·L over the losses with a weight above 0 (Eq. 10).

    A loss of weight 0 may be missing and is not read (0 times NaN is NaN).

    >>> weighted_sum({"retrieved": torch.tensor(3.0)}, LossWeights(2.0).irtm_only())
    tensor(6.)
    """
    known = weights.named()
    return sum(known[name] * losses[name] for name in weights.wanted)


# The labels of the word losses (Sec. 2.4) and their likelihood. A synthetic sentence and the caption that it was made
# from stand token under token, `synthetic` and `original`, padded to one length. `counted` marks the tokens of words:
# special tokens and padding are outside it.


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
    synthetic: Tokens, original: Tokens, counted: Counted, positions: Positions = "all", masked: Counted | None = None
) -> Tokens:
    """Return the caption's tokens at all positions (Eq. 9), at the replaced or at the masked ones; −100 elsewhere.

    `masked` marks the positions that were refilled, perhaps with the same token: the released code asks at these.
    """
    asked = synthetic != original
    if positions == "masked" and masked is not None:
        asked = asked | masked
    return torch.where(counted if positions == "all" else counted & asked, original, UNLABELLED)
