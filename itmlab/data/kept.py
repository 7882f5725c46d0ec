"""What is read of each image, kept in memory as far as it fits, so that a small set is read once."""

import threading
from collections.abc import Sequence
from typing import Any

import numpy as np
from PIL import Image


class Decoded:
    """Pictures by index, those that fit into `budget` bytes kept as 8-bit arrays once they have been decoded."""

    def __init__(self, pictures: Sequence[Image.Image], budget: int):
        self._pictures, self._left = pictures, budget
        self._kept: dict[int, np.ndarray] = {}
        self._lock = threading.Lock()

    def __getitem__(self, index: int) -> Image.Image:
        kept = self._kept.get(index)
        if kept is not None:
            return Image.fromarray(kept)
        picture = self._pictures[index]
        pixels = np.asarray(picture)
        with self._lock:
            if index not in self._kept and pixels.nbytes <= self._left:
                self._left -= pixels.nbytes
                self._kept[index] = pixels
        return picture


class KeptRegions:
    """Region features by index, those that fit into `budget` bytes kept once they have been read or cut out."""

    def __init__(self, regions: Sequence[Any], budget: int):
        self._regions, self._left = regions, budget
        self._kept: dict[int, Any] = {}
        self._lock = threading.Lock()

    def __getitem__(self, index: int) -> Any:
        kept = self._kept.get(index)
        if kept is not None:
            return kept
        found = self._regions[index]
        size = sum(value.nbytes for value in found if value is not None)
        with self._lock:
            if index not in self._kept and size <= self._left:
                self._left -= size
                self._kept[index] = found
        return found
