"""Sentences and images as rows of a one-tower model's input: tokens kept for all captions, pairs scored by length."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int, Int64
from torch import Tensor

from ..data.captionset import CaptionSet
from ..models import EmbeddedRegions, OneTower
from .reading import chunks

TOGETHER = 256  # rows that the tower reads at a time


class Tokens(NamedTuple):
    """Sentences as the tower reads them, right-padded."""

    ids: Int[Tensor, "row piece"]
    mask: Bool[Tensor, "row piece"]

    @classmethod
    def of(cls, model: OneTower, sentences: Sequence[str]) -> "Tokens":
        """The tokens of at least one sentence, where the model is."""
        tokens, device = model.prepare_captions(sentences), model.pooler.weight.device
        return cls(tokens["input_ids"].to(device), tokens["attention_mask"].to(device).bool())

    @property
    def lengths(self) -> Int64[Tensor, "row"]:
        return self.mask.sum(dim=1)

    def take(self, rows: Int64[Tensor, "some"]) -> "Tokens":
        """These rows, without the columns that are padding in all of them."""
        ids, mask = self.ids[rows], self.mask[rows]
        longest = int(mask.sum(dim=1).max()) if len(rows) else 0
        return Tokens(ids[:, :longest].long(), mask[:, :longest])

    def joined(self, other: "Tokens") -> "Tokens":
        """These rows, then the other's."""
        width = max(self.ids.shape[1], other.ids.shape[1])
        padded = [
            [torch.nn.functional.pad(each, (0, width - each.shape[1])) for each in (one.ids, one.mask)]
            for one in (self, other)
        ]
        return Tokens(*(torch.cat(both) for both in zip(*padded, strict=True)))


def all_captions(model: OneTower, data: CaptionSet) -> Tokens:
    """The tokens of every caption of a data set, made once."""
    parts = [Tokens.of(model, part) for part in chunks(data.captions)]
    width = max(part.ids.shape[1] for part in parts)
    ids, mask = (torch.zeros(len(data.captions), width, dtype=kind) for kind in (torch.int32, torch.bool))
    start = 0
    for part in parts:
        rows = slice(start, start + len(part.ids))
        ids[rows, : part.ids.shape[1]], mask[rows, : part.ids.shape[1]] = part.ids.cpu().int(), part.mask.cpu()
        start = rows.stop
    device = model.pooler.weight.device
    return Tokens(ids.to(device), mask.to(device))


def pair_logits(
    model: OneTower,
    tokens: Tokens,
    sentences: Int64[Tensor, "pair"],
    regions: EmbeddedRegions,
    images: Int64[Tensor, "pair"],
) -> Float[Tensor, "pair"]:
    """The matching logit of each pair of a row of `tokens` and a row of `regions`, read with others of its length."""
    if not len(sentences):
        return regions.values.new_zeros(0)
    found, places = [], []
    for rows in by_length(tokens.lengths[sentences]):
        part = tokens.take(sentences[rows])
        found.append(model.score(part.ids, part.mask, regions.take(images[rows])).float())
        places.append(rows)
    return torch.cat(found)[torch.cat(places).argsort()]


def by_length(lengths: Int64[Tensor, "row"], together: int = TOGETHER) -> Iterator[Int64[Tensor, "part"]]:
    """Row numbers in parts of at most `together`, shortest first."""
    yield from torch.argsort(lengths, stable=True).split(together)
