"""Scores of a model that compares parts, for a whole data set, or for one sentence against all of it."""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from ..data.captionset import CaptionSet
from ..models import Encoded, joined
from .reading import chunks, looked_at, on_device

IMAGES_AT_ONCE = 50  # scored with all captions before anything may interrupt


@torch.no_grad()
def parts_similarity(
    model: nn.Module, data: CaptionSet, *, between: Callable[[], None] = lambda: None, progress: bool = False
) -> Float[Tensor, "image caption"]:
    """The score of every image with every caption, each encoded once; `between` is called every few images."""
    images = encoded(model, looked_at(model, data), "images", between)
    captions = encoded(model, data.captions, "captions", between)
    if progress:
        return model.similarity(images, captions, progress=True).float().cpu()
    rows = []
    for part in torch.arange(len(data)).split(IMAGES_AT_ONCE):
        between()
        rows.append(model.similarity(taken(images, part), captions).float().cpu())
    return torch.cat(rows)


@torch.no_grad()
def encoded(model: nn.Module, items: Sequence[Any], of: str, between: Callable[[], None] = lambda: None) -> Encoded:
    """Features and parts of all items, "images" or "captions", where the model is."""
    prepare, encode = getattr(model, f"prepare_{of}"), getattr(model, f"encode_{of}")
    parts = []
    for part in chunks(items):
        between()
        parts.append(encode(on_device(model, prepare(part))))
    return joined(parts)


def taken(items: Encoded, rows: Tensor) -> Encoded:
    """Some rows of encoded items."""
    return Encoded(items.pooled[rows], items.local[rows], items.mask[rows])
