"""A run while it trains: everything that changes, its checkpoint and its history; and the base class of tasks.

`State` holds and saves all of it. `Task` computes the loss of batches; each kind of step has its own file.
"""

import json
import math
import os
import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import torch
from accelerate import Accelerator
from jaxtyping import Bool, Float
from torch import Tensor, nn
from torch.nn.functional import pad

from ..data.batches import Batch, PairBatches
from ..data.captionset import CaptionSet
from ..data.identity import digest_of
from ..errors import ItmlabError
from ..models.base import Changes, listed
from ..storage import atomic_file, write_bytes
from .directory import CHECKPOINT_FILE, HISTORY_FILE, REMEDY, first_model, load_checkpoint
from .recipes import Recipe
from .session import Interrupted
from .settings import OptimiserSettings

# Fields of a recipe that have no part in the warm-up.
AFTER_WARM_UP = {"name", "sampler", "loss", "synthesis", "adaptive_margin", "extra_negatives", "global_features"}


@dataclass
class Position:
    """How far a run is: the next `epoch` and `batch`, the number of steps done, and sums for the history."""

    epoch: int = 0
    batch: int = 0
    step: int = 0
    loss_sum: float = 0.0  # of the epoch's steps so far
    loss_count: int = 0
    best: float | None = None  # validation RSum of the saved weights
    history_bytes: int = 0
    idle: int = 0  # records in a row in which nothing is learnt


@dataclass
class BatchLoss:
    """The loss of a batch, and what is recorded with it.

    Attributes:
        loss: the loss, with its gradient's graph.
        losses: the terms of the loss by name; numbers on the device are read for recorded steps only.
        counts: histograms by name.
        cosines: of all images with all captions of the batch, and which of them are positives.
    """

    loss: Float[Tensor, ""]
    losses: dict[str, float | Float[Tensor, ""]] = field(default_factory=dict)
    counts: dict[str, list[int]] = field(default_factory=dict)
    cosines: tuple[Float[Tensor, "pair pair"], Bool[Tensor, "pair pair"]] | None = None


class TrainingWarning(UserWarning):
    """Training goes on, but something is wrong with it."""


class State:
    """Model, optimiser, task, batches and random numbers of a run, its checkpoint, and its history.

    Create it inside `torch.random.fork_rng`: it seeds torch's own random numbers, which dropout draws from. Only the
    first process writes, but all of them take part in a checkpoint.

    Args:
        recipe: the recipe.
        data: the training data.
        accelerator: this process and its device.
        directory: the run directory.
        signals: signals that were received, as `signals_collected` gives them.
    """

    history: BinaryIO  # open while the run trains

    def __init__(
        self, recipe: Recipe, data: CaptionSet, accelerator: Accelerator, directory: Path, signals: Sequence[int] = ()
    ):
        self.recipe, self.data, self.accelerator = recipe, data, accelerator
        self.directory, self.checkpoint, self.signals = directory, directory / CHECKPOINT_FILE, signals
        self.is_first, self.position = accelerator.is_main_process, Position()
        # of each step whose loss was not yet read from the device: loss, gradient norm and images
        self.unread: list[tuple[Tensor, Tensor, list[Tensor]]] = []
        torch.manual_seed(recipe.seed)  # the same weights in every process
        self.model = first_model(recipe, data.captions).to(accelerator.device)
        self.generator = torch.Generator().manual_seed(recipe.seed)  # the same negatives in every process
        self.task = task_of(recipe)(recipe, data, self.model, accelerator, self.generator)
        heads = self.task.heads
        self.learnt = self.model if heads is None else nn.ModuleDict({"model": self.model, "heads": heads})
        self.optimiser = build_optimiser(self.learnt, recipe.optimiser)
        self.batches = PairBatches(
            data,
            batch_size=recipe.data.batch_size,
            seed=recipe.seed,
            captions_per_image=recipe.data.captions_per_image,
            workers=max(1, min(8, (os.cpu_count() or 2) // (2 * accelerator.num_processes))),
            **self.task.preparation(),
        )
        # after the model and the task, which draw from torch's numbers as well
        torch.manual_seed(recipe.seed * 1000 + 1 + accelerator.process_index)  # different dropout in every process

    def _warm_up_file(self, folder: str | Path) -> Path:
        """Return the file in which runs that differ only after the warm-up share their state at its end."""
        recipe = {name: value for name, value in self.recipe.to_json().items() if name not in AFTER_WARM_UP}
        by_features = self.model.compares_parts and self.task.objective.by_features
        begun_with = digest_of([*self.model.state_dict().values()]).hex()
        alike = [recipe, begun_with, by_features, self.data.fingerprint]
        return Path(folder) / f"{digest_of(json.dumps(alike, sort_keys=True)).hex()}.pt"

    def save(self, path: Path | None = None) -> None:
        """Write everything that a resume needs, atomically, once all losses are known to be finite.

        Args:
            path: the file, by default the run's checkpoint.
        """
        if self.unread:
            self.read_losses()
        self.history.flush()
        if self.is_first:
            os.fsync(self.history.fileno())  # before the checkpoint that counts on it
        self.position.history_bytes = self.history.tell()
        random = {"processor": torch.get_rng_state()}
        device = self.accelerator.device
        if device.type == "cuda":
            random["device"] = torch.cuda.get_rng_state(device)
        state = {
            "position": asdict(self.position),
            "model": self.learnt.state_dict(),
            "optimiser": self.optimiser.state_dict(),
            "task": self.task.state_dict(),
            "sampler": self.generator.get_state(),
            "random": {name: self.accelerator.gather(numbers[None].to(device)) for name, numbers in random.items()},
            "history": (self.directory / HISTORY_FILE).read_text("utf-8") if path else "",
        }
        if self.is_first:
            with atomic_file(path or self.checkpoint) as file:
                torch.save(state, file)

    def restore(self, warm_ups: str | Path | None = None) -> None:
        """Continue from the checkpoint if there is one, else from the end of a warm-up that another run has shared.

        Args:
            warm_ups: the folder of shared warm-ups. A loss with weights of its own shares none.

        Raises:
            ItmlabError: it is damaged, holds anything but tensors, numbers and texts, or does not fit this run.
        """
        shares = warm_ups and self.recipe.data.warm_up_epochs and self.task.heads is None
        self.warm_up = self._warm_up_file(warm_ups) if shares else None
        path = self.checkpoint if self.checkpoint.exists() else self.warm_up
        if path is None or not path.exists():
            return
        try:
            state = load_checkpoint(path)
            if path is self.warm_up:
                begun = {name: state["task"][name] for name in ("memory", "momentum", "draws") if name in state["task"]}
                state["task"] = self.task.state_dict() | begun
                write_bytes(self.directory / HISTORY_FILE, state["history"].encode())
            self.position = Position(**state["position"])
            self.learnt.load_state_dict(state["model"])
            self.optimiser.load_state_dict(state["optimiser"])
            self.task.load_state_dict(state["task"], self.position.epoch)
            # last, because building and restoring draw random numbers
            self.generator.set_state(state["sampler"])
            index = self.accelerator.process_index
            # one row per process; cloned, as torch reads from the beginning of the storage
            random = {name: rows[index % len(rows)].clone() for name, rows in state["random"].items()}
            torch.set_rng_state(random["processor"])
            if "device" in random and self.accelerator.device.type == "cuda":
                torch.cuda.set_rng_state(random["device"], self.accelerator.device)
        except Exception as error:  # damage, and tensors that do not fit, have many types
            reason = " ".join(f"{type(error).__name__}: {error}".split())[:200]
            message = f"the checkpoint is damaged or does not fit this run: {reason}"
            raise ItmlabError(message, where=str(path), remedy=REMEDY) from None

    def save_model(self) -> None:
        """Write the weights as they are."""
        if self.is_first:
            self.model.save(self.directory)

    def open_history(self) -> BinaryIO:
        """Open the history; lines after the last checkpoint, from a killed process, are dropped."""
        path = self.directory / HISTORY_FILE
        if self.is_first:  # a new file, so that no other name of the old one (a hard link) sees the change
            write_bytes(path, path.read_bytes()[: self.position.history_bytes] if path.exists() else b"")
        self.history = open(path if self.is_first else os.devnull, "ab")  # noqa: SIM115 (the caller closes it)
        return self.history

    def add(self, kind: str, **values: Any) -> None:
        """Write one line of the history."""
        position = self.position
        record = {"kind": kind, "epoch": position.epoch + 1, "step": position.step, **values}
        self.history.write((json.dumps(record, ensure_ascii=False, allow_nan=False) + "\n").encode())

    def warn(self, message: str) -> None:
        """Warn of something, and write it into the history."""
        self.add("warning", message=message)
        if self.is_first:
            warnings.warn(f"step {self.position.step}: {message}", TrainingWarning, stacklevel=2)

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
        position = self.position
        values = torch.stack([torch.stack(step[:2]) for step in self.unread]).tolist()
        first = position.step - len(values) + 1
        for number, ((loss, norm), step) in enumerate(zip(values, self.unread, strict=True), first):
            if not math.isfinite(loss + norm):
                problem = f"the gradient is {norm}" if math.isfinite(loss) else f"the loss is {loss}"
                names = listed([self.data.image_ids[image] for image in dict.fromkeys(torch.cat(step[2]).tolist())])
                message = f"{problem} at step {number} (epoch {position.epoch + 1}); images of the step: {names}"
                remedy = "the last checkpoint is intact; try a lower optimiser.learning_rate"
                raise ItmlabError(message, where=str(self.directory), remedy=remedy)
            position.loss_sum += loss
            position.loss_count += 1
        self.unread.clear()
        return values[-1]

    def stop_if_asked(self) -> None:
        """After a signal in any process, save and raise `Interrupted`. Called between steps only."""
        number, accelerator = max(self.signals, default=0), self.accelerator
        if accelerator.num_processes > 1:  # all of them stop after the same step
            number = int(accelerator.gather(torch.tensor([number], device=accelerator.device)).max())
        if number:
            self.save()
            step = self.position.step
            raise Interrupted(number, f"{self.directory}: stopped after step {step}; train again to resume")


def build_optimiser(model: nn.Module, settings: OptimiserSettings) -> torch.optim.Optimizer:
    """Adam or AdamW in one kernel; weights decay, biases and normalisation do not."""
    kind = {"adam": torch.optim.Adam, "adamw": torch.optim.AdamW}[settings.kind]
    learnt = [weight for weight in model.parameters() if weight.requires_grad]
    decayed, others = [w for w in learnt if w.ndim > 1], [w for w in learnt if w.ndim <= 1]
    groups = [{"params": decayed, "weight_decay": settings.weight_decay}, {"params": others, "weight_decay": 0.0}]
    return kind(groups, lr=settings.learning_rate, betas=settings.betas, eps=settings.epsilon, fused=True)


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


def first_step_warnings(recipe: Recipe, result: BatchLoss, batch: Batch, gradient_norm: float) -> Iterator[str]:
    """Yield what is wrong with the first step of a loss: no negatives, no gradient, no weight that changes."""
    if result.cosines is not None and result.cosines[1].all():
        pairs = "one pair" if len(batch.image_indices) == 1 else "pairs of one image only"
        yield f"a batch has {pairs}, so that there is no negative in it; raise data.batch_size"
    if gradient_norm == 0:
        yield "the loss has no gradient, so that nothing is learnt"
    elif (rate := recipe.optimiser.learning_rate) < SMALLEST_RATE:
        yield f"optimiser.learning_rate is {rate:g}, which is too small to change the weights"


# Tasks.


class Task(ABC):
    """Computes the loss of batches and holds everything that changes with training except the model.

    Random numbers come from `generator` or from torch's own, which checkpoints hold; parts with other state are in
    `stateful`. The loop sets `step`, the number of steps that are done, and `total_steps`.
    `heads` is a further module that is trained but not saved with the model.
    """

    heads: nn.Module | None = None

    def __init__(
        self, recipe: Recipe, data: CaptionSet, model: nn.Module, accelerator: Accelerator, generator: torch.Generator
    ):
        self.recipe, self.data, self.model = recipe, data, model
        self.accelerator, self.generator = accelerator, generator
        self.step, self.total_steps = 0, 1
        self.stateful: dict[str, Any] = {}

    @abstractmethod
    def __call__(self, batch: Batch, epoch: int) -> BatchLoss:
        """Compute the loss of a batch, with its gradient's graph."""

    def start_epoch(self, epoch: int) -> None:  # noqa: B027
        """Prepare for an epoch."""

    def after_step(self) -> None:  # noqa: B027
        """Follow a step of the optimiser."""

    def state_dict(self) -> dict[str, Any]:
        """Return the task's part of a checkpoint."""
        return {name: part.state_dict() for name, part in self.stateful.items()}

    def load_state_dict(self, state: dict[str, Any], epoch: int) -> None:
        """Restore what `state_dict` returned, within `epoch`."""
        self.start_epoch(epoch)  # first, as it clears statistics
        for name, part in self.stateful.items():
            part.load_state_dict(state[name])

    def preparation(self) -> dict[str, Any]:
        """Return arguments for `PairBatches`: which images it loads, and how it prepares this process's part."""

        def prepare_images(pictures: list, changes: Changes = None) -> Any:
            part = rank_slice(len(pictures), self.accelerator)
            options = {} if changes is None else {"changes": changes[part]}
            return self.model.prepare_images(pictures[part], **options)

        def prepare_captions(captions: list[str]) -> dict[str, Tensor]:
            tokens = self.model.prepare_captions(captions[rank_slice(len(captions), self.accelerator)])
            if self.accelerator.device.type != "cuda":
                return tokens
            return {name: lengthened(values, self.model.config.maximum_tokens) for name, values in tokens.items()}

        return {
            "images": self.model.reads,
            "augmentation": self.recipe.data.augmentation,
            "prepare_images": prepare_images,
            "prepare_captions": prepare_captions,
        }

    def precision(self) -> AbstractContextManager:
        """Return a context in which bfloat16 is used where possible, if the recipe asks for it ("auto": on a GPU)."""
        wanted, device = self.recipe.optimiser.precision, self.accelerator.device
        low = wanted == "bfloat16" or (wanted == "auto" and device.type == "cuda")
        return torch.autocast(device.type, torch.bfloat16, enabled=low)


def task_of(recipe: Recipe) -> type[Task]:
    """Return the task that trains by this recipe."""
    from .pretraining import RegionTowerTask, TowerTask
    from .step_cross import CrossEncoderTask
    from .step_dual import DualEncoderTask

    if recipe.towers is not None:
        return RegionTowerTask if recipe.model.reads == "regions" else TowerTask
    return DualEncoderTask if recipe.model.encodes_apart else CrossEncoderTask


LENGTHS = 8  # on a GPU captions are padded to a multiple of this number of tokens, so that shapes repeat


def lengthened(values: Tensor, most: int) -> Tensor:
    """Pad tokens or a mask to a multiple of LENGTHS positions, but not beyond `most`.

    >>> lengthened(torch.ones(2, 5, dtype=torch.bool), 64).shape
    torch.Size([2, 8])
    """
    length = values.shape[1]
    return pad(values, (0, max(min(-length % LENGTHS, most - length), 0)))


# Several processes as one: features of the whole batch on each of them, gradients added up.
#
# Every process computes the loss of the whole batch, from its own features (with gradient) and the others' (without).
# The gradient with respect to its own features is then the single process's, and the sum over processes is the single
# process's gradient of the weights. Nothing needs rescaling, and negatives come from the whole batch.


def rank_slice(count: int, accelerator: Accelerator) -> slice:
    """Return this process's part of a batch of `count` pairs; an uneven division is an ItmlabError."""
    size, rest = divmod(count, accelerator.num_processes)
    if rest:
        message = f"a batch of {count} pairs cannot be split evenly over {accelerator.num_processes} processes"
        remedy = "choose data.batch_size as a multiple of the number of processes, not above the number of images"
        raise ItmlabError(message, remedy=remedy)
    return slice(accelerator.process_index * size, (accelerator.process_index + 1) * size)


def all_gather(features: Float[Tensor, "part dimension"], accelerator: Accelerator) -> Float[Tensor, "n dimension"]:
    """Return all processes' features in the order of the batch; the gradient flows into this process's own."""
    if accelerator.num_processes == 1:
        return features
    everyone = accelerator.gather(features.detach().contiguous())
    part = rank_slice(len(everyone), accelerator)
    return torch.cat([everyone[: part.start], features, everyone[part.stop :]])


def whole_mean(mean: Float[Tensor, ""], weight: float | Tensor, accelerator: Accelerator) -> Float[Tensor, ""]:
    """Return the mean over the whole batch, from this process's `mean` of a total `weight`.

    The gradient flows into this process's part. This serves what is too large to gather, such as words.
    """
    if accelerator.num_processes == 1:
        return mean
    total = (mean * weight).detach()
    totals = accelerator.reduce(torch.stack([total, total * 0 + weight]), reduction="sum")
    whole_weight = totals[1].clamp(min=torch.finfo(total.dtype).tiny)
    share = mean * weight / whole_weight
    return share + (totals[0] / whole_weight - share.detach())


def add_up_gradients(model: nn.Module, accelerator: Accelerator) -> None:
    """Give every process the sum of all processes' gradients, in one message; where none has one there is none."""
    if accelerator.num_processes == 1:
        return
    weights = list(model.parameters())
    has_gradient = torch.tensor([weight.grad is not None for weight in weights], device=accelerator.device).float()
    used = accelerator.reduce(has_gradient, reduction="sum").tolist()
    weights = [weight for weight, count in zip(weights, used, strict=True) if count]
    for weight in weights:
        weight.grad = torch.zeros_like(weight) if weight.grad is None else weight.grad
    flat = accelerator.reduce(torch.cat([weight.grad.flatten() for weight in weights]), reduction="sum")
    for weight, total in zip(weights, flat.split([weight.numel() for weight in weights]), strict=True):
        weight.grad.copy_(total.view_as(weight))
