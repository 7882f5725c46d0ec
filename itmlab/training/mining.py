"""Retrieved negatives of the pairs of a batch from the whole data set, both ways (TAGS-DC, appendix A.1)."""

from collections.abc import Callable

import torch
from jaxtyping import Int64
from torch import Tensor

from ..data.captionset import CaptionSet
from ..models import CrossEncoder, EmbeddedRegions
from ..models.encoded import evaluating
from ..models.pairs import ImageInputs, Tokens, pair_logits
from ..runs.scores import joined_regions
from ..samplers.retrieved import mined_negatives, random_negatives

AT_ONCE = 256  # images embedded at a time

Rows = Int64[Tensor, "pair"]


def mined_captions(
    model: CrossEncoder,
    tokens: Tokens,
    inputs: ImageInputs,
    data: CaptionSet,
    images: Rows,
    *,
    drawn: int,
    kept: int,
    generator: torch.Generator,
) -> Int64[Tensor, "pair kept"]:
    """For each image the hardest `kept` of `drawn` random captions of other images, -1 behind where fewer exist."""
    different, rows = images.unique(return_inverse=True)

    def score(anchors: Rows, columns: Rows) -> Tensor:
        device = tokens.ids.device
        return pair_logits(model, tokens, columns.to(device), regions, rows[anchors].to(device)).cpu()

    with evaluating(model):  # every image of the batch is an anchor: embedded once for all its candidates
        regions = embedded(model, inputs, different) if kept < drawn else None
        return _mined(score, images, data.image_of_caption, drawn, kept, generator)


def mined_images(
    model: CrossEncoder,
    tokens: Tokens,
    inputs: ImageInputs,
    data: CaptionSet,
    captions: Rows,
    *,
    drawn: int,
    kept: int,
    generator: torch.Generator,
) -> Int64[Tensor, "pair kept"]:
    """For each caption the hardest `kept` of `drawn` random images that are not its own."""

    def score(anchors: Rows, columns: Rows) -> Tensor:
        # each anchor has images of its own: only those that are asked for now are embedded
        different, rows = columns.unique(return_inverse=True)
        device, regions = tokens.ids.device, embedded(model, inputs, different)
        return pair_logits(model, tokens, captions[anchors].to(device), regions, rows.to(device)).cpu()

    with evaluating(model):
        return _mined(score, data.image_of_caption[captions], torch.arange(len(data)), drawn, kept, generator)


def embedded(model: CrossEncoder, inputs: ImageInputs, images: Rows) -> EmbeddedRegions:
    """The image side of the tower's input of these images, a part of them at a time."""
    return joined_regions([model.embed_regions(**inputs(part.tolist())) for part in images.split(AT_ONCE)])


def _mined(
    score: Callable[[Rows, Rows], Tensor],
    anchors: Rows,
    candidates: Int64[Tensor, "candidate"],
    drawn: int,
    kept: int,
    generator: torch.Generator,
) -> Int64[Tensor, "pair kept"]:
    if kept >= drawn:  # nothing to choose, so nothing is scored
        return random_negatives(anchors, candidates, drawn, generator=generator)
    return mined_negatives(score, anchors, candidates, drawn=drawn, kept=kept, generator=generator)
