"""What models read of a data set, and where."""

from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch import nn

from ..data.captionset import CaptionSet
from ..errors import ItmlabError

AT_ONCE = 64  # pictures or captions through an encoder


def chunks(items: Any) -> Iterator[list]:
    """`items` in lists of at most AT_ONCE, taken when they are needed."""
    for start in range(0, len(items), AT_ONCE):
        yield [items[i] for i in range(start, min(start + AT_ONCE, len(items)))]


def looked_at(model: nn.Module, data: CaptionSet) -> Sequence[Any]:
    """The pictures of `data`, or its regions where the model reads those; data without are an ItmlabError."""
    reads = getattr(model, "reads", None) or getattr(getattr(model, "config", None), "visual", "pictures")
    if reads != "regions":
        return data.images
    if data.regions is None:
        raise ItmlabError(
            "this model looks at regions and the data have none", where=data.name, remedy="load them with regions"
        )
    return data.regions


def on_device(model: nn.Module, prepared: Any) -> Any:
    """A tensor, or a dictionary of tensors, where the model is."""
    device = next(iter(model.parameters()), torch.empty(0)).device
    if isinstance(prepared, dict):
        return {name: value.to(device) for name, value in prepared.items()}
    return prepared.to(device)
