"""Batches of image–caption pairs: an order that (seed, epoch) alone decides, decoded ahead while the model computes."""

import math
import threading
import time
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

AHEAD = 2  # batches beyond those that the workers are at


@dataclass(frozen=True)
class Batch:
    """Pairs of one step: row i is picture `image_rows[i]` of `images` with `captions[i]`.

    `images` are RGB pictures or records of regions, or what `prepare_images` made of them, each image once a run of its
    captions; `tokens` is what `prepare_captions` made of the captions, else None.
    """

    image_indices: Int64[Tensor, "pair"]
    caption_indices: Int64[Tensor, "pair"]
    image_rows: Int64[Tensor, "pair"]
    images: Any
    captions: list[str]
    tokens: Any = None


class PairBatches:
    """The pairs of a CaptionSet in shuffled batches, prepared by `workers` threads (at least one) ahead of use.

    `captions_per_image=n` takes each image once an epoch with n of its captions drawn anew (again, where it has fewer),
    all in one batch, where its picture is prepared and encoded once; "all" takes every caption as a pair of its own, so
    an image may occur twice in a batch, as the field does. `batch_size` counts pictures. The order is a function of
    `(seed, epoch)` only. A last batch that is not full is dropped unless it is the only one. `prepare_images`
    (pictures, each decoded as it is looked at → anything) and `prepare_captions` (list of texts → anything) run in the
    background. Decoded pictures are kept as long as they fit into `keep_bytes`, so that a small set is decoded once.
    `waited_seconds` adds up the time that the consumer stood still. `images` is what the batches bring: "pictures",
    "regions" or nothing.

    With an `augmentation`, `prepare_images` is given a second argument: a list with each picture's change, a function
    of the picture and of what fits it to the model's size. A change is a function of (seed, epoch, the picture's first
    caption in the batch) only, so neither the workers nor a run taken up again alters it.

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
        keep_bytes: int = 2**29,
        images: Literal["pictures", "regions"] | None = "pictures",
        augmentation: "Augmentation | None" = None,
    ):
        if batch_size < 1 or workers < 0 or seed < 0:
            raise ItmlabError(f"batch_size={batch_size}, workers={workers}, seed={seed}: sizes and seeds are positive")
        if captions_per_image != "all" and not (isinstance(captions_per_image, int) and captions_per_image >= 1):
            raise ItmlabError(f"captions_per_image={captions_per_image!r}", remedy='use 1 or more, or "all"')
        if augmentation is not None and (images != "pictures" or prepare_images is None):
            raise ItmlabError("augmentation is for pictures that are prepared, and there are none", where=data.name)
        self.data, self.batch_size, self.seed = data, batch_size, seed
        self.captions_per_image = captions_per_image
        self._together = 1 if captions_per_image == "all" else captions_per_image
        self.waited_seconds = 0.0
        self._workers = max(1, workers)
        self._prepare_images, self._prepare_captions = prepare_images, prepare_captions
        self._augmentation = augmentation
        self._tokenising = threading.Lock()  # fast tokenizers refuse to be used by two threads at once
        self._shown: Any = None
        if images is not None:
            self._shown = (CachedRegions if images == "regions" else Decoded)(shown(data, images), keep_bytes)
        counts = torch.bincount(data.image_of_caption, minlength=len(data))
        self._described = counts.nonzero().flatten().numpy()
        if not len(self._described):
            raise ItmlabError("there is no image with a caption to train on", where=data.name)

    def __len__(self) -> int:
        """The number of batches of an epoch."""
        pictures = len(self.data.captions) if self.captions_per_image == "all" else len(self._described)
        return max(1, pictures // self.batch_size)

    def order(self, epoch: int) -> Int64[Tensor, "pair"]:
        """The caption indices of an epoch in the order in which they come."""
        generator = np.random.default_rng([self.seed, epoch])
        if self.captions_per_image == "all":
            return torch.from_numpy(generator.permutation(len(self.data.captions)))
        images = generator.permutation(self._described)
        picked = []
        for image in images.tolist():
            own = self.data.captions_of_image[image].numpy()
            shuffled = [generator.permutation(own) for _ in range(-(-self._together // len(own)))]
            picked.append(np.concatenate(shuffled)[: self._together])
        return torch.from_numpy(np.concatenate(picked))

    def epoch(self, number: int, start_batch: int = 0) -> Iterator[Batch]:
        """The batches of epoch `number` from `start_batch` on; a picture that cannot be read raises ItmlabError."""
        order = self.order(number)
        size = self.batch_size * self._together
        rows = deque(order[batch * size : (batch + 1) * size] for batch in range(start_batch, len(self)))
        # each with a pool of torch's threads of its own would fight the model's pool for the cores
        threads = ThreadPoolExecutor(self._workers, "itmlab-batches", torch.set_num_threads, (1,))
        coming: deque[Future[Batch]] = deque()
        try:
            while rows or coming:
                while rows and len(coming) < self._workers + AHEAD:
                    coming.append(threads.submit(self._make, number, rows.popleft()))
                started = time.perf_counter()
                batch = coming.popleft().result()
                self.waited_seconds += time.perf_counter() - started
                yield batch
        finally:
            threads.shutdown(wait=True, cancel_futures=True)
            torch.set_num_threads(torch.get_num_threads())  # what any new thread begins with, which ours have set to 1

    def _make(self, epoch: int, captions: Int64[Tensor, "pair"]) -> Batch:
        images = self.data.image_of_caption[captions]
        texts = [self.data.captions[index] for index in captions.tolist()]
        pictures = tokens = None
        if self._shown is not None:
            pictures = Unread(self._shown, images[:: self._together].tolist())
            if self._prepare_images is None or not isinstance(self._shown, Decoded):
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
        # one more than the caption, as numbers that end in 0 would be those of the epoch's order
        numbers = ([self.seed, epoch, 1 + caption] for caption in captions.tolist())
        return [partial(self._augmentation, generator=np.random.default_rng(each)) for each in numbers]


def shown(data: CaptionSet, images: Literal["pictures", "regions"]) -> Sequence[Any]:
    """The pictures of a data set, or its regions; a set without regions is an ItmlabError."""
    if images == "pictures":
        return data.images
    if data.regions is None:
        raise ItmlabError(
            "this model looks at regions and the data have none", where=data.name, remedy="load them with regions"
        )
    return data.regions


class CachedRegions:
    """Region features by index, those that fit into `budget` bytes kept once they have been read or cut out."""

    _packed = _unpacked = staticmethod(lambda found: found)

    def __init__(self, found: Sequence[Any], budget: int):
        self._found, self._left = found, budget
        self._kept: dict[int, tuple] = {}
        self._lock = threading.Lock()

    def __getitem__(self, index: int) -> Any:
        kept = self._kept.get(index)
        if kept is not None:
            return self._unpacked(kept)
        found = self._found[index]
        arrays = self._packed(found)
        size = sum(getattr(array, "nbytes", 0) for array in arrays)
        with self._lock:  # threads that read the same image at once count it once
            if index not in self._kept and size <= self._left:
                self._left -= size
                self._kept[index] = arrays
        return found


class Decoded(CachedRegions):
    """Pictures by index, those that fit into `budget` bytes kept as 8-bit arrays once they have been decoded."""

    _packed = staticmethod(lambda picture: (np.asarray(picture),))
    _unpacked = staticmethod(lambda kept: Image.fromarray(kept[0]))


# What training changes in pictures at random. Evaluation never does.

GREY = (128, 128, 128)  # where an operation leaves nothing to show


def _moved(picture: Image.Image, across: tuple[float, float, float], down: tuple[float, float, float]) -> Image.Image:
    """The picture whose point (x, y) comes from `across` · (x, y, 1) and `down` · (x, y, 1)."""
    return picture.transform(
        picture.size, Image.Transform.AFFINE, (*across, *down), Image.Resampling.BILINEAR, fillcolor=GREY
    )


# RandAugment's operations as ALBEF has them (Li et al., 2021), of a strength −1…1 whose sign only movements have.
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
    """Changes of a picture that `generator` alone decides.

    `crop` cuts out a box whose share of the area is drawn from this range and whose shape from 3:4 to 4:3, before
    `fitted` brings it to the model's size. `flip` is the share of pictures that are mirrored. `randaugment` is how many
    OPERATIONS follow and their magnitude 0…10 (RandAugment, Cubuk et al., 2020); each one drawn is applied with
    probability 0.5, as in the code of ALBEF and FNE.

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
        """An RGB picture changed."""
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


def random_box(
    width: int, height: int, shares: tuple[float, float], generator: np.random.Generator
) -> tuple[int, int, int, int]:
    """Left, top, right and bottom of a random box, its share of the area in `shares`, its shape from 3:4 to 4:3.

    Of a picture so long that ten draws do not fit it is the largest box of such a shape in the middle.
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
