"""Everything that changes while a run trains, as named tensors and a position, so that it can be left and taken up."""

from abc import ABC, abstractmethod
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import torch
from accelerate import Accelerator
from jaxtyping import Bool, Float, Int64
from torch import Tensor, nn

from ..data.batches import Batch
from ..data.captionset import CaptionSet
from ..errors import ItmlabError, named
from ..fields import FROM_0, check, check_ranges, from_plain
from ..recipes.recipe import Recipe
from ..recipes.settings import OptimiserSettings
from ..runs.checkpoint import Tensors
from ..runs.directory import first_model
from .progress import Stopwatch


@dataclass
class Position:
    """Where a run stands: what is next (`epoch`, `batch`), how many steps are done, and what its record needs."""

    epoch: int = 0
    batch: int = 0
    step: int = 0
    loss_sum: float = 0.0  # of the epoch's steps so far
    loss_count: int = 0
    choices: str = ""  # digest of every negative taken so far
    best: float | None = None  # validation RSum of the weights kept
    history_bytes: int = 0
    finished: bool = False

    @classmethod
    def read(cls, plain: dict[str, Any], where: Path) -> Self:
        """The position that the file `where` holds; one that is nowhere is an ItmlabError."""
        with named(where):
            position = from_plain(cls, plain, "position")
            counts = ("epoch", "batch", "step", "loss_count", "history_bytes")
            check_ranges(position, "position", **dict.fromkeys(counts, FROM_0))
            check(position.loss_count > 0 or not position.batch, "position.loss_count", 0, "1 or more within an epoch")
        return position

    def next_epoch(self) -> None:
        """Stand before the first batch of the epoch that follows."""
        self.epoch, self.batch, self.loss_sum, self.loss_count = self.epoch + 1, 0, 0.0, 0


class State:
    """Model, optimiser, task and random numbers of a run, made from recipe, seed and data.

    Call it inside `torch.random.fork_rng`: it seeds torch's own random numbers, which dropout draws from.
    """

    def __init__(self, recipe: Recipe, data: CaptionSet, accelerator: Accelerator, task: "type[Task]"):
        self.accelerator = accelerator
        self.position = Position()
        torch.manual_seed(recipe.seed)  # the same weights in every process
        self.model = first_model(recipe, data.captions).to(accelerator.device)
        self.generator = torch.Generator().manual_seed(recipe.seed)  # the same negatives in every process
        self.task = task(recipe, data, self.model, accelerator, self.generator)
        heads = self.task.heads
        self.learnt = self.model if heads is None else nn.ModuleDict({"model": self.model, "heads": heads})
        self.optimiser = build_optimiser(self.learnt, recipe.optimiser)
        # after the model and the task, whose making takes from torch's numbers as well
        torch.manual_seed(recipe.seed * 1000 + 1 + accelerator.process_index)  # dropout of its own in every process

    def tensors(self) -> Tensors:
        """All of it by part; every process takes part, as each has random numbers of its own."""
        return {
            "model": self.model.state_dict(),
            "optimiser": optimiser_tensors(self.learnt, self.optimiser),
            "random": self._random_numbers(),
            **self.task.tensors(),
        }

    def restore(self, tensors: Tensors, position: Position) -> None:
        """Take up what `tensors` and `position` left."""
        self.position = position
        self.model.load_state_dict(tensors["model"])
        load_optimiser(self.learnt, self.optimiser, tensors["optimiser"])
        self.task.restore(tensors, self.position.epoch)
        # last, as whatever is built or restored before may have drawn
        random, process = tensors["random"], self.accelerator.process_index
        self.generator.set_state(random["sampler"])
        # cloned, as torch reads a row from the beginning of what it is a row of
        torch.set_rng_state(random["processor"][process % len(random["processor"])].clone())
        if "device" in random and self.accelerator.device.type == "cuda":
            state = random["device"][process % len(random["device"])].clone()
            torch.cuda.set_rng_state(state, self.accelerator.device)

    def _random_numbers(self) -> dict[str, Tensor]:
        accelerator = self.accelerator
        states = {"processor": torch.get_rng_state()}
        if accelerator.device.type == "cuda":
            states["device"] = torch.cuda.get_rng_state(accelerator.device)
        gathered = {name: accelerator.gather(state[None].to(accelerator.device)) for name, state in states.items()}
        return {**gathered, "sampler": self.generator.get_state()}


def build_optimiser(model: nn.Module, settings: OptimiserSettings) -> torch.optim.Optimizer:
    """Adam or AdamW; weights decay, biases and normalisation do not."""
    kind = {"adam": torch.optim.Adam, "adamw": torch.optim.AdamW}[settings.kind]
    learnt = [weight for weight in model.parameters() if weight.requires_grad]
    decayed, others = [w for w in learnt if w.ndim > 1], [w for w in learnt if w.ndim <= 1]
    groups = [{"params": decayed, "weight_decay": settings.weight_decay}, {"params": others, "weight_decay": 0.0}]
    return kind(groups, lr=settings.learning_rate, betas=settings.betas, eps=settings.epsilon)


def optimiser_tensors(model: nn.Module, optimiser: torch.optim.Optimizer) -> dict[str, Tensor]:
    """The optimiser's state by weight name and kind, as in "image.proj.weight/exp_avg"."""
    names = {weight: name for name, weight in model.named_parameters()}
    return {f"{names[w]}/{kind}": value for w, kept in optimiser.state.items() for kind, value in kept.items()}


def load_optimiser(model: nn.Module, optimiser: torch.optim.Optimizer, tensors: dict[str, Tensor]) -> None:
    """The inverse of `optimiser_tensors`."""
    weights = dict(model.named_parameters())
    optimiser.state.clear()
    for key, value in tensors.items():
        name, _, kind = key.rpartition("/")
        lacking = [f"{name}/{one}" for one in ("step", "exp_avg", "exp_avg_sq") if f"{name}/{one}" not in tensors]
        if lacking:
            raise ValueError(f"optimiser lacks {lacking[0]}")
        if value.shape != (() if kind == "step" else weights[name].shape) or not value.is_floating_point():
            raise ValueError(f"optimiser's {key} is {value.dtype} {tuple(value.shape)}")
        # Adam counts its steps on the processor, wherever the weights are
        optimiser.state[weights[name]][kind] = value if kind == "step" else value.to(weights[name].device)


@dataclass
class BatchLoss:
    """The loss of a batch, the negatives taken (for a digest), and which images are to blame if it is not finite.

    `blamed` are those whose own numbers are not finite; where there are none, nobody knows. `losses` are the terms by
    name and `counts` histograms by name, for the record; `cosines` are the pairs' and whether they are positives.
    """

    loss: Float[Tensor, ""]
    chosen: Int64[Tensor, "anchor"] | None
    blamed: Int64[Tensor, "image"]
    losses: dict[str, float] = field(default_factory=dict)
    counts: dict[str, list[int]] = field(default_factory=dict)
    cosines: tuple[Float[Tensor, "pair pair"], Bool[Tensor, "pair pair"]] | None = None


class Task(ABC):
    """Makes losses of batches with all that changes meanwhile but the model itself.

    Whatever is drawn at random comes from `generator` or from torch's own numbers, which checkpoints hold; other state
    goes through `tensors` and `restore`. `clock` adds up the seconds that parts of a step take; `done` is the share of
    the run's steps that is behind. `heads` are what else is learnt and not kept with the model.
    """

    heads: nn.Module | None = None

    def __init__(
        self, recipe: Recipe, data: CaptionSet, model: nn.Module, accelerator: Accelerator, generator: torch.Generator
    ):
        self.recipe, self.data, self.model = recipe, data, model
        self.accelerator, self.generator = accelerator, generator
        self.clock, self.done = Stopwatch(), 0.0

    @abstractmethod
    def __call__(self, batch: Batch, epoch: int) -> BatchLoss:
        """The loss of a batch, with its gradient's graph."""

    def prepare(self, *, shown: bool) -> None:  # noqa: B027
        """Do what is done once before the first step, and show how far it is."""

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


# Several processes as one: features of the whole batch on each of them, gradients added up.
#
# Every process computes the loss of the whole batch, from its own features (with gradient) and the others' (without).
# The gradient with respect to its own features is then the single process's, and the sum over processes is the single
# process's gradient of the weights. Nothing needs rescaling, and negatives come from the whole batch.


def rank_slice(count: int, accelerator: Accelerator) -> slice:
    """This process's part of a batch of `count` pairs; a count that does not divide evenly is an ItmlabError."""
    each, rest = divmod(count, accelerator.num_processes)
    if rest:
        raise ItmlabError(
            f"a batch of {count} pairs cannot be split evenly over {accelerator.num_processes} processes",
            remedy="choose data.batch_size as a multiple of the number of processes, not above the number of images",
        )
    return slice(accelerator.process_index * each, (accelerator.process_index + 1) * each)


def all_gather(features: Float[Tensor, "part dimension"], accelerator: Accelerator) -> Float[Tensor, "n dimension"]:
    """All processes' features in the order of the batch; the gradient flows into this process's own."""
    if accelerator.num_processes == 1:
        return features
    everyone = accelerator.gather(features.detach().contiguous())
    own = rank_slice(len(everyone), accelerator)
    return torch.cat([everyone[: own.start], features, everyone[own.stop :]])


def whole_mean(mean: Float[Tensor, ""], weight: float | Tensor, accelerator: Accelerator) -> Float[Tensor, ""]:
    """The mean over the whole batch of which `mean` is this process's, of that weight; a gradient flows into its own.

    For what is too large to gather, such as words: elsewhere `all_gather` what the mean is of.
    """
    if accelerator.num_processes == 1:
        return mean
    own = mean * weight
    total = accelerator.reduce(torch.stack([own.detach(), own.detach() * 0 + weight]), reduction="sum")
    share = own / total[1].clamp(min=torch.finfo(own.dtype).tiny)
    return share + (total[0] / total[1].clamp(min=torch.finfo(own.dtype).tiny) - share.detach())


def add_up_gradients(model: nn.Module, accelerator: Accelerator) -> None:
    """Give every process the sum of all processes' gradients, in one message; where none has one there is none."""
    if accelerator.num_processes == 1:
        return
    weights = list(model.parameters())
    has = torch.tensor([weight.grad is not None for weight in weights], device=accelerator.device).float()
    used = accelerator.reduce(has, reduction="sum").bool().tolist()
    weights = [weight for weight, one in zip(weights, used, strict=True) if one]
    for weight in weights:
        weight.grad = torch.zeros_like(weight) if weight.grad is None else weight.grad
    flat = accelerator.reduce(torch.cat([weight.grad.flatten() for weight in weights]), reduction="sum")
    for weight, total in zip(weights, flat.split([weight.numel() for weight in weights]), strict=True):
        weight.grad.copy_(total.view_as(weight))
