"""Region records of several images as padded tensors."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from itmlab.errors import ItmlabError

if TYPE_CHECKING:
    from .fragment_config import FragmentConfig
    from .one_tower_config import OneTowerConfig


def prepare_regions(images: Sequence[Any], config: "OneTowerConfig | FragmentConfig") -> dict[str, Tensor]:
    """`regions`, `boxes` and `region_mask` of records with `features` and `boxes`, padded to the most regions.

    Boxes only where the model reads some. Features of another width than it reads, an image without a region, missing
    boxes and numbers that are not finite are an ItmlabError.
    """
    if not len(images):
        raise ItmlabError("there is no image to prepare", remedy="give at least one")
    for number, image in enumerate(images):
        fault = _fault(image, config)
        if fault:
            raise ItmlabError(fault, where=f"regions of image {number}", remedy="see RegionFeatures in itmlab.data")
    counts = torch.tensor([len(image.features) for image in images])
    read = {"regions": [image.features.float() for image in images]}
    if config.box_dimension:
        read["boxes"] = [image.boxes[:, : config.box_dimension].float() for image in images]
    padded = {name: pad_sequence(values, batch_first=True) for name, values in read.items()}
    return padded | {"region_mask": torch.arange(int(counts.max()))[None, :] < counts[:, None]}


def _fault(image: Any, config: "OneTowerConfig | FragmentConfig") -> str | None:
    features, boxes = image.features, image.boxes
    if features.dim() != 2 or features.shape[1] != config.region_dimension:
        return f"features of shape {tuple(features.shape)}, the model reads {config.region_dimension} a region"
    if not len(features):
        return "no region"
    if not features.isfinite().all():
        return "numbers that are not finite"
    if not config.box_dimension:
        return None
    if boxes is None:
        return "no boxes"
    if boxes.dim() != 2 or len(boxes) != len(features) or boxes.shape[1] < config.box_dimension:
        return f"boxes of shape {tuple(boxes.shape)}, the model reads {config.box_dimension} numbers a region"
    return None if boxes.isfinite().all() else "numbers that are not finite"
