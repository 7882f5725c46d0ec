"""Sentences and images as rows of a one-tower model's input: tokens kept for all captions, pairs scored by length."""

from collections.abc import Iterator, Sequence
from typing import Any, Literal, NamedTuple

import torch
from jaxtyping import Bool, Float, Int, Int64
from torch import Tensor, nn

from ..data.batches import Decoded, KeptRegions, shown
from ..data.captionset import CaptionSet
from .cross_encoder import OneTower
from .transformer import EmbeddedRegions

# What models read of a data set, and where.


AT_ONCE = 64  # pictures or captions through an encoder


def chunks(items: Any) -> Iterator[list]:
    """`items` in lists of at most AT_ONCE, taken when they are needed."""
    for start in range(0, len(items), AT_ONCE):
        yield [items[i] for i in range(start, min(start + AT_ONCE, len(items)))]


def reads(model: nn.Module) -> Literal["pictures", "regions"]:
    """What a model looks at of an image."""
    found = getattr(model, "reads", None) or getattr(getattr(model, "config", None), "visual", "pictures")
    return "regions" if found == "regions" else "pictures"


def looked_at(model: nn.Module, data: CaptionSet) -> Sequence[Any]:
    """The pictures of `data`, or its regions where the model reads those; data without are an ItmlabError."""
    return shown(data, reads(model))


def compares_parts(model: nn.Module) -> bool:
    """Whether a model that encodes images and captions apart scores them by their parts, not by one feature each."""
    return getattr(model, "matcher", None) is not None


def on_device(model: nn.Module, prepared: Any) -> Any:
    """A tensor, or a dictionary of tensors, where the model is."""
    device = next(iter(model.parameters()), torch.empty(0)).device
    if isinstance(prepared, dict):
        return {name: value.to(device) for name, value in prepared.items()}
    return prepared.to(device)


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


# What a model looks at of each image of a data set: its picture or its regions, kept in memory as far as they fit.


KEPT_BYTES = 2**29


class ImageInputs:
    """Images of a data set by number, prepared for a model and where it is; each is decoded once if all fit."""

    def __init__(self, model: nn.Module, data: CaptionSet, keep_bytes: int = KEPT_BYTES):
        self.model, kept = model, KeptRegions if reads(model) == "regions" else Decoded
        self._one = kept(looked_at(model, data), keep_bytes)

    def __call__(self, images: Sequence[int]) -> dict[str, Tensor]:
        """What `embed_regions` of the model takes."""
        return on_device(self.model, self.model.prepare_images([self._one[image] for image in images]))
