"""A recipe: everything that decides what a training run does, as frozen dataclasses, JSON in and out."""

import inspect
import math
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from .. import samplers
from ..errors import ItmlabError
from ..models import TwoTowerConfig
from ..storage import read_json, write_json
from .fields import check, did_you_mean, from_plain, replaced, to_plain, typed

SAMPLERS = {
    "random": samplers.Random,
    "hardest": samplers.Hardest,
    "semi_hard": samplers.SemiHard,
    "softest": samplers.Softest,
    "retrieved": samplers.Retrieved,
    "false_negative_eliminating": samplers.FalseNegativeEliminating,
}


@dataclass(frozen=True)
class SamplerSettings:
    """Which negative is taken: a sampler's name and what its constructor is given."""

    kind: Literal["random", "hardest", "semi_hard", "softest", "retrieved", "false_negative_eliminating"] = "hardest"
    options: dict[str, Any] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        known = inspect.signature(SAMPLERS[self.kind]).parameters
        for name, value in self.options.items():
            if name not in known:
                remedy = did_you_mean(name, known) if known else f"{self.kind} has no options"
                raise ItmlabError(f"unknown field sampler.{name}", where="recipe", remedy=remedy)
            typed(known[name].annotation, value, f"sampler.{name}")
        try:
            self.build()  # its own checks of the ranges
        except ItmlabError as error:
            raise ItmlabError(f"sampler: {error}", where="recipe") from None

    def build(self, *, margin: float = 0.2) -> samplers.Sampler:
        """A new sampler with these options; one that knows a margin takes the loss's unless it was given its own."""
        knows = "margin" in inspect.signature(SAMPLERS[self.kind]).parameters
        return SAMPLERS[self.kind](**{**({"margin": margin} if knows else {}), **self.options})


@dataclass(frozen=True)
class LossSettings:
    """What is minimised; only `sampled_triplet` asks the sampler, the others look at the whole pool."""

    kind: Literal["sum_of_hinges", "max_of_hinges", "sampled_triplet", "info_nce"] = "sampled_triplet"
    margin: float = 0.2
    temperature: float = 0.05

    def __post_init__(self) -> None:
        check(0 <= self.margin < math.inf, "loss.margin", self.margin, "0 or more")
        check(0 < self.temperature < math.inf, "loss.temperature", self.temperature, "more than 0")


@dataclass(frozen=True)
class AdaptiveMarginSettings:
    """SAM's triplets beside the recipe's loss, or instead of it without `with_triplet` (Eq. 7, Tables 4 and 5).

    Their margins are differences of φ over `temperature` τ, at most `ceiling`; φ is CIDEr-D from the document
    frequencies of what is trained on. `negatives` of their own: the farthest from the anchor ("SN"), the nearest ("HN")
    or any ("RS").
    """

    temperature: float = 10.0
    negatives: Literal["softest", "hardest", "random"] = "softest"
    with_triplet: bool = True
    ceiling: float = 1.0
    relevance: Literal["cider"] = "cider"
    tokenise: Literal["whitespace", "penn"] = "whitespace"

    def __post_init__(self) -> None:
        check(0 < self.temperature < math.inf, "adaptive_margin.temperature", self.temperature, "more than 0")
        check(0 < self.ceiling < math.inf, "adaptive_margin.ceiling", self.ceiling, "more than 0")


@dataclass(frozen=True)
class MemorySettings:
    """FNE's momentum memory (Sec. 3.3): K features of each kind, from encoders that follow with momentum m (Eq. 14)."""

    length: int = 8192
    momentum: float = 0.995

    def __post_init__(self) -> None:
        check(self.length >= 1, "memory.length", self.length, "1 or more")
        check(0 <= self.momentum < 1, "memory.momentum", self.momentum, "0 to below 1")


@dataclass(frozen=True)
class OptimiserSettings:
    """How weights move. `milestones` and `warm_up` are in epochs; `step` leaves a tenth of the rate at each."""

    kind: Literal["adam", "adamw"] = "adam"
    learning_rate: float = 2e-5
    schedule: Literal["constant", "step", "linear", "cosine"] = "step"
    milestones: tuple[int, ...] = (5, 15)
    warm_up: float = 0.0
    clip: float = 2.0
    weight_decay: float = 0.0
    precision: Literal["auto", "float32", "bfloat16"] = "auto"

    def __post_init__(self) -> None:
        rate = self.learning_rate
        check(0 < rate < math.inf, "optimiser.learning_rate", rate, "more than 0")
        check(all(item > 0 for item in self.milestones), "optimiser.milestones", self.milestones, "epochs from 1 on")
        check(self.warm_up >= 0, "optimiser.warm_up", self.warm_up, "0 or more epochs")
        check(self.clip > 0, "optimiser.clip", self.clip, "more than 0")
        check(self.weight_decay >= 0, "optimiser.weight_decay", self.weight_decay, "0 or more")


@dataclass(frozen=True)
class DataSettings:
    """How pairs are served. `batch_size` counts pictures over all processes; `accumulate` batches make one step.

    `captions_per_image=n` encodes a picture once with n of its captions; "all" makes each caption a pair of its own,
    as the field's epochs do. In the first `warm_up_epochs` the loss is InfoNCE in the batch: a network from scratch
    needs it before one negative an anchor can lead it (pretrained encoders do not: 0).
    """

    batch_size: int = 32
    epochs: int = 25
    captions_per_image: int | Literal["all"] = "all"
    warm_up_epochs: int = 0
    accumulate: int = 1

    def __post_init__(self) -> None:
        check(self.batch_size >= 1, "data.batch_size", self.batch_size, "1 or more")
        check(self.epochs >= 1, "data.epochs", self.epochs, "1 or more")
        many = self.captions_per_image == "all" or self.captions_per_image >= 1
        check(many, "data.captions_per_image", self.captions_per_image, "1 or more, or 'all'")
        check(self.warm_up_epochs >= 0, "data.warm_up_epochs", self.warm_up_epochs, "0 or more")
        check(self.accumulate >= 1, "data.accumulate", self.accumulate, "1 or more")


@dataclass(frozen=True)
class Recipe:
    """A training run, but for its data: model, sampler, loss, memory, optimiser, sizes and seed.

    `replace(sampler__prior=1e-3, data__epochs=3)` makes a variation; `sized("base")` the same method at another size.
    A wrong field is one ItmlabError that names it.
    """

    name: str
    size: Literal["tiny", "base", "large"]
    model: TwoTowerConfig
    sampler: SamplerSettings | None = None
    loss: LossSettings = LossSettings()
    memory: MemorySettings | None = None
    optimiser: OptimiserSettings = OptimiserSettings()
    data: DataSettings = DataSettings()
    seed: int = 0
    adaptive_margin: AdaptiveMarginSettings | None = None

    def __post_init__(self) -> None:
        check(bool(self.name), "name", self.name, "a name")
        check(0 <= self.seed < 2**31, "seed", self.seed, "0 to 2147483647")
        sampled, kind = self.loss.kind == "sampled_triplet", self.sampler and self.sampler.kind
        check(not sampled or kind is not None, "sampler", kind, "one, as loss.kind is 'sampled_triplet'")
        check(sampled or kind is None, "sampler", kind, f"null, as loss.kind {self.loss.kind!r} takes all negatives")

    def replace(self, **changes: Any) -> "Recipe":
        """A copy with changed fields; `a__b` (in a dictionary also "a.b") reaches into a field."""
        return replaced(self, changes)

    def sized(self, size: str) -> "Recipe":
        """The same method (sampler, losses, seed) with the model, optimiser, memory and data settings of another size.

        A named recipe's own sampler becomes that size's; one that was changed stays as it is.
        """
        from ..recipes import METHODS, SIZES, get

        if size not in SIZES:
            raise ItmlabError(f"no size {size!r}", where="recipe", remedy=did_you_mean(size, SIZES))
        memory = None if self.memory is None else SIZES[size]["memory"]
        unchanged = self.name in METHODS and self.sampler == get(self.name, self.size).sampler
        sampler = get(self.name, size).sampler if unchanged else self.sampler
        return replace(self, size=size, **{**SIZES[size], "memory": memory, "sampler": sampler})

    def to_json(self) -> dict[str, Any]:
        """All fields as plain JSON values; without an adaptive margin as before there was one, to the byte."""
        values = to_plain(self)
        if self.adaptive_margin is None:
            del values["adaptive_margin"]
        return values

    @classmethod
    def from_json(cls, value: Any) -> "Recipe":
        """The recipe of such values; an unknown, missing, ill-typed or impossible field is an ItmlabError."""
        return from_plain(cls, value, "")

    def save(self, path: str | Path) -> None:
        """Write the recipe as a JSON file."""
        write_json(path, self.to_json())

    @classmethod
    def load(cls, path: str | Path) -> "Recipe":
        """Read a recipe from a JSON file."""
        try:
            return cls.from_json(read_json(path))
        except ItmlabError as error:
            raise error if str(path) in str(error) else ItmlabError(str(error), where=str(path)) from None
