"""The table that the field reports: recall in both directions and its sum, over one pool or several folds."""

from collections.abc import Sequence
from statistics import fmean
from typing import Any

import torch
from jaxtyping import Bool, Float
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
    tables = []
    for first in range(0, images, size := images // folds):
        mine = (image >= first) & (image < first + size)
        columns, column = caption[mine].unique(return_inverse=True)
        # one block is a 1/folds² of the matrix; the whole of it is never copied
        block = similarity if folds == 1 else similarity[first : first + size].index_select(1, columns)
        row = image[mine] - first
        for k in ks:
            check_k(k, min(block.shape))
        tables.append(
            (recalls(block, row, column, tuple(ks), sense=sense), recalls(block.T, column, row, tuple(ks), sense=sense))
        )
    table: dict[str, Any] = {
        name: {k: fmean(pair[side][k] for pair in tables) for k in ks} for side, name in enumerate(("i2t", "t2i"))
    }
    table["rsum"] = sum(table["i2t"].values()) + sum(table["t2i"].values())
    return table
