"""Indices that a caller chose."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Int64
from torch import Tensor

from itmlab.errors import ItmlabError
from itmlab.metrics.ngrams import Numbers


def chosen(
    numbers: Sequence[int] | Int64[Tensor, "number"], count: int, what: str, *, least: int = 0
) -> Int64[Numbers, "number"]:
    """Indices as an array; ItmlabError unless they are whole numbers from `least` below `count`."""
    found = np.asarray(numbers)
    if found.ndim != 1 or (found.size and not np.issubdtype(found.dtype, np.integer)):
        raise ItmlabError(f"{what} numbers must be a row of whole numbers, not {found.dtype} {found.shape}")
    wrong = found[(found < least) | (found >= count)]
    if wrong.size:
        raise ItmlabError(f"there is no {what} {wrong[0]} among {count}")
    return found.astype(np.int64)
