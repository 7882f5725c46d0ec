"""Accuracies of TAGS-DC: captions against negatives, words judged and corrected, and the share of true negatives.

References:
    Fan et al. (2022), Negative Sample is Negative in Its Own Way.
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
    """Return the share of pairs in which the caption scores higher than its negative. A tie counts against the model.

    Args:
        positive_scores: of the captions. Pass logits, because two saturated sigmoids are equal.
        negative_scores: of the negative sentences.
        images: the image of each pair, for the interval (see `share`).

    Raises:
        ItmlabError: the lengths differ, or a score is NaN.

    References:
        Fan et al. (2022), Table 4.

    >>> print(discrimination(torch.tensor([2.0, 1.0, 3.0]), torch.tensor([1.0, 1.0, 0.0])))
    66.7 % (20.8 to 93.9) of 3
    """
    positive_scores, negative_scores = torch.as_tensor(positive_scores), torch.as_tensor(negative_scores)
    if positive_scores.ndim != 1 or positive_scores.shape != negative_scores.shape:
        shapes = f"{tuple(positive_scores.shape)} and {tuple(negative_scores.shape)}"
        raise ItmlabError(f"each sentence needs one negative, got shapes {shapes}")
    if count := int((positive_scores.isnan() | negative_scores.isnan()).sum()):
        raise ItmlabError(f"{count} of {len(positive_scores)} pairs have a score that is NaN")
    return share(positive_scores > negative_scores, images)


@dataclass(frozen=True)
class WordAccuracy:
    """Accuracy over all counted words, over replaced words and over kept words.

    Most words are kept, so `all` is high for a model that never finds an error; `balanced` is not.
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
    """Return how often a token is judged correctly as kept or replaced.

    Args:
        kept_probability: of each token; from `threshold` on the token is judged as kept.
        synthetic: the tokens of the synthetic sentences.
        original: the tokens of their captions, position by position.
        counted: False at special tokens and padding.
        threshold: see above.
        images: the image of each row, for the intervals.

    References:
        Fan et al. (2022), Sec. 4.4. The paper prints 66.5 % and does not say of which tokens.
    """
    return _accuracy((kept_probability >= threshold) == (synthetic == original), synthetic, original, counted, images)


def word_correction_accuracy(
    predicted: Tokens, synthetic: Tokens, original: Tokens, counted: Mask, *, images: Images | None = None
) -> WordAccuracy:
    """Return how often the best token of H_WoC is the caption's own token.

    A model that copies the synthetic sentence is right at every kept token and wrong at every replaced one.

    References:
        Fan et al. (2022), Sec. 4.4. The paper prints 87.3 % and does not say of which tokens.
    """
    return _accuracy(predicted == original, synthetic, original, counted, images)


def _accuracy(correct: Mask, synthetic: Tokens, original: Tokens, counted: Mask, images: Images | None) -> WordAccuracy:
    if not (correct.ndim == 2 and correct.shape == synthetic.shape == original.shape == counted.shape):
        shapes = ", ".join(str(tuple(values.shape)) for values in (correct, synthetic, original, counted))
        raise ItmlabError(f"answers, sentences, captions and mask must have the same shape, got {shapes}")
    rows = torch.arange(len(correct)) if images is None else torch.as_tensor(images)  # words of a row are dependent
    if rows.shape != correct.shape[:1]:
        raise ItmlabError(f"{len(correct)} sentences, but images of shape {tuple(rows.shape)}")
    rows = rows.to(correct.device)[:, None].expand_as(correct)
    replaced = synthetic != original
    masks = (counted, counted & replaced, counted & ~replaced)
    return WordAccuracy(*(share(correct[mask], rows[mask]) for mask in masks))


@dataclass(frozen=True)
class TrueNegatives:
    """The share of decided sentences that are false of their picture, and the number of undecided sentences."""

    share: Share
    undecided: int

    def __str__(self) -> str:
        return f"{self.share} decided; {self.undecided:,} undecided"


def true_negative_rate(
    labels: Sequence[bool | None], images: Sequence[int] | Int64[Tensor, "sentence"] | None = None
) -> TrueNegatives:
    """Return the share of synthetic sentences that are truly negative, with its 95 % interval.

    Args:
        labels: whether each sentence is true of its picture (`World.entails`); None where that is undecided.
        images: the image of each sentence, for the interval.

    Raises:
        ItmlabError: another kind of label, or the lengths differ.

    References:
        Fan et al. (2022), Sec. 4.2: 96.5 % of 200 sentences, judged by two people.

    >>> print(true_negative_rate([False, False, None, True]))
    66.7 % (20.8 to 93.9) of 3 decided; 1 undecided
    """
    for label in labels:
        if label is not None and not isinstance(label, bool):
            raise ItmlabError(f"a label is True, False or None, got {label!r}")
    if images is not None and len(images) != len(labels):
        raise ItmlabError(f"{len(labels)} labels, but {len(images)} images")
    decided = [position for position, label in enumerate(labels) if label is not None]
    is_false = torch.tensor([not labels[position] for position in decided], dtype=torch.bool)
    decided_images = None if images is None else torch.as_tensor(images)[torch.tensor(decided, dtype=torch.int64)]
    return TrueNegatives(share(is_false, decided_images), len(labels) - len(decided))
