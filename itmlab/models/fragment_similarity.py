"""Scores of all images with all captions of a fragment matcher: block by block, parts of like number together."""

import math
from collections.abc import Callable, Iterator

import torch
from jaxtyping import Float, Int
from torch import Tensor

from itmlab.errors import ItmlabError

from .encoded import Encoded

Block = Callable[[Encoded, Encoded], Float[Tensor, "image caption"]]


def all_pairs(
    block: Block, images: Encoded, captions: Encoded, *, chunk: int, progress: bool = False
) -> Float[Tensor, "image caption"]:
    """`block` over all pairs, at most `chunk` at a time; gradients flow."""
    if chunk < 1:
        raise ItmlabError(f"a chunk of {chunk} pairs is none", remedy="give chunk=1 or more")
    tall = min(math.isqrt(chunk), len(images.mask))
    columns = list(_blocks(captions, chunk // max(tall, 1)))
    scores = torch.zeros(len(images.mask), len(captions.mask), device=images.local.device)
    with _bar(progress, len(images.mask)) as bar:
        for row_numbers, some_images in _blocks(images, tall):
            for column_numbers, some_captions in columns:
                scores[row_numbers[:, None], column_numbers] = block(some_images, some_captions)
            bar.update(len(row_numbers))
    return scores


def _blocks(items: Encoded, size: int) -> Iterator[tuple[Int[Tensor, "block"], Encoded]]:
    """Items with like numbers of parts, their row numbers beside them, without the padding that none of them needs."""
    for numbers in torch.argsort(items.mask.sum(dim=1), stable=True).split(max(size, 1)):
        mask = items.mask[numbers]
        used = mask.any(dim=0)
        yield numbers, Encoded(items.pooled[numbers], items.local[numbers][:, used], mask[:, used])


def _bar(progress: bool, count: int):
    from tqdm import tqdm

    return tqdm(total=count, desc="scoring", unit="image", disable=not progress)
