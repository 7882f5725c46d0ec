"""Features of image regions, one set an image, read from the disk when asked for."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from .region_files import read_npy, read_npz


class RegionFeatures(NamedTuple):
    """The regions of one image; boxes are x1, y1, x2, y2, width, height and area as shares of the image."""

    features: Float[Tensor, "region feature"]
    boxes: Float[Tensor, "region 7"] | None
    confidence: Float[Tensor, "region"] | None


@dataclass(frozen=True)
class ArrayRow:
    """One image's regions in a shared `(image, region, feature)` array on the disk."""

    file: Path
    row: int


class Regions(Sequence[RegionFeatures]):
    """The regions of each image: rows of memory-mapped .npy arrays, or one .npz file an image.

    Of a file with confidences the regions above `confidence` are kept, most confident first, at least `fewest` and at
    most `most` (UNITER's 0.2, 10 and 100). A file that cannot be read is an ItmlabError.
    """

    def __init__(
        self, sources: Sequence[ArrayRow | Path], *, confidence: float = 0.2, fewest: int = 10, most: int = 100
    ):
        self._sources = list(sources)
        self._limits = (confidence, fewest, most)
        self._arrays: dict[Path, np.ndarray] = {}

    def __len__(self) -> int:
        return len(self._sources)

    def __getitem__(self, index: int) -> RegionFeatures:
        source = self._sources[index]
        if isinstance(source, ArrayRow):
            if source.file not in self._arrays:
                self._arrays[source.file] = read_npy(source.file)
            return RegionFeatures(_tensor(self._arrays[source.file][source.row]), None, None)
        return self._from_file(source)

    def select(self, indices: Sequence[int]) -> "Regions":
        """The regions of these images in this order, still on the disk."""
        confidence, fewest, most = self._limits
        chosen = [self._sources[int(i)] for i in indices]
        return Regions(chosen, confidence=confidence, fewest=fewest, most=most)

    def _from_file(self, path: Path) -> RegionFeatures:
        content = read_npz(path)
        features, boxes, confidence = content["features"], with_area(content["norm_bb"]), content.get("conf")
        if confidence is None:
            return RegionFeatures(_tensor(features), _tensor(boxes), None)
        least, fewest, most = self._limits
        confidence = confidence.max(axis=1) if confidence.ndim == 2 else confidence
        count = min(max(fewest, int((confidence > least).sum())), most)
        kept = np.argsort(-confidence, kind="stable")[:count]
        return RegionFeatures(_tensor(features[kept]), _tensor(boxes[kept]), _tensor(confidence[kept]))


def with_area(boxes: Float[np.ndarray, "region coordinate"]) -> Float[np.ndarray, "region 7"]:
    """Boxes of 4 (corners), 6 (and width, height) or 7 numbers as the 7 that UNITER uses (and area)."""
    boxes = boxes.astype(np.float32)
    if boxes.shape[1] == 4:
        boxes = np.concatenate([boxes, boxes[:, 2:] - boxes[:, :2]], axis=1)
    return boxes if boxes.shape[1] == 7 else np.concatenate([boxes, boxes[:, 4:5] * boxes[:, 5:6]], axis=1)


def _tensor(values: np.ndarray) -> Tensor:
    return torch.from_numpy(np.array(values, dtype=np.float32))
