"""Inputs of any model from a data set: its images in chunks, prepared on the model's device, and tokenised captions."""

from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from ..data.batches import Cached, shown
from ..data.captionset import CaptionSet
from ..data.pictures import Pictures, Unread
from .cross_encoder import CrossEncoder, Tokens
from .encoded import right_padded
from .photographs import as_seen_by

BATCH_SIZE = 64  # pictures or captions through an encoder


def chunks(items: Any, count: int = BATCH_SIZE) -> Iterator[Sequence]:
    """Yield `items` at most `count` at a time; each picture is decoded when it is read.

    >>> [len(part) for part in chunks(range(100))]
    [64, 36]
    """
    for start in range(0, len(items), count):
        part = Unread(items, range(start, min(start + count, len(items))))
        yield part if isinstance(items, Pictures | Unread) else list(part)


def looked_at(model: nn.Module, data: CaptionSet) -> Sequence[Any]:
    """Return the pictures of `data`, or its regions if the model reads those; data without regions are an ItmlabError.

    A model with a `photo_encoder` reads the regions that this network makes of the pictures.
    """
    return shown(as_seen_by(model, data), model.reads)


def on_device(model: nn.Module, prepared: Any) -> Any:
    """Move a tensor, or a dictionary of tensors, to the model's device."""
    device = next(iter(model.parameters()), torch.empty(0)).device
    if isinstance(prepared, dict):
        return {name: value.to(device) for name, value in prepared.items()}
    return prepared.to(device)


class ImageInputs:
    """Images of a data set by number, prepared for a model on its device; each is decoded once if all fit in memory.

    Args:
        model: the model.
        data: the data set.
    """

    def __init__(self, model: nn.Module, data: CaptionSet):
        self.model, self._images = model, Cached(looked_at(model, data))

    def __call__(self, images: Sequence[int]) -> dict[str, Tensor]:
        """Return what the model's `embed_regions` takes, of images by their numbers."""
        chosen = Unread(self._images, images)
        if self.model.reads == "regions":
            chosen = list(chosen)
        return on_device(self.model, self.model.prepare_images(chosen))


def all_captions(model: CrossEncoder, data: CaptionSet) -> Tokens:
    """Return the tokens of every caption of a data set, in 32 bits to save memory."""
    parts = (Tokens.of(model, captions) for captions in chunks(data.captions))
    ids, masks = zip(*((part.ids.int(), part.mask) for part in parts), strict=True)
    return Tokens(right_padded(ids), right_padded(masks))
