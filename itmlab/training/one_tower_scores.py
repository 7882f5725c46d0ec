"""Scores of a one-tower model for a whole data set, or for one sentence or picture against all of it."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from ..data.captionset import CaptionSet
from ..models import EmbeddedRegions, OneTower
from .reading import chunks, looked_at, on_device

IMAGES_AT_ONCE = 8  # scored with all captions before anything may interrupt


@torch.no_grad()
def one_tower_similarity(
    model: OneTower,
    data: CaptionSet,
    *,
    between: Callable[[], None] = lambda: None,
    progress: bool = False,
    resume: str | Path | None = None,
) -> Float[Tensor, "image caption"]:
    """The matching logit of every image with every caption, each image embedded once.

    With `progress` or `resume` it is one call of `OneTower.similarity`, else `between` is called every few images.
    """
    regions, tokens = image_side(model, looked_at(model, data)), _tokens(model, data.captions)
    if progress or resume is not None:
        return model.similarity(regions, tokens, progress=progress, resume=resume)
    rows = []
    for part in torch.arange(len(data)).split(IMAGES_AT_ONCE):
        between()
        rows.append(model.similarity(regions.take(part), tokens))
    return torch.cat(rows)


@torch.no_grad()
def scores_of_images(model: OneTower, sentence: str, regions: EmbeddedRegions) -> Float[Tensor, "image"]:
    """The matching logit of a sentence with each image."""
    return model.similarity(regions, _tokens(model, [sentence]))[:, 0]


@torch.no_grad()
def scores_of_captions(model: OneTower, image: Any, captions: Sequence[str]) -> Float[Tensor, "caption"]:
    """The matching logit of a picture, or of a record of regions, with each caption."""
    return model.similarity(on_device(model, model.prepare_images([image])), _tokens(model, captions))[0]


@torch.no_grad()
def image_side(model: OneTower, images: Sequence[Any]) -> EmbeddedRegions:
    """What `embed_regions` makes of all images, on the CPU, padded to the most parts; the model as in evaluation."""
    was_training = model.training
    model.eval()
    try:
        found = [model.embed_regions(**on_device(model, model.prepare_images(part))) for part in chunks(images)]
    finally:
        model.train(was_training)
    return joined_regions([EmbeddedRegions(part.values.cpu(), part.mask.cpu()) for part in found])


def joined_regions(parts: Sequence[EmbeddedRegions]) -> EmbeddedRegions:
    """All rows of several, padded to the most parts."""
    width = max(part.mask.shape[1] for part in parts)
    values = [torch.nn.functional.pad(part.values, (0, 0, 0, width - part.mask.shape[1])) for part in parts]
    masks = [torch.nn.functional.pad(part.mask, (0, width - part.mask.shape[1])) for part in parts]
    return EmbeddedRegions(torch.cat(values), torch.cat(masks))


def _tokens(model: OneTower, captions: Sequence[str]) -> dict[str, Tensor]:
    return model.prepare_captions(list(captions))
