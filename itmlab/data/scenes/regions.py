"""Regions of scenes, as a detector would give them: boxes with pixel features, some of them around nothing."""

import random
from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Int64
from PIL import Image
from torch import Tensor

from ..regions import RegionFeatures, with_area
from .world import World

SIDE = 8  # a feature is the region's picture at SIDE × SIDE pixels, RGB in 0..1
_LEAST = 4  # pixels a side that a region has at least


class SceneRegions(Sequence[RegionFeatures]):
    """The regions of each image: a slightly displaced box for every visible thing, then `spurious` boxes at random.

    Features are Float["region 192"], boxes shares of the image as in `Regions`, confidences higher for true ones on
    the whole. Each image's are a function of its own id.
    """

    def __init__(self, images: Sequence[Image.Image], image_ids: Sequence[str], world: World, *, spurious: int = 3):
        self._images, self._ids, self._world, self._spurious = images, list(image_ids), world, spurious
        self._rows = list(range(len(image_ids)))

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, index: int) -> RegionFeatures:
        row = self._rows[index]
        picture = self._images[row]
        boxes, confidence, _ = self._boxes(row, picture.width)
        crops = [picture.resize((SIDE, SIDE), Image.Resampling.BILINEAR, box=tuple(box)) for box in boxes]
        pixels = np.stack([np.asarray(crop, dtype=np.float32).reshape(-1) / 255 for crop in crops])
        shares = boxes / np.array([picture.width, picture.height] * 2, dtype=np.float32)
        return RegionFeatures(
            torch.from_numpy(pixels), torch.from_numpy(with_area(shares)), torch.tensor(confidence, dtype=torch.float32)
        )

    def objects(self, index: int) -> Int64[Tensor, "region"]:
        """The number of the object that each region is around, -1 for a spurious one."""
        row = self._rows[index]
        return torch.tensor(self._boxes(row, self._images[row].width)[2], dtype=torch.int64)

    def select(self, indices: Sequence[int] | Tensor) -> "SceneRegions":
        """The regions of these images in this order."""
        other = SceneRegions(self._images, self._ids, self._world, spurious=self._spurious)
        other._rows = [self._rows[int(at)] for at in indices]
        return other

    def _boxes(self, row: int, size: int) -> tuple[np.ndarray, list[float], list[int]]:
        dice = random.Random(f"regions/{self._ids[row]}")
        found: list[tuple[list[float], float, int]] = []
        things = self._world.objects(row)
        for number, box in enumerate(self._world.boxes(row).tolist()):
            small = min(box[2] - box[0], box[3] - box[1]) < _LEAST
            if small or things[number].category in ("stuff", "place"):
                continue
            wide, high = box[2] - box[0], box[3] - box[1]
            shift = [dice.uniform(-0.05, 0.05) * side for side in (wide, high, wide, high)]
            moved = [min(max(edge + by, 0.0), float(size)) for edge, by in zip(box, shift, strict=True)]
            found.append((moved, dice.uniform(0.5, 1.0), number))
        for _ in range(self._spurious):
            wide, high = dice.uniform(0.1, 0.5) * size, dice.uniform(0.1, 0.5) * size
            left, top = dice.uniform(0, size - wide), dice.uniform(0, size - high)
            found.append(([left, top, left + wide, top + high], dice.uniform(0.2, 0.7), -1))
        boxes = np.array([box for box, _, _ in found], dtype=np.float32)
        return boxes, [sure for _, sure, _ in found], [number for _, _, number in found]
