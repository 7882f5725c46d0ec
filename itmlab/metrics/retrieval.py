"""The table that the field reports: recall in both directions and its sum, over one pool or several folds."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

import torch
from jaxtyping import Bool, Float, Int64
from torch import Tensor

from itmlab.errors import ItmlabError
from itmlab.metrics.ranks import positive_pairs, require_positives
from itmlab.metrics.recall import Sense, check_k, recalls


def retrieval(
    similarity: Float[Tensor, "image caption"],
    positives: Bool[Tensor, "image caption"] | None = None,
    *,
    ks: Sequence[int] = (1, 5, 10),
    folds: int = 1,
    sense: Sense = "any",
) -> dict[str, Any]:
    """`{"i2t": {k: percent}, "t2i": {k: percent}, "rsum": sum of them all}` of a score matrix.

    Without `positives` the captions lie image by image, as many for each. With folds (COCO's 1K is 5 folds of 1,000)
    the images are cut into consecutive blocks of equal size, each retrieved among its own captions only, and the
    recalls averaged. Ties are counted against the model. ItmlabError: as `recall`, and images that do not divide.
    """
    similarity = torch.as_tensor(similarity)
    tables = []
    for pool in pools(similarity, positives, folds):
        # one block is a 1/folds² of the matrix; the whole of it is never copied
        block = similarity if folds == 1 else pool.of(similarity)
        for k in ks:
            check_k(k, min(block.shape))
        tables.append(
            (
                recalls(block, pool.row, pool.column, tuple(ks), sense=sense),
                recalls(block.T, pool.column, pool.row, tuple(ks), sense=sense),
            )
        )
    table: dict[str, Any] = {
        name: {k: fmean(pair[side][k] for pair in tables) for k in ks} for side, name in enumerate(("i2t", "t2i"))
    }
    table["rsum"] = sum(table["i2t"].values()) + sum(table["t2i"].values())
    return table


@dataclass(frozen=True, eq=False)
class Pool:
    """A block of images with all their captions, and the pairs (row, column) in it that belong together."""

    images: slice
    captions: Int64[Tensor, "caption"]
    row: Int64[Tensor, "pair"]
    column: Int64[Tensor, "pair"]

    def of(self, matrix: Float[Tensor, "image caption"]) -> Float[Tensor, "image caption"]:
        """The block of an (image, caption) matrix, copied."""
        return matrix[self.images].index_select(1, self.captions)

    @property
    def positives(self) -> Bool[Tensor, "image caption"]:
        """The truth mask of the block."""
        mask = torch.zeros(self.images.stop - self.images.start, len(self.captions), dtype=torch.bool)
        mask[self.row, self.column] = True
        return mask


def pools(
    similarity: Float[Tensor, "image caption"], positives: Bool[Tensor, "image caption"] | None, folds: int
) -> list[Pool]:
    """Consecutive blocks of equally many images; without `positives` the captions lie image by image, as many for each.

    ItmlabError: not a matrix, an image or a caption without a positive, captions or images that do not divide.
    """
    if similarity.ndim != 2:
        raise ItmlabError(f"similarity must be (image, caption), not {tuple(similarity.shape)}")
    images, captions = similarity.shape
    if positives is None:
        if images == 0 or captions == 0 or captions % images:
            raise ItmlabError(
                f"{captions} captions are not the same number for each of {images} images", remedy="pass positives="
            )
        caption = torch.arange(captions, device=similarity.device)
        image = caption // (captions // images)
    else:
        image, caption = positive_pairs(similarity, torch.as_tensor(positives).bool())
        require_positives(caption, captions, "caption")
    if isinstance(folds, bool) or not isinstance(folds, int) or folds < 1 or images % folds:
        raise ItmlabError(f"{images} images cannot be cut into folds={folds} equal blocks")
    found = []
    for first in range(0, images, size := images // folds):
        mine = (image >= first) & (image < first + size)
        columns, column = caption[mine].unique(return_inverse=True)
        found.append(Pool(slice(first, first + size), columns, image[mine] - first, column))
    return found
