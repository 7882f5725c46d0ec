"""From a picture to the tensor that an image tower reads, with Pillow, NumPy and torch only."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from itmlab.errors import ItmlabError

if TYPE_CHECKING:
    from PIL.Image import Image

    from .config import TwoTowerConfig


@dataclass(frozen=True)
class ImagePreparation:
    """Resize to a square of `size` px, then (value / 255 − mean) / deviation per channel.

    Without `shortest_edge` the whole picture is squeezed into the square, as ViT checkpoints expect and so that no
    object is lost. With it the shorter edge is brought to that length and the centre is cut out, as CLIP does.
    """

    size: int
    shortest_edge: int | None = None
    interpolation: str = "bilinear"
    mean: tuple[float, float, float] = (0.5, 0.5, 0.5)
    deviation: tuple[float, float, float] = (0.5, 0.5, 0.5)

    @classmethod
    def of(cls, config: "TwoTowerConfig") -> "ImagePreparation":
        """The preparation that a model configuration asks for."""
        return cls(config.image_size, config.shortest_edge, config.interpolation, config.mean, config.deviation)

    def __call__(self, pictures: "Sequence[Image]") -> Float[Tensor, "n 3 size size"]:
        """One tensor for all pictures; any Pillow mode is read as RGB."""
        if not len(pictures):
            raise ItmlabError("there is no picture to prepare", remedy="give at least one")
        stacked = np.stack([np.asarray(self._fitted(picture.convert("RGB"))) for picture in pictures])
        values = torch.from_numpy(stacked).permute(0, 3, 1, 2).to(torch.float32)
        mean, deviation = (torch.tensor(three).view(1, 3, 1, 1) for three in (self.mean, self.deviation))
        return ((values / 255 - mean) / deviation).contiguous()

    def _fitted(self, picture: "Image") -> "Image":
        from PIL.Image import Resampling

        filter_ = Resampling[self.interpolation.upper()]
        if self.shortest_edge is None:
            return picture if picture.size == (self.size, self.size) else picture.resize((self.size,) * 2, filter_)
        picture = _without_ends(picture)
        short = min(picture.size)
        width, height = (int(self.shortest_edge * edge / short) for edge in picture.size)
        resized = picture if picture.size == (width, height) else picture.resize((width, height), filter_)
        # Floor division also places a crop larger than the picture, whose surroundings Pillow fills with black.
        left, top = (width - self.size) // 2, (height - self.size) // 2
        return resized.crop((left, top, left + self.size, top + self.size))


def _without_ends(picture: "Image") -> "Image":
    """The middle of a picture longer than 8:1, whose ends no crop reaches but whose resizing may need gigabytes."""
    reach = 8 * min(picture.size)
    if max(picture.size) <= reach:
        return picture
    width, height = picture.size
    left, top = max(0, (width - reach) // 2), max(0, (height - reach) // 2)
    return picture.crop((left, top, min(width, left + reach), min(height, top + reach)))
