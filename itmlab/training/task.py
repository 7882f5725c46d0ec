"""How one kind of model learns from a batch: what the training loop asks of every task."""

from abc import ABC, abstractmethod
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any

import torch
from accelerate import Accelerator
from jaxtyping import Float, Int64
from torch import Tensor, nn

from ..data.batches import Batch
from ..data.captionset import CaptionSet
from .checkpoint import Tensors
from .recipe import Recipe
from .stopwatch import Stopwatch


@dataclass
class BatchLoss:
    """The loss of a batch, the negatives taken (for a digest), and which images are to blame if it is not finite.

    `blamed` are those whose own numbers are not finite; where there are none, nobody knows. `losses` are the terms by
    name and `counts` histograms by name, for the record.
    """

    loss: Float[Tensor, ""]
    chosen: Int64[Tensor, "anchor"] | None
    blamed: Int64[Tensor, "image"]
    losses: dict[str, float] = field(default_factory=dict)
    counts: dict[str, list[int]] = field(default_factory=dict)


class Task(ABC):
    """Makes losses of batches with all that changes meanwhile but the model itself.

    Whatever is drawn at random comes from `generator` or from torch's own numbers, which checkpoints hold; other state
    goes through `tensors` and `restore`. `clock` adds up the seconds that parts of a step take; `done` is the share of
    the run's steps that is behind.
    """

    def __init__(
        self, recipe: Recipe, data: CaptionSet, model: nn.Module, accelerator: Accelerator, generator: torch.Generator
    ):
        self.recipe, self.data, self.model = recipe, data, model
        self.accelerator, self.generator = accelerator, generator
        self.clock, self.done = Stopwatch(), 0.0

    @abstractmethod
    def __call__(self, batch: Batch, epoch: int) -> BatchLoss:
        """The loss of a batch, with its gradient's graph."""

    def start_epoch(self, epoch: int) -> None:  # noqa: B027
        """Says that an epoch begins."""

    def after_step(self) -> None:  # noqa: B027
        """Says that the optimiser has moved the weights."""

    def tensors(self) -> Tensors:
        """What a checkpoint holds of it, by part."""
        return {}

    def restore(self, tensors: Tensors, epoch: int) -> None:
        """Take up what `tensors` gave, in that epoch."""
        self.start_epoch(epoch)

    def preparation(self) -> dict[str, Any]:
        """What `PairBatches` brings of images, and how it prepares images and captions in the background."""
        return {"images": None}

    def precision(self) -> AbstractContextManager:
        """Within it, what can be computed in bfloat16 is, if the recipe says so ("auto": on a GPU)."""
        wanted, device = self.recipe.optimiser.precision, self.accelerator.device
        low = wanted == "bfloat16" or (wanted == "auto" and device.type == "cuda")
        return torch.autocast(device.type, torch.bfloat16, enabled=low)
