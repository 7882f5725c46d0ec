"""What models read of a data set, and where."""

from collections.abc import Iterator, Sequence
from typing import Any, Literal

import torch
from torch import nn

from ..data.batches import shown
from ..data.captionset import CaptionSet

AT_ONCE = 64  # pictures or captions through an encoder


def chunks(items: Any) -> Iterator[list]:
    """`items` in lists of at most AT_ONCE, taken when they are needed."""
    for start in range(0, len(items), AT_ONCE):
        yield [items[i] for i in range(start, min(start + AT_ONCE, len(items)))]


def reads(model: nn.Module) -> Literal["pictures", "regions"]:
    """What a model looks at of an image."""
    found = getattr(model, "reads", None) or getattr(getattr(model, "config", None), "visual", "pictures")
    return "regions" if found == "regions" else "pictures"


def looked_at(model: nn.Module, data: CaptionSet) -> Sequence[Any]:
    """The pictures of `data`, or its regions where the model reads those; data without are an ItmlabError."""
    return shown(data, reads(model))


def compares_parts(model: nn.Module) -> bool:
    """Whether a model that encodes images and captions apart scores them by their parts, not by one feature each."""
    return getattr(model, "matcher", None) is not None


def on_device(model: nn.Module, prepared: Any) -> Any:
    """A tensor, or a dictionary of tensors, where the model is."""
    device = next(iter(model.parameters()), torch.empty(0)).device
    if isinstance(prepared, dict):
        return {name: value.to(device) for name, value in prepared.items()}
    return prepared.to(device)
