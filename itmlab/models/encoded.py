"""Encoded images and captions, and the cosine similarity of their pooled features (FNE, Sec. 3.1; METHODS 1)."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple, TypeVar

import torch
from jaxtyping import Bool, Float, Int64
from torch import Tensor, nn
from torch.nn import functional

Parts = Float[Tensor, "n part dimension"]
Mask = Bool[Tensor, "n part"]
Features = TypeVar("Features", bound=tuple)


class Encoded(NamedTuple):
    """Features of n images or captions in the common space.

    Attributes:
        pooled: one feature of unit length per item.
        local: patch, region or token features, not normalised; None in a model without parts.
        mask: true at patches, regions and word pieces, false at padding and special tokens.
        whole: SGRAF's global feature of an item, computed once for many comparisons.
    """

    pooled: Float[Tensor, "n dimension"]
    local: Parts | None = None
    mask: Mask | None = None
    whole: Float[Tensor, "n dimension"] | None = None

    def take(self, rows: Int64[Tensor, "row"]) -> "Encoded":
        """Return the features of these items."""
        return Encoded(*(None if field is None else field[rows] for field in self))


def joined(parts: Sequence[Features]) -> Features:
    """Join several batches of `Encoded` or `EmbeddedRegions` of one modality, padded to the most parts.

    >>> batches = [Encoded(torch.ones(1, 4), torch.ones(1, n, 4), torch.ones(1, n, dtype=torch.bool)) for n in (1, 2)]
    >>> joined(batches).mask.tolist()
    [[True, False], [True, True]]
    """
    fields = (None if field[0] is None else right_padded(field) for field in zip(*parts, strict=True))
    return type(parts[0])(*fields)


def is_full(mask: Tensor) -> bool:
    """Return whether a mask is known to be true everywhere; False on a GPU, where asking would wait for the device."""
    return mask.device.type == "cpu" and bool(mask.all())


def right_padded(parts: Sequence[Tensor]) -> Tensor:
    """Concatenate the rows of all parts, padded by zeros on the right to the widest part."""
    width = max(part.shape[1] for part in parts)
    padding = [(0, 0) * (part.dim() - 2) + (0, width - part.shape[1]) for part in parts]
    return torch.cat([functional.pad(part, room) for part, room in zip(parts, padding, strict=True)])


def masked_mean(local: Parts, mask: Mask, otherwise: Mask) -> Float[Tensor, "n dimension"]:
    """Return v = 1/m Σ_i v_i over the parts where `mask` is true (FNE Eq. 1).

    Args:
        local: features of the parts.
        mask: the parts to average.
        otherwise: the mask of a row without any: a caption without a word ("") has the feature of its frame.

    >>> real = torch.tensor([[True, True, False]])
    >>> masked_mean(torch.tensor([[[1.0], [3.0], [9.0]]]), real, otherwise=real)
    tensor([[2.]])
    """
    chosen = torch.where(mask.any(dim=1, keepdim=True), mask, otherwise).unsqueeze(-1)
    # Filled, not multiplied: whatever stands in the padding, even NaN, stays out.
    return local.masked_fill(~chosen, 0.0).sum(dim=1) / chosen.sum(dim=1)


def unit(features: Float[Tensor, "n dimension"]) -> Float[Tensor, "n dimension"]:
    """Scale features to length one, in single precision whatever the input's precision is.

    >>> unit(torch.tensor([[3.0, 4.0]], dtype=torch.float16))
    tensor([[0.6000, 0.8000]])
    """
    return functional.normalize(features.float(), dim=-1)


def cosine_similarity(
    images: Float[Tensor, "image dimension"], captions: Float[Tensor, "caption dimension"], *, chunk: int = 1024
) -> Float[Tensor, "image caption"]:
    """Return s(v, w) = cos(v, w) of unit features (FNE Eq. 2).

    Args:
        images: unit features.
        captions: unit features of as many dimensions.
        chunk: how many images are compared at a time; the result does not depend on it.

    >>> cosine_similarity(torch.eye(2), torch.tensor([[0.6, 0.8]]))
    tensor([[0.6000],
            [0.8000]])
    """
    # A matrix product rounds differently for every shape; summing in double precision before rounding to single makes
    # the result the same for every chunk and for every set of companions.
    columns = captions.double().T
    scores = images.new_empty(len(images), len(captions), dtype=torch.float32)
    for start in range(0, len(images), chunk):
        scores[start : start + chunk] = images[start : start + chunk].double() @ columns
    return scores


@contextmanager
def evaluating(module: nn.Module) -> Iterator[None]:
    """Use evaluation mode without gradients inside the block; afterwards each part has its earlier mode."""
    training = [part for part in module.modules() if part.training]
    if training:  # to change the mode of every part takes longer than one sentence does
        module.eval()
    try:
        with torch.no_grad():
            yield
    finally:
        for part in training:
            part.training = True
