"""Batches of image–caption pairs: an order that (seed, epoch) alone decides, decoded ahead while the model computes."""

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
from PIL import Image
from torch import Tensor

from ..errors import ItmlabError
from .captionset import CaptionSet
from .pictures import Augmentation

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
    `(seed, epoch)` only. A last batch that is not full is dropped unless it is the only one. `prepare_images` (list of
    pictures -> anything) and `prepare_captions` (list of texts -> anything) run in the background. Decoded pictures
    are kept as long as they fit into `keep_bytes`, so that a small set is decoded once. `waited_seconds` adds up the
    time that the consumer stood still. `images` is what the batches bring: "pictures", "regions" or nothing.

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
        augmentation: Augmentation | None = None,
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
            pictures = [self._shown[index] for index in images[:: self._together].tolist()]
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
