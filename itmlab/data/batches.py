"""Batches of image-caption pairs, prepared in the background. Seed and epoch alone decide their order."""

import math
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np
import torch
from jaxtyping import Int64
from PIL import Image, ImageEnhance, ImageOps
from torch import Tensor

from ..errors import ItmlabError
from .captionset import CaptionSet
from .pictures import Unread

AHEAD = 2  # batches that are prepared in advance, besides one per worker
KEPT = 2**29  # bytes of decoded pictures that stay in memory


@dataclass(frozen=True)
class Batch:
    """The pairs of one step: row i is picture `image_rows[i]` of `images` with `captions[i]`.

    Attributes:
        image_indices: the image of each pair, as an index into the data set.
        caption_indices: the caption of each pair, as an index into the data set.
        image_rows: the image of each pair, as an index into `images`.
        images: RGB pictures or region features, or what `prepare_images` made of them.
        captions: the text of each pair.
        tokens: what `prepare_captions` made of the captions, else None.
    """

    image_indices: Int64[Tensor, "pair"]
    caption_indices: Int64[Tensor, "pair"]
    image_rows: Int64[Tensor, "pair"]
    images: Any
    captions: list[str]
    tokens: Any = None


class PairBatches:
    """The pairs of a CaptionSet in shuffled batches, prepared in threads before they are used.

    The order is a function of `(seed, epoch)` only. A last batch that is not full is dropped unless it is the only one.

    Args:
        data: the data set.
        batch_size: images per batch.
        seed: of the order and the augmentation.
        captions_per_image: n takes each image once per epoch with n of its captions, drawn each time, and prepares
            the image once; "all" takes every caption as a pair of its own, so an image may occur twice in a batch.
        workers: threads, at least one.
        prepare_images: turns pictures (decoded when indexed) into anything, in the background.
        prepare_captions: turns a list of texts into anything, in the background.
        images: what the batches bring: "pictures", "regions" or None.
        augmentation: changes pictures. `prepare_images` then gets a second argument: for each picture a function of the
            picture and the function that resizes it. The change depends on seed, epoch and the first caption of the
            picture in the batch, and not on workers or on a resumed run.

    Raises:
        ItmlabError: no image has a caption.

    >>> data = CaptionSet(name="four", images=range(4), image_ids="abcd", captions="abcd", caption_ids="abcd",
    ...     image_of_caption=range(4), splits={})
    >>> [batch.captions for batch in PairBatches(data, batch_size=2, seed=0, images=None).epoch(0)]
    [['c', 'a'], ['b', 'd']]
    """

    def __init__(
        self,
        data: CaptionSet,
        *,
        batch_size: int,
        seed: int,
        captions_per_image: int | Literal["all"] = 1,
        workers: int = 0,
        prepare_images: Callable[..., Any] | None = None,
        prepare_captions: Callable[[list[str]], Any] | None = None,
        images: Literal["pictures", "regions"] | None = "pictures",
        augmentation: "Augmentation | None" = None,
    ):
        self.data, self.batch_size, self.seed = data, batch_size, seed
        self.captions_per_image = captions_per_image
        self._together = 1 if captions_per_image == "all" else captions_per_image
        self._workers = max(1, workers)
        self._prepare_images, self._prepare_captions = prepare_images, prepare_captions
        self._augmentation = augmentation
        self._tokenising = threading.Lock()  # fast tokenizers must not be used by two threads at once
        self._images = images
        self._shown = None if images is None else Cached(shown(data, images))
        self._described = torch.bincount(data.image_of_caption, minlength=len(data)).nonzero().flatten().numpy()
        if not len(self._described):
            raise ItmlabError("there is no image with a caption to train on", where=data.name)

    def __len__(self) -> int:
        """The number of batches of an epoch."""
        pictures = len(self.data.captions) if self.captions_per_image == "all" else len(self._described)
        return max(1, pictures // self.batch_size)

    def order(self, epoch: int) -> Int64[Tensor, "pair"]:
        """Return the caption indices of an epoch in their order."""
        generator = np.random.default_rng([self.seed, epoch])
        if self.captions_per_image == "all":
            return torch.from_numpy(generator.permutation(len(self.data.captions)))
        images = generator.permutation(self._described)
        chosen = []
        for image in images.tolist():
            captions = self.data.captions_of_image[image].numpy()
            shuffled = [generator.permutation(captions) for _ in range(-(-self._together // len(captions)))]
            chosen.append(np.concatenate(shuffled)[: self._together])
        return torch.from_numpy(np.concatenate(chosen))

    def epoch(self, number: int, start_batch: int = 0) -> Iterator[Batch]:
        """Yield the batches of epoch `number` from `start_batch` on. An unreadable picture is an ItmlabError."""
        order = self.order(number)
        size = self.batch_size * self._together
        rows = deque(order[start * size :][:size] for start in range(start_batch, len(self)))
        # with several threads of torch in each worker, workers and model would compete for the cores
        threads = ThreadPoolExecutor(self._workers, "itmlab-batches", torch.set_num_threads, (1,))
        coming: deque[Future[Batch]] = deque()
        try:
            while rows or coming:
                while rows and len(coming) < self._workers + AHEAD:
                    coming.append(threads.submit(self._make, number, rows.popleft()))
                yield coming.popleft().result()
        finally:
            threads.shutdown(wait=True, cancel_futures=True)
            torch.set_num_threads(torch.get_num_threads())  # the default of new threads, which workers set to 1

    def _make(self, epoch: int, captions: Int64[Tensor, "pair"]) -> Batch:
        images = self.data.image_of_caption[captions]
        texts = [self.data.captions[index] for index in captions.tolist()]
        pictures = tokens = None
        if self._shown is not None:
            pictures = Unread(self._shown, images[:: self._together].tolist())
            if self._prepare_images is None or self._images == "regions":
                pictures = list(pictures)
            if self._prepare_images is not None:
                changes = () if self._augmentation is None else (self._changes(epoch, captions[:: self._together]),)
                pictures = self._prepare_images(pictures, *changes)
        if self._prepare_captions is not None:
            with self._tokenising:
                tokens = self._prepare_captions(texts)
        rows = torch.arange(len(captions)) // self._together
        return Batch(images, captions, rows, pictures, texts, tokens)

    def _changes(self, epoch: int, captions: Int64[Tensor, "picture"]) -> list[Callable[..., Image.Image]]:
        # caption + 1: with a 0 at the end the numbers would be those of the order of the epoch
        numbers = ([self.seed, epoch, 1 + caption] for caption in captions.tolist())
        return [partial(self._augmentation, generator=np.random.default_rng(seeds)) for seeds in numbers]


def shown(data: CaptionSet, images: Literal["pictures", "regions"]) -> Sequence[Any]:
    """Return the pictures or the regions of a data set. A set without regions is an ItmlabError."""
    if images == "pictures":
        return data.images
    if data.regions is None:
        message = "this model looks at regions and the data have none"
        remedy = 'load("scenes", regions="detector") or load("regions", root)'
        raise ItmlabError(message, where=data.name, remedy=remedy)
    return data.regions


class Cached:
    """Pictures or region features by index, kept in memory after the first read while they fit into `KEPT` bytes."""

    def __init__(self, source: Sequence[Any]):
        self._source, self._left = source, KEPT
        self._items: dict[int, Any] = {}

    def __getitem__(self, index: int) -> Any:
        if index in self._items:
            return self._items[index]
        item = self._source[index]
        arrays = [np.asarray(item)] if isinstance(item, Image.Image) else item
        size = sum(getattr(array, "nbytes", 0) for array in arrays)
        if index not in self._items and size <= self._left:
            self._left -= size
            self._items[index] = item
        return item


# Random changes of pictures, in training only.

GREY = (128, 128, 128)  # fills what an operation leaves empty


def _moved(picture: Image.Image, across: tuple[float, float, float], down: tuple[float, float, float]) -> Image.Image:
    """Return the picture whose point (x, y) comes from `across` · (x, y, 1) and `down` · (x, y, 1)."""
    return picture.transform(
        picture.size, Image.Transform.AFFINE, (*across, *down), Image.Resampling.BILINEAR, fillcolor=GREY
    )


# The operations of RandAugment in ALBEF (Li et al., 2021), with a strength from −1 to 1. Only movements have a sign.
OPERATIONS: dict[str, Callable[[Image.Image, float], Image.Image]] = {
    "identity": lambda picture, strength: picture,
    "autocontrast": lambda picture, strength: ImageOps.autocontrast(picture),
    "equalize": lambda picture, strength: ImageOps.equalize(picture),
    "brightness": lambda picture, strength: ImageEnhance.Brightness(picture).enhance(0.1 + 1.8 * abs(strength)),
    "sharpness": lambda picture, strength: ImageEnhance.Sharpness(picture).enhance(0.1 + 1.8 * abs(strength)),
    "shear_x": lambda picture, strength: _moved(picture, (1, 0.3 * strength, 0), (0, 1, 0)),
    "shear_y": lambda picture, strength: _moved(picture, (1, 0, 0), (0.3 * strength, 1, 0)),
    "translate_x": lambda picture, strength: _moved(picture, (1, 0, 10 * strength), (0, 1, 0)),  # pixels
    "translate_y": lambda picture, strength: _moved(picture, (1, 0, 0), (0, 1, 10 * strength)),
    "rotate": lambda picture, strength: picture.rotate(30 * strength, Image.Resampling.BILINEAR, fillcolor=GREY),
}
_NAMES = tuple(OPERATIONS)


@dataclass(frozen=True)
class Augmentation:
    """Random changes of a picture. The generator alone decides them.

    Args:
        crop: the range of the share of the area that a random box cuts out, of a shape from 3:4 to 4:3, before the
            picture is resized.
        flip: the share of pictures that are mirrored.
        randaugment: how many of `OPERATIONS` follow, and their magnitude from 0 to 10. Each is applied with probability
            0.5, as in the code of ALBEF and FNE.

    References:
        Cubuk et al. (2020), RandAugment.

    >>> picture = Image.new("RGB", (40, 20))
    >>> Augmentation(crop=(0.5, 0.5))(picture, generator=np.random.default_rng(0)).size  # about half the area
    (23, 18)
    """

    crop: tuple[float, float] | None = None
    flip: float = 0.0
    randaugment: tuple[int, int] | None = None

    def __call__(
        self,
        picture: Image.Image,
        fitted: Callable[[Image.Image], Image.Image] = lambda picture: picture,
        *,
        generator: np.random.Generator,
    ) -> Image.Image:
        """Return the changed RGB picture; `fitted` resizes it."""
        if self.crop is not None:
            picture = picture.crop(random_box(*picture.size, self.crop, generator))
        picture = fitted(picture)
        if generator.random() < self.flip:
            picture = ImageOps.mirror(picture)
        number, magnitude = self.randaugment or (0, 0)
        for _ in range(number):
            change = OPERATIONS[_NAMES[generator.integers(len(_NAMES))]]
            applied, backwards = generator.random(2) < 0.5
            if applied:
                picture = change(picture, (-magnitude if backwards else magnitude) / 10)
        return picture


def random_box(width: int, height: int, shares: Sequence[float], generator: np.random.Generator) -> tuple[int, ...]:
    """Return left, top, right and bottom of a random box, its share of the area in `shares`, its shape from 3:4 to 4:3.

    If ten draws do not fit into the picture, it is the largest box of such a shape in the middle.
    """
    for _ in range(10):
        area, shape = width * height * generator.uniform(*shares), (4 / 3) ** generator.uniform(-1, 1)
        wide, high = round(math.sqrt(area * shape)), round(math.sqrt(area / shape))
        if 0 < wide <= width and 0 < high <= height:
            left, top = generator.integers(width - wide + 1), generator.integers(height - high + 1)
            return int(left), int(top), int(left) + wide, int(top) + high
    wide, high = min(width, max(1, round(height * 4 / 3))), min(height, max(1, round(width * 4 / 3)))
    left, top = (width - wide) // 2, (height - high) // 2
    return left, top, left + wide, top + high
