"""Negative captions from a file, drawn for the pairs of a batch."""

from collections.abc import Sequence

import torch
from jaxtyping import Bool, Int64
from torch import Tensor

from ..data.captionset import CaptionSet
from ..synthesis.read import read_negatives
from .settings import ExtraNegatives


class ExtraCaptions:
    """The negatives of each caption of `data` in the file of an export; `number` of them are drawn at a time."""

    def __init__(self, settings: ExtraNegatives, data: CaptionSet):
        self.number = settings.number
        self.sentences = [[one.sentence for one in row] for row in read_negatives(settings.path).of(data)]
        self.captions: Sequence[str] = data.captions

    def drawn(
        self, captions: Int64[Tensor, "pair"], *, generator: torch.Generator
    ) -> tuple[list[list[str]], Bool[Tensor, "pair extra"]]:
        """Different negatives of each caption, and which there are; a caption stands in for those that are missing.

        One number is drawn for each caption and place, however many negatives it has.
        """
        chance = torch.rand(len(captions), self.number, generator=generator)
        rows, allowed = [], torch.zeros(len(captions), self.number, dtype=torch.bool)
        for row, (caption, numbers) in enumerate(zip(captions.tolist(), chance.tolist(), strict=True)):
            left = list(self.sentences[caption])
            taken = [left.pop(int(one * len(left))) for one in numbers[: len(left)]]
            allowed[row, : len(taken)] = True
            rows.append(taken + [self.captions[caption]] * (self.number - len(taken)))
        return rows, allowed
