"""What training writes: the history, the checkpoint, histograms of a step, and warnings about hopeless runs."""

import json
import math
import os
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from ..data.batches import Batch
from ..data.captionset import CaptionSet
from ..errors import ItmlabError
from ..models.base import listed
from ..storage import write_bytes
from .directory import CHECKPOINT_FILE, HISTORY_FILE
from .recipes import Recipe
from .session import Interrupted
from .state import BatchLoss, State


class TrainingWarning(UserWarning):
    """Training goes on, but something is wrong with it."""


class RunWriter:
    """The run directory while a run trains: its history, its checkpoint, and losses not yet read from the device.

    Only the first process writes, but all of them take part in a checkpoint.

    Args:
        directory: the run directory.
        state: the state of the run. Lines of the history after its checkpoint, from a killed process, are dropped.
        data: the training data.
        signals: signals that were received, as `signals_collected` gives them.
    """

    def __init__(self, directory: Path, state: State, data: CaptionSet, signals: list[int]):
        self.directory, self.state, self.data, self.signals = directory, state, data, signals
        self.is_first = state.accelerator.is_main_process
        # of each step: loss, gradient norm and images
        self.unread: list[tuple[Tensor, Tensor, list[Tensor]]] = []
        path = directory / HISTORY_FILE
        if self.is_first:  # a new file, so that no other name of the old one (a hard link) sees the change
            write_bytes(path, path.read_bytes()[: state.position.history_bytes] if path.exists() else b"")
        self.history = open(path if self.is_first else os.devnull, "ab")  # noqa: SIM115 (closed by `train`)

    def add(self, kind: str, **values: Any) -> None:
        """Write one line of the history."""
        position = self.state.position
        record = {"kind": kind, "epoch": position.epoch + 1, "step": position.step, **values}
        self.history.write((json.dumps(record, ensure_ascii=False, allow_nan=False) + "\n").encode())

    def warn(self, message: str) -> None:
        """Warn of something, and write it into the history."""
        self.add("warning", message=message)
        if self.is_first:
            warnings.warn(f"step {self.state.position.step}: {message}", TrainingWarning, stacklevel=2)

    def hold(self, results: Sequence[BatchLoss], group: Sequence[Batch], norm: Float[Tensor, ""]) -> Bool[Tensor, ""]:
        """Keep the loss of a step, which a GPU may not have computed yet; return whether it is finite."""
        loss = torch.stack([result.loss.detach().to(norm.device) for result in results]).mean()
        self.unread.append((loss, norm, [batch.image_indices for batch in group]))
        return (loss + norm).isfinite()

    def read_losses(self) -> tuple[float, float]:
        """Add the losses of the steps since the last call to the epoch's; return the last loss and gradient norm.

        Raises:
            ItmlabError: one that is not finite, with its step and images.
        """
        position = self.state.position
        values = torch.stack([torch.stack(step[:2]) for step in self.unread]).tolist()
        first = position.step - len(values) + 1
        for number, ((loss, norm), step) in enumerate(zip(values, self.unread, strict=True), first):
            if not math.isfinite(loss + norm):
                problem = f"the gradient is {norm}" if math.isfinite(loss) else f"the loss is {loss}"
                images = dict.fromkeys(torch.cat(step[2]).tolist())
                raise ItmlabError(
                    f"{problem} at step {number} (epoch {position.epoch + 1}); images of the step: "
                    + listed([self.data.image_ids[image] for image in images]),
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
        self.state.save(self.directory / CHECKPOINT_FILE)

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
    """Return the mean of each term of the loss, the sum of each histogram, and histograms of the cosines."""
    terms = {name: float(sum(result.losses[name] for result in results)) / len(results) for name in results[0].losses}
    counts = {name: np.sum([result.counts[name] for result in results], axis=0).tolist() for name in results[0].counts}
    cosines = None if results[0].cosines is None else cosine_histograms(results)
    details = {"losses": terms, "difficulty": counts, "cosines": cosines}
    return {name: entry for name, entry in details.items() if entry}


def cosine_histograms(results: Sequence[BatchLoss]) -> dict[str, list[int]]:
    """Count the pairs with a cosine in each of BINS bins over [-1, 1], of positives and of negatives."""
    cosines = torch.cat([result.cosines[0].flatten() for result in results])
    positives = torch.cat([result.cosines[1].flatten() for result in results])
    bins = ((cosines + 1) * (BINS / 2)).long().clamp(0, BINS - 1)
    chosen = {"positive": positives, "negative": ~positives}
    return {name: torch.bincount(bins[mask], minlength=BINS).tolist() for name, mask in chosen.items()}


# Runs that learn nothing.

SMALLEST_RATE = 1e-9  # Adam moves a weight by about the rate, which single precision adds to weights of up to 0.01
COLLAPSED_SPREAD = 0.01  # similarities that differ by less are equal: a margin is ten times as large
IDLE_RECORDS = 5  # records in a row; a fresh network may begin with equal similarities


def reason_idle(results: Sequence[BatchLoss], gradient_norm: float) -> str | None:
    """Return why nothing is learnt from a step: all similarities are equal, or the loss has no gradient.

    A cross-encoder has no cosines; there the scores of retrieved negatives are compared with their positives'.
    """
    if results[0].cosines is not None:
        spreads = [result.cosines[0].max() - result.cosines[0].min() for result in results]
        equal = max(spreads) < COLLAPSED_SPREAD
    else:
        gaps = np.sum([result.counts.get("retrieved", [0]) for result in results], axis=0)
        middle = gaps[len(gaps) // 2 - 1 : len(gaps) // 2 + 1]
        equal = gaps.sum() and middle.sum() == gaps.sum()
    if equal:
        return "all similarities are equal"
    return "the loss has no gradient" if gradient_norm == 0 else None


def first_step_warnings(recipe: Recipe, result: BatchLoss, batch: Batch, model: nn.Module) -> Iterator[str]:
    """Yield what is wrong with the first step of a loss: no negatives, no gradient, no weight that changes."""
    if result.cosines is not None and result.cosines[1].all():
        pairs = "a batch has one pair" if len(batch.image_indices) == 1 else "all pairs of a batch are of one image"
        yield f"{pairs}, so that there is no negative in the batch; raise data.batch_size"
    rate = recipe.optimiser.learning_rate
    if not any(weight.grad.any() for weight in model.parameters() if weight.grad is not None):
        yield "the loss has no gradient, so that nothing is learnt"
    elif rate < SMALLEST_RATE:
        yield f"optimiser.learning_rate is {rate:g}, which is too small to change the weights"
