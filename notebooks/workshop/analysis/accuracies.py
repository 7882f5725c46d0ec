"""Accuracies of TAGS-DC: words judged and corrected, and the share of true negatives.

References:
    Fan et al. (2022), Negative Sample is Negative in Its Own Way.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Int64
from torch import Tensor

from itmlab.metrics.statistics import Share, share

Mask = Bool[Tensor, "row piece"]


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


def word_accuracy(correct: Mask, replaced: Mask, counted: Mask, images: Int64[Tensor, "row"]) -> WordAccuracy:
    """Return how often a word is judged or corrected rightly.

    Args:
        correct: whether the model is right about a piece of a synthetic sentence.
        replaced: whether the piece is not the caption's.
        counted: False at special pieces and padding.
        images: the image of each row, for the intervals.

    References:
        Fan et al. (2022), Sec. 4.4. The paper prints 66.5 % (H_WoD) and 87.3 % (H_WoC) and does not say of which words.
    """
    rows = images[:, None].expand_as(correct)
    masks = (counted, counted & replaced, counted & ~replaced)
    return WordAccuracy(*(share(correct[mask], rows[mask]) for mask in masks))


@dataclass(frozen=True)
class TrueNegatives:
    """The share of decided sentences that are false of their picture, and the number of undecided sentences."""

    share: Share
    undecided: int

    def __str__(self) -> str:
        return f"{self.share} decided; {self.undecided:,} undecided"


def true_negative_rate(labels: Sequence[bool | None], images: Int64[Tensor, "sentence"]) -> TrueNegatives:
    """Return the share of synthetic sentences that are truly negative, with its 95 % interval.

    Args:
        labels: whether each sentence is true of its picture (`World.entails`); None where that is undecided.
        images: the image of each sentence, for the interval.

    References:
        Fan et al. (2022), Sec. 4.2: 96.5 % of 200 sentences, judged by two people.

    >>> print(true_negative_rate([False, False, None, True], torch.arange(4)))
    66.7 % (15.9 to 95.5) of 3 decided; 1 undecided
    """
    is_decided = torch.tensor([label is not None for label in labels], dtype=torch.bool)
    is_false = torch.tensor([label is False for label in labels], dtype=torch.bool)
    return TrueNegatives(share(is_false[is_decided], images[is_decided]), int((~is_decided).sum()))
