"""What a model looks at of each image of a data set: its picture or its regions, kept in memory as far as they fit."""

from collections.abc import Sequence
from typing import Any

from torch import Tensor, nn

from ..data.batches import Decoded
from ..data.captionset import CaptionSet
from .reading import looked_at, on_device

KEPT_BYTES = 2**29


class ImageInputs:
    """Images of a data set by number, prepared for a model and where it is; each is decoded once if all fit."""

    def __init__(self, model: nn.Module, data: CaptionSet, keep_bytes: int = KEPT_BYTES):
        self.model, source = model, looked_at(model, data)
        regions = source is data.regions
        self._one = _Kept(source, keep_bytes) if regions else Decoded(source, keep_bytes)

    def __call__(self, images: Sequence[int]) -> dict[str, Tensor]:
        """What `embed_regions` of the model takes."""
        return on_device(self.model, self.model.prepare_images([self._one[image] for image in images]))


class _Kept:
    """Region features by image, those that fit into `budget` bytes kept."""

    def __init__(self, source: Sequence[Any], budget: int):
        self._source, self._left = source, budget
        self._kept: dict[int, Any] = {}

    def __getitem__(self, image: int) -> Any:
        if image in self._kept:
            return self._kept[image]
        found = self._source[image]
        size = sum(value.nbytes for value in found if value is not None)
        if size <= self._left:
            self._left -= size
            self._kept[image] = found
        return found
