"""What TAGS-DC (Fan et al. 2022) measures: discrimination of sentences and words, word correction, true negatives.

Discrimination of sentences is Table 4, word discrimination and correction Sec. 4.4, true negatives Sec. 4.2.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int, Int64
from torch import Tensor

from itmlab.errors import ItmlabError
from itmlab.metrics.statistics import Share, share

Scores = Float[Tensor, "pair"]
Tokens = Int[Tensor, "row piece"]
Mask = Bool[Tensor, "row piece"]
Images = Int64[Tensor, "row"]


def discrimination(
    positive_scores: Scores, negative_scores: Scores, images: Int64[Tensor, "pair"] | None = None
) -> Share:
    """The share of pairs (T, T⁻) in which T scores higher (Table 4); a tie counts against the model.

    Give logits: two saturated sigmoids tie. `images` are those of the pairs, for the interval (see `share`).
    ItmlabError: lengths that differ, a NaN.

    >>> print(discrimination(torch.tensor([2.0, 1.0, 3.0]), torch.tensor([1.0, 1.0, 0.0])))
    66.7 % [20.8, 93.9] of 3
    """
    positive_scores, negative_scores = torch.as_tensor(positive_scores), torch.as_tensor(negative_scores)
    if positive_scores.ndim != 1 or positive_scores.shape != negative_scores.shape:
        raise ItmlabError(
            f"each sentence needs one negative, not {tuple(positive_scores.shape)} and {tuple(negative_scores.shape)}"
        )
    if wrong := int((positive_scores.isnan() | negative_scores.isnan()).sum()):
        raise ItmlabError(f"{wrong} of {len(positive_scores)} pairs have a score that is NaN")
    return share(positive_scores > negative_scores, images)


@dataclass(frozen=True)
class WordAccuracy:
    """Accuracy over all counted words, and apart over those that were replaced and those that were kept.

    Most words are kept, so the first is high for a model that never finds a fault: `balanced` is not.
    """

    all: Share
    replaced: Share
    kept: Share

    @property
    def balanced(self) -> float:
        """The mean of the accuracies of replaced and of kept words, in percent."""
        return (self.replaced.percent + self.kept.percent) / 2


def word_discrimination_accuracy(
    kept_probability: Float[Tensor, "row piece"],
    synthetic: Tokens,
    original: Tokens,
    counted: Mask,
    *,
    threshold: float = 0.5,
    images: Images | None = None,
) -> WordAccuracy:
    """How often a token is said to be kept (probability at least `threshold`) exactly when it is (Sec. 4.4).

    `counted` leaves out special tokens and padding; leave out more for one kind of phrase. Of these shares the paper
    prints one, 66.5 %, and does not say of which tokens.
    """
    return _accuracy((kept_probability >= threshold) == (synthetic == original), synthetic, original, counted, images)


def word_correction_accuracy(
    predicted: Tokens, synthetic: Tokens, original: Tokens, counted: Mask, *, images: Images | None = None
) -> WordAccuracy:
    """How often the best token of H_WoC is the caption's own (Sec. 4.4; 87.3 % of tokens not named there).

    Copying the synthetic sentence is right at every kept token and wrong at every replaced one.
    """
    return _accuracy(predicted == original, synthetic, original, counted, images)


def _accuracy(right: Mask, synthetic: Tokens, original: Tokens, counted: Mask, images: Images | None) -> WordAccuracy:
    if not (right.ndim == 2 and right.shape == synthetic.shape == original.shape == counted.shape):
        raise ItmlabError(
            f"answers, sentences, captions and their mask must stand token under token; got {tuple(right.shape)}, "
            f"{tuple(synthetic.shape)}, {tuple(original.shape)} and {tuple(counted.shape)}"
        )
    # words of one sentence hang together, too
    owners = torch.arange(len(right), device=right.device) if images is None else torch.as_tensor(images)
    if owners.shape != right.shape[:1]:
        raise ItmlabError(f"{len(right)} sentences, but images of shape {tuple(owners.shape)}")
    owners = owners[:, None].expand_as(right)
    replaced = synthetic != original
    masks = (counted, counted & replaced, counted & ~replaced)
    return WordAccuracy(*(share(right[mask], owners[mask]) for mask in masks))


@dataclass(frozen=True)
class TrueNegatives:
    """The share of decided sentences that are false of their picture, and how many are undecided."""

    share: Share
    undecided: int

    def __str__(self) -> str:
        return f"{self.share} decided; {self.undecided:,} undecided"


def true_negative_rate(
    labels: Sequence[bool | None], images: Sequence[int] | Int64[Tensor, "sentence"] | None = None
) -> TrueNegatives:
    """The share of synthetic sentences that are truly negative, with its 95 % interval.

    A label says whether the sentence is true of its picture (`World.entails`): false is a true negative, true a false
    one, None is undecided and in neither count. The paper's is 96.5 % of 200, judged by two people (TAGS-DC, Sec. 4.2).
    `images` are the sentences' (see `share`). ItmlabError: another label, lengths that differ.

    >>> print(true_negative_rate([False, False, None, True]))
    66.7 % [20.8, 93.9] of 3 decided; 1 undecided
    """
    if wrong := [label for label in labels if label is not None and not isinstance(label, bool)]:
        raise ItmlabError(f"a label is true, false or None, not {wrong[0]!r}")
    if images is not None and len(images) != len(labels):
        raise ItmlabError(f"{len(labels)} labels, but {len(images)} images")
    decided = [at for at, label in enumerate(labels) if label is not None]
    false = torch.tensor([not labels[at] for at in decided], dtype=torch.bool)
    owners = None if images is None else torch.as_tensor(images)[torch.tensor(decided, dtype=torch.int64)]
    return TrueNegatives(share(false, owners), len(labels) - len(decided))
