"""Identity by content: digests of pictures, features and files, and which items of a collection are the same."""

import hashlib
import os
import time
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import torch
from jaxtyping import Int64
from PIL import Image
from torch import Tensor

from ..storage import usable

RECENT = 2 * 10**9  # nanoseconds: two changes within the resolution of a file system's clock look like one


def file_version(path: str | os.PathLike) -> tuple[int, ...]:
    """Return numbers that change whenever a file changes: its size, its times and its place on the disk.

    A file that was changed a moment ago has other numbers each time, as it may change again without a new time.
    """
    status, now = os.stat(path), time.time_ns()
    nonce = now if abs(now - status.st_ctime_ns) < RECENT else 0
    return status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_dev, status.st_ino, nonce


def file_digest(path: str | os.PathLike) -> bytes:
    """Return a digest of the bytes of a file. A file that has not changed since is not read again."""
    with usable(path):
        return _file_digest(os.path.abspath(path), file_version(path))


@lru_cache(maxsize=2**20)
def _file_digest(path: str, version: tuple[int, ...]) -> bytes:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=16)).digest()


def digest_of(item: Any) -> bytes:
    """Return a digest of the content of a picture, an array, a tensor, bytes, a text, or a sequence of these.

    >>> digest_of(np.zeros(2)) == digest_of(np.zeros(2)), digest_of(np.zeros(2)) == digest_of(np.zeros((2, 1)))
    (True, False)
    """
    digest = hashlib.blake2b(digest_size=16)
    for part in _parts(item):
        digest.update(len(part).to_bytes(8, "little") + part)
    return digest.digest()


def _parts(item: Any) -> Iterator[bytes]:
    if isinstance(item, Image.Image):
        yield from _parts((item.mode, item.size, item.getpalette(), item.tobytes()))
    elif isinstance(item, Tensor):
        plain = item.detach().cpu().contiguous()
        yield from _parts((str(plain.dtype), plain.shape, plain.flatten().view(torch.uint8).numpy().tobytes()))
    elif isinstance(item, np.ndarray):
        yield from _parts((str(item.dtype), item.shape, item.tobytes()))
    elif isinstance(item, list | tuple):
        yield b"\xff%d items" % len(item)
        for part in item:
            yield from _parts(part)
    else:
        yield item if isinstance(item, bytes) else str(item).encode("utf-8", "surrogatepass")


def digests(items: Sequence[Any]) -> list[bytes]:
    """Return the digest of every item. A collection that stores its items encoded has a method `digests` of its own."""
    stored_digests = getattr(items, "digests", None)
    return [digest_of(item) for item in items] if stored_digests is None else stored_digests()


def content_groups(items: Sequence[Any]) -> Int64[Tensor, "item"]:
    """Return a number for every item, in order of first occurrence: items of the same content have the same number.

    >>> content_groups([b"a", b"b", b"a"])
    tensor([0, 1, 0])
    """
    return numbered(digests(items))


def numbered(keys: Sequence[Any]) -> Int64[Tensor, "item"]:
    """Return a number for every key, in order of first occurrence: equal keys have the same number."""
    numbers: dict[Any, int] = {}
    return torch.tensor([numbers.setdefault(key, len(numbers)) for key in keys], dtype=torch.int64, device="cpu")
