"""Splits for data that come without, and reduced ones: by proportion, the same for the same seed."""

from collections.abc import Sequence

import torch
from jaxtyping import Int64
from torch import Tensor

from ..errors import ItmlabError

NAMES = ("train", "val", "test")


def proportional_splits(
    image_count: int, proportions: Sequence[float] = (0.8, 0.1, 0.1), seed: int = 0
) -> dict[str, Int64[Tensor, "n"]]:
    """Image indices of train, val and test, drawn by `seed` in these proportions, ascending within each.

    A split whose proportion is above 0 gets an image as long as there is one for each; a proportion of 0 leaves its
    split out.
    """
    if len(proportions) != 3 or min(proportions) < 0 or not 0 < sum(proportions) < float("inf"):
        raise ItmlabError(
            f"proportions={proportions!r} are not three shares", remedy="for example proportions=(0.8, 0.1, 0.1)"
        )
    wanted = [name for name, share in zip(NAMES, proportions, strict=True) if share > 0]
    shares = torch.tensor([share for share in proportions if share > 0], dtype=torch.float64)
    ends = (shares.cumsum(0) / shares.sum() * image_count).round().long().tolist()
    if image_count >= len(wanted):
        for place in range(len(ends)):  # at least one each, and enough left for those that follow
            ends[place] = min(max(ends[place], place + 1), image_count - (len(ends) - 1 - place))
            if place:
                ends[place] = max(ends[place], ends[place - 1] + 1)
    order = torch.randperm(image_count, generator=torch.Generator().manual_seed(seed))
    starts = [0, *ends[:-1]]
    parts = {name: order[start:end].sort().values for name, start, end in zip(wanted, starts, ends, strict=True)}
    return {name: part for name, part in parts.items() if len(part)}


def reduced_rows(count: int, share: float, seed: int = 0) -> Int64[Tensor, "n"]:
    """`share` of `count` rows (rounded, at least one), ascending; a smaller share's are among a larger one's."""
    if isinstance(share, bool) or not isinstance(share, int | float) or not 0 < share <= 1:
        raise ItmlabError(f"share={share!r} is no share", remedy="give a number above 0 and up to 1: 0.1 for a tenth")
    order = torch.randperm(count, generator=torch.Generator().manual_seed(seed))
    return order[: max(1, round(share * count))].sort().values
