"""What training writes: the history, the checkpoint, histograms of a step, and warnings about hopeless runs."""

import json
import math
import os
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int64
from torch import Tensor, nn

from ..data.batches import Batch
from ..data.captionset import CaptionSet
from ..errors import ItmlabError
from ..metrics import retrieval
from ..models.base import listed
from .checkpoint import CHECKPOINT_FILE, save_checkpoint
from .interruption import Interrupted
from .recipes import Recipe
from .state import BatchLoss, State

OnRecord = Callable[[dict[str, Any]], None]


class TrainingWarning(UserWarning):
    """Training goes on, but something is wrong with it."""


@dataclass
class StepLoss:
    """Loss and gradient norm of one step, on the device, and what explains a number that is not finite."""

    step: int
    loss: Float[Tensor, ""]
    norm: Float[Tensor, ""]
    images: list[Int64[Tensor, "pair"]]  # of each batch
    blamed: list[Int64[Tensor, "image"]]  # as in `BatchLoss`

    def suspects(self) -> list[int]:
        """The images with features that are not finite; all of the step where there are none."""
        blamed = torch.cat([images.cpu() for images in self.blamed])
        chosen = blamed[blamed >= 0]
        return list(dict.fromkeys((chosen if len(chosen) else torch.cat(self.images)).tolist()))


class RunWriter:
    """The run directory while a run trains: its history, its checkpoint, and losses not yet read from the device.

    Only the first process writes, but all of them take part in a checkpoint.

    Args:
        directory: the run directory.
        state: the state of the run. Lines of the history after its checkpoint, from a killed process, are dropped.
        data: the training data.
        signals: signals that were received, as `signals_collected` gives them.
        on_record: called with each line of the history.
    """

    def __init__(
        self, directory: Path, state: State, data: CaptionSet, signals: list[int], on_record: OnRecord | None = None
    ):
        self.directory, self.state, self.data, self.signals = directory, state, data, signals
        self.is_first = state.accelerator.is_main_process
        self.on_record = on_record if self.is_first else None
        self.unread: list[StepLoss] = []
        path = directory / "history.jsonl" if self.is_first else os.devnull
        self.history = open(path, "ab")  # noqa: SIM115 (closed by `train`)
        if self.is_first:
            self.history.truncate(min(state.position.history_bytes, self.history.tell()))

    def add(self, kind: str, **values: Any) -> None:
        """Write one line of the history."""
        position = self.state.position
        record = {"kind": kind, "epoch": position.epoch + 1, "step": position.step, **values}
        self.history.write((json.dumps(record, ensure_ascii=False, allow_nan=False) + "\n").encode())
        if self.on_record:
            self.on_record(record)

    def warn(self, message: str) -> None:
        """Warn of something, and write it into the history."""
        self.add("warning", message=message)
        if self.is_first:
            warnings.warn(f"step {self.state.position.step}: {message}", TrainingWarning, stacklevel=2)

    def hold(self, results: Sequence[BatchLoss], group: Sequence[Batch], norm: Float[Tensor, ""]) -> StepLoss:
        """Keep the loss of a step, which a GPU may not have computed yet, until `read_losses`."""
        loss = torch.stack([result.loss.detach().to(norm.device) for result in results]).mean()
        images, blamed = [batch.image_indices for batch in group], [result.blamed for result in results]
        self.unread.append(StepLoss(self.state.position.step + 1, loss, norm, images, blamed))
        return self.unread[-1]

    def read_losses(self) -> tuple[float, float]:
        """Add the losses held so far to the epoch's, and return the last loss and gradient norm.

        Raises:
            ItmlabError: one that is not finite, with its step and images.
        """
        position = self.state.position
        values = torch.stack([torch.stack([step.loss, step.norm]) for step in self.unread]).tolist()
        for step, (loss, norm) in zip(self.unread, values, strict=True):
            if not math.isfinite(loss + norm):
                what = f"the gradient is {norm}" if math.isfinite(loss) else f"the loss is {loss}"
                ids = listed([self.data.image_ids[image] for image in step.suspects()])
                raise ItmlabError(
                    f"{what} at step {step.step} (epoch {position.epoch + 1}), images {ids}",
                    where=str(self.directory),
                    remedy="the last checkpoint is intact; try a lower optimiser.learning_rate",
                )
            position.loss_sum += loss
            position.loss_count += 1
        self.unread.clear()
        return values[-1]

    def save(self) -> None:
        """Save a checkpoint, once all losses are known to be finite."""
        if self.unread:
            self.read_losses()
        self.history.flush()
        if self.is_first:
            os.fsync(self.history.fileno())  # before the checkpoint that counts on it
        self.state.position.history_bytes = self.history.tell()
        content = self.state.state_dict()
        if self.is_first:
            save_checkpoint(self.directory / CHECKPOINT_FILE, content)

    def stop_if_asked(self) -> None:
        """After a signal in any process, save and raise `Interrupted`. Called between steps only."""
        number, accelerator = max(self.signals, default=0), self.state.accelerator
        if accelerator.num_processes > 1:  # all of them stop after the same step
            number = int(accelerator.gather(torch.tensor([number], device=accelerator.device)).max())
        if number:
            self.save()
            step = self.state.position.step
            raise Interrupted(number, f"{self.directory}: stopped after step {step}; train again to resume")


# What the record of a step says besides its loss.

BINS = 40  # of a cosine, from -1 to 1


def step_details(results: Sequence[BatchLoss]) -> dict[str, Any]:
    """The mean of each term of the loss, the sum of each histogram, and histograms of the cosines."""
    terms = {name: float(sum(result.losses[name] for result in results)) / len(results) for name in results[0].losses}
    counts = {name: np.sum([result.counts[name] for result in results], axis=0).tolist() for name in results[0].counts}
    details = {"losses": terms, "difficulty": counts}
    if all(result.cosines is not None for result in results):
        details["cosines"] = cosine_histograms(results)
    return {name: entry for name, entry in details.items() if entry}


def cosine_histograms(results: Sequence[BatchLoss]) -> dict[str, list[int]]:
    """How many pairs of the batches, positives and negatives apart, have a cosine in each of BINS bins over [-1, 1]."""
    cosines = torch.cat([result.cosines[0].flatten() for result in results])
    positives = torch.cat([result.cosines[1].flatten() for result in results])
    bins = ((cosines + 1) * (BINS / 2)).long().clamp(0, BINS - 1)
    chosen = {"positive": positives, "negative": ~positives}
    return {name: torch.bincount(bins[mask], minlength=BINS).tolist() for name, mask in chosen.items()}


# Runs that cannot become anything.

COLLAPSED_SPREAD = 0.01  # similarities that differ by less are equal: a margin is ten times as large
COLLAPSED_RECORDS = 5  # so many records in a row; a fresh network may begin with equal similarities


def is_collapsed(results: Sequence[BatchLoss]) -> bool:
    """Whether every image of these batches is as similar to every caption as to any other.

    A cross-encoder has no cosines; there the scores of the retrieved negatives stand beside their positives'.
    """
    if all(result.cosines is not None for result in results):
        return all((result.cosines[0].max() - result.cosines[0].min()).item() < COLLAPSED_SPREAD for result in results)
    gaps = np.sum([result.counts.get("retrieved", [0]) for result in results], axis=0)
    middle = gaps[len(gaps) // 2 - 1 : len(gaps) // 2 + 1]
    return bool(gaps.sum() and middle.sum() == gaps.sum())


def first_step_warnings(recipe: Recipe, batch: Batch, model: nn.Module) -> Iterator[str]:
    """Yield what is wrong with a first step: no negatives, no gradient, no weight that changes."""
    if has_no_negative(recipe, batch):
        yield "all pairs of a batch are of one image, so that there is no negative; raise data.batch_size"
    with_gradient, moved = 0, 0
    rate = recipe.optimiser.learning_rate
    for weight in model.parameters():
        if weight.grad is not None:
            has_gradient = weight.grad != 0
            # Adam's first step moves each weight by about the learning rate
            can_move = (weight.detach() + rate) != weight.detach()
            with_gradient += has_gradient.sum()
            moved += (has_gradient & can_move).sum()
    if not with_gradient:
        yield "the loss has no gradient, so that nothing is learnt"
    elif moved < 0.5 * with_gradient:  # weights near 0, such as fresh biases, move at any rate
        yield f"optimiser.learning_rate is {rate:g}, which is too small to change the weights"


def has_no_negative(recipe: Recipe, batch: Batch) -> bool:
    """Whether the pairs of a batch are all of one image, in a recipe that takes its negatives from the batch."""
    from_batch = recipe.memory is None and recipe.towers is None
    if recipe.tags is not None:
        from_batch = recipe.tags.mining == "batch"
    return from_batch and bool((batch.image_indices == batch.image_indices[0]).all())


def is_at_chance(rsum: float, data: CaptionSet, ks: Sequence[int]) -> bool:
    """Whether one of 19 random orders of the candidates reaches a sum of recalls (a test at the level of 5 %)."""
    generator, shape = torch.Generator().manual_seed(0), (len(data), len(data.captions))
    return any(
        rsum <= retrieval(torch.rand(shape, generator=generator), data.positives, ks=ks)["rsum"] for _ in range(19)
    )
