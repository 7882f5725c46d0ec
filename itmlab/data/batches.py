"""Batches of image–caption pairs: an order that (seed, epoch) alone decides, decoded ahead while the model computes."""

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Int64
from PIL import Image
from torch import Tensor

from ..errors import ItmlabError
from .captionset import CaptionSet

AHEAD = 2  # batches beyond those that the workers are at


@dataclass(frozen=True)
class Batch:
    """Pairs of one step: row i is `images[i]` with `captions[i]`.

    `images` are RGB pictures, or what `prepare_images` made of them; `tokens` is what `prepare_captions` made of the
    captions, else None.
    """

    image_indices: Int64[Tensor, "pair"]
    caption_indices: Int64[Tensor, "pair"]
    images: Any
    captions: list[str]
    tokens: Any = None


class PairBatches:
    """The pairs of a CaptionSet in shuffled batches, prepared by `workers` threads (at least one) ahead of use.

    `captions_per_image="one"` takes each image once an epoch with one of its captions drawn anew; "all" takes every
    caption, so an image may occur twice in a batch. The order is a function of `(seed, epoch)` only. A last batch
    that is not full is dropped unless it is the only one. `prepare_images` (list of pictures -> anything) and
    `prepare_captions` (list of texts -> anything) run in the background. Decoded pictures are kept as long as they
    fit into `keep_bytes`, so that a small set is decoded once. `waited_seconds` adds up the time that the consumer
    stood still.
    """

    def __init__(
        self,
        data: CaptionSet,
        *,
        batch_size: int,
        seed: int,
        captions_per_image: str = "one",
        workers: int = 0,
        prepare_images: Callable[[list[Image.Image]], Any] | None = None,
        prepare_captions: Callable[[list[str]], Any] | None = None,
        keep_bytes: int = 2**29,
    ):
        if batch_size < 1 or workers < 0 or seed < 0:
            raise ItmlabError(f"batch_size={batch_size}, workers={workers}, seed={seed}: sizes and seeds are positive")
        if captions_per_image not in ("one", "all"):
            raise ItmlabError(f"captions_per_image={captions_per_image!r}", remedy='use "one" or "all"')
        self.data, self.batch_size, self.seed = data, batch_size, seed
        self.captions_per_image = captions_per_image
        self.waited_seconds = 0.0
        self._workers = max(1, workers)
        self._prepare_images, self._prepare_captions = prepare_images, prepare_captions
        self._tokenising = threading.Lock()  # fast tokenizers refuse to be used by two threads at once
        self._decoded = _Decoded(data.images, keep_bytes)
        counts = torch.bincount(data.image_of_caption, minlength=len(data))
        self._described = counts.nonzero().flatten().numpy()
        if not len(self._described):
            raise ItmlabError("there is no image with a caption to train on", where=data.name)

    def __len__(self) -> int:
        """The number of batches of an epoch."""
        pairs = len(self._described) if self.captions_per_image == "one" else len(self.data.captions)
        return max(1, pairs // self.batch_size)

    def order(self, epoch: int) -> Int64[Tensor, "pair"]:
        """The caption indices of an epoch in the order in which they come."""
        generator = np.random.default_rng([self.seed, epoch])
        if self.captions_per_image == "all":
            return torch.from_numpy(generator.permutation(len(self.data.captions)))
        images = generator.permutation(self._described)
        draws = generator.random(len(images))
        choices = [self.data.captions_of_image[image] for image in images.tolist()]
        picked = [int(own[int(draw * len(own))]) for own, draw in zip(choices, draws.tolist(), strict=True)]
        return torch.tensor(picked, dtype=torch.int64)

    def epoch(self, number: int, start_batch: int = 0) -> Iterator[Batch]:
        """The batches of epoch `number` from `start_batch` on; a picture that cannot be read raises ItmlabError."""
        order = self.order(number)
        rows = deque(order[start : start + self.batch_size] for start in self._starts(start_batch))
        threads = ThreadPoolExecutor(self._workers, thread_name_prefix="itmlab-batches")
        coming: deque[Future[Batch]] = deque()
        try:
            while rows or coming:
                while rows and len(coming) < self._workers + AHEAD:
                    coming.append(threads.submit(self._make, rows.popleft()))
                started = time.perf_counter()
                batch = coming.popleft().result()
                self.waited_seconds += time.perf_counter() - started
                yield batch
        finally:
            threads.shutdown(wait=True, cancel_futures=True)

    def _starts(self, start_batch: int) -> list[int]:
        return [number * self.batch_size for number in range(start_batch, len(self))]

    def _make(self, captions: Int64[Tensor, "pair"]) -> Batch:
        images = self.data.image_of_caption[captions]
        pictures: Any = [self._decoded[index] for index in images.tolist()]
        texts = [self.data.captions[index] for index in captions.tolist()]
        tokens = None
        if self._prepare_images is not None:
            pictures = self._prepare_images(pictures)
        if self._prepare_captions is not None:
            with self._tokenising:
                tokens = self._prepare_captions(texts)
        return Batch(images, captions, pictures, texts, tokens)


class _Decoded:
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
