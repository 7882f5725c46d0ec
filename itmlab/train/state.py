"""Everything that changes during training, as one dictionary for a checkpoint; and the base class of tasks."""

from abc import ABC, abstractmethod
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch
from accelerate import Accelerator
from jaxtyping import Bool, Float
from torch import Tensor, nn
from torch.nn.functional import pad

from ..data.batches import Batch
from ..data.captionset import CaptionSet
from ..errors import ItmlabError
from ..models.base import Changes
from ..storage import atomic_file
from .directory import REMEDY, first_model, load_checkpoint
from .recipes import Recipe
from .settings import OptimiserSettings


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


class State:
    """Model, optimiser, task and random numbers of a run, made from recipe, seed and data.

    Create it inside `torch.random.fork_rng`: it seeds torch's own random numbers, which dropout draws from.
    """

    def __init__(self, recipe: Recipe, data: CaptionSet, accelerator: Accelerator, task: "type[Task]"):
        self.recipe, self.accelerator = recipe, accelerator
        self.position = Position()
        torch.manual_seed(recipe.seed)  # the same weights in every process
        self.model = first_model(recipe, data.captions).to(accelerator.device)
        self.generator = torch.Generator().manual_seed(recipe.seed)  # the same negatives in every process
        self.task = task(recipe, data, self.model, accelerator, self.generator)
        heads = self.task.heads
        self.learnt = self.model if heads is None else nn.ModuleDict({"model": self.model, "heads": heads})
        self.optimiser = build_optimiser(self.learnt, recipe.optimiser)
        # after the model and the task, which draw from torch's numbers as well
        torch.manual_seed(recipe.seed * 1000 + 1 + accelerator.process_index)  # different dropout in every process

    def save(self, path: Path) -> None:
        """Write everything that a resume needs, atomically; all processes take part, the first one writes."""
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
        }
        if self.accelerator.is_main_process:
            with atomic_file(path) as file:
                torch.save(state, file)

    def restore(self, path: Path) -> None:
        """Continue from the checkpoint at `path`, if there is one.

        Raises:
            ItmlabError: it is damaged, holds anything but tensors, numbers and texts, or does not fit this run.
        """
        if not path.exists():
            return
        try:
            state = load_checkpoint(path)
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

    def save_model(self, directory: Path) -> None:
        """Write the weights as they are; only the first process does."""
        if self.accelerator.is_main_process:
            self.model.save(directory)


def build_optimiser(model: nn.Module, settings: OptimiserSettings) -> torch.optim.Optimizer:
    """Adam or AdamW in one kernel; weights decay, biases and normalisation do not."""
    kind = {"adam": torch.optim.Adam, "adamw": torch.optim.AdamW}[settings.kind]
    learnt = [weight for weight in model.parameters() if weight.requires_grad]
    decayed, others = [w for w in learnt if w.ndim > 1], [w for w in learnt if w.ndim <= 1]
    groups = [{"params": decayed, "weight_decay": settings.weight_decay}, {"params": others, "weight_decay": 0.0}]
    return kind(groups, lr=settings.learning_rate, betas=settings.betas, eps=settings.epsilon, fused=True)


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


class Task(ABC):
    """Computes the loss of batches and holds everything that changes with training except the model.

    Random numbers come from `generator` or from torch's own, which checkpoints hold; other state goes through
    `state_dict` and `load_state_dict`. The loop sets `step`, the number of steps that are done, and `total_steps`.
    `heads` is a further module that is trained but not saved with the model.
    """

    heads: nn.Module | None = None

    def __init__(
        self, recipe: Recipe, data: CaptionSet, model: nn.Module, accelerator: Accelerator, generator: torch.Generator
    ):
        self.recipe, self.data, self.model = recipe, data, model
        self.accelerator, self.generator = accelerator, generator
        self.step, self.total_steps = 0, 1

    @abstractmethod
    def __call__(self, batch: Batch, epoch: int) -> BatchLoss:
        """Compute the loss of a batch, with its gradient's graph."""

    def start_epoch(self, epoch: int) -> None:  # noqa: B027
        """Prepare for an epoch."""

    def after_step(self) -> None:  # noqa: B027
        """Follow a step of the optimiser."""

    def state_dict(self) -> dict[str, Any]:
        """Return the task's part of a checkpoint."""
        return {}

    def load_state_dict(self, state: dict[str, Any], epoch: int) -> None:
        """Restore what `state_dict` returned, within `epoch`."""
        self.start_epoch(epoch)

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
        raise ItmlabError(
            f"a batch of {count} pairs cannot be split evenly over {accelerator.num_processes} processes",
            remedy="choose data.batch_size as a multiple of the number of processes, not above the number of images",
        )
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
