"""What a model looks at of each image of a data set: its picture or its regions, kept in memory as far as they fit."""

from collections.abc import Sequence

from torch import Tensor, nn

from ..data.captionset import CaptionSet
from ..data.kept import Decoded, KeptRegions
from .reading import looked_at, on_device, reads

KEPT_BYTES = 2**29


class ImageInputs:
    """Images of a data set by number, prepared for a model and where it is; each is decoded once if all fit."""

    def __init__(self, model: nn.Module, data: CaptionSet, keep_bytes: int = KEPT_BYTES):
        self.model, kept = model, KeptRegions if reads(model) == "regions" else Decoded
        self._one = kept(looked_at(model, data), keep_bytes)

    def __call__(self, images: Sequence[int]) -> dict[str, Tensor]:
        """What `embed_regions` of the model takes."""
        return on_device(self.model, self.model.prepare_images([self._one[image] for image in images]))
