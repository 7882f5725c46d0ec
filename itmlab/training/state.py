"""Everything that changes while a run trains, as named tensors and a position, so that it can be left and taken up."""

from dataclasses import asdict, dataclass
from typing import Any

import torch
from accelerate import Accelerator
from torch import Tensor, nn

from ..data.captionset import CaptionSet
from .beginning import first_model
from .checkpoint import Tensors
from .kinds import kind_of
from .recipe import OptimiserSettings, Recipe


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

    def next_epoch(self) -> None:
        self.epoch, self.batch, self.loss_sum, self.loss_count = self.epoch + 1, 0, 0.0, 0


class State:
    """Model, optimiser, task and random numbers of a run, made from recipe, seed and data.

    Call it inside `torch.random.fork_rng`: it seeds torch's own random numbers, which dropout draws from.
    """

    def __init__(self, recipe: Recipe, data: CaptionSet, accelerator: Accelerator):
        self.accelerator = accelerator
        self.position = Position()
        torch.manual_seed(recipe.seed)  # the same weights in every process
        self.model = first_model(recipe, data.captions).to(accelerator.device)
        self.optimiser = build_optimiser(self.model, recipe.optimiser)
        self.generator = torch.Generator().manual_seed(recipe.seed)  # the same negatives in every process
        self.task = kind_of(recipe.model).new_task(recipe, data, self.model, accelerator, self.generator)
        torch.manual_seed(recipe.seed * 1000 + 1 + accelerator.process_index)  # dropout of its own in every process

    def tensors(self) -> Tensors:
        """All of it by part; every process takes part, as each has random numbers of its own."""
        return {
            "model": self.model.state_dict(),
            "optimiser": optimiser_tensors(self.model, self.optimiser),
            "random": self._random_numbers(),
            **self.task.tensors(),
        }

    def restore(self, tensors: Tensors, position: dict[str, Any]) -> None:
        """Take up what `tensors` and `position` left."""
        self.position = Position(**position)
        self.model.load_state_dict(tensors["model"])
        load_optimiser(self.model, self.optimiser, tensors["optimiser"])
        self.task.restore(tensors, self.position.epoch)
        random, process = tensors["random"], self.accelerator.process_index
        self.generator.set_state(random["sampler"])
        torch.set_rng_state(random["processor"][process % len(random["processor"])])
        if "device" in random and self.accelerator.device.type == "cuda":
            torch.cuda.set_rng_state(random["device"][process % len(random["device"])], self.accelerator.device)

    def position_values(self) -> dict[str, Any]:
        return asdict(self.position)

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
    decayed = [weight for weight in model.parameters() if weight.requires_grad and weight.ndim > 1]
    others = [weight for weight in model.parameters() if weight.requires_grad and weight.ndim <= 1]
    groups = [{"params": decayed, "weight_decay": settings.weight_decay}, {"params": others, "weight_decay": 0.0}]
    return kind(groups, lr=settings.learning_rate, betas=settings.betas)


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
        # Adam counts its steps on the processor, wherever the weights are
        optimiser.state[weights[name]][kind] = value if kind == "step" else value.to(weights[name].device)
