"""What the other floors do with any model: what it reads of a data set, and pairs of sentences and images by number."""

import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from ..data.batches import Cached, shown
from ..data.captionset import CaptionSet
from ..data.pictures import Pictures, Unread
from .base import CutCaptions
from .cross_encoder import CrossEncoder, Tokens
from .photographs import as_seen_by

BATCH_SIZE = 64  # pictures or captions through an encoder
KEPT_BYTES = 2**29  # of pictures or regions kept in memory


def chunks(items: Any, count: int = BATCH_SIZE) -> Iterator[Sequence]:
    """`items` at most `count` at a time, taken when they are needed, and pictures when each is looked at.

    >>> [len(some) for some in chunks(range(100))]
    [64, 36]
    """
    for start in range(0, len(items), count):
        part = Unread(items, range(start, min(start + count, len(items))))
        yield part if isinstance(items, Pictures | Unread) else list(part)


def looked_at(model: nn.Module, data: CaptionSet) -> Sequence[Any]:
    """The pictures of `data`, or its regions where the model reads those; data without are an ItmlabError.

    A model with a `photo_encoder` is shown that one's regions.
    """
    return shown(as_seen_by(model, data), model.reads)


def on_device(model: nn.Module, prepared: Any) -> Any:
    """A tensor, or a dictionary of tensors, where the model is."""
    device = next(iter(model.parameters()), torch.empty(0)).device
    if isinstance(prepared, dict):
        return {name: value.to(device) for name, value in prepared.items()}
    return prepared.to(device)


class ImageInputs:
    """Images of a data set by number, prepared for a model and where it is; each is decoded once if all fit."""

    def __init__(self, model: nn.Module, data: CaptionSet, keep_bytes: int = KEPT_BYTES):
        self.model, self._images = model, Cached(looked_at(model, data), keep_bytes)

    def __call__(self, images: Sequence[int], change: Callable[[int], Any] | None = None) -> dict[str, Tensor]:
        """What `embed_regions` of the model takes; `change` gives what is changed in a picture (`Changes`)."""
        changes = {} if change is None else {"changes": [change(image) for image in images]}
        chosen = Unread(self._images, images)
        if self.model.reads == "regions":
            chosen = list(chosen)
        return on_device(self.model, self.model.prepare_images(chosen, **changes))


def pieces_read(model: nn.Module, sentences: Sequence[str]) -> list[tuple[int, ...]]:
    """The pieces that a model reads of each sentence, up to its cut; what is cut is neither counted nor warned of."""
    before = model.captions_cut
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CutCaptions)
        tokens = model.prepare_captions(sentences)
    model.captions_cut = before
    rows = zip(tokens["input_ids"].tolist(), tokens["attention_mask"].tolist(), strict=True)
    return [tuple(piece for piece, read in zip(*row, strict=True) if read) for row in rows]


def all_captions(model: CrossEncoder, data: CaptionSet) -> Tokens:
    """The tokens of every caption of a data set, made once and kept in 32 bits, half of what the tower takes."""
    parts = (Tokens.of(model, some) for some in chunks(data.captions))
    first, *rest = (part._replace(ids=part.ids.int()) for part in parts)
    return first.joined(*rest)
