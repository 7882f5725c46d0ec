"""A recipe: everything that decides what a training run does, as frozen dataclasses, JSON in and out.

Below it is what a recipe refuses: parts that cannot be combined, and options without effect.
"""

import inspect
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any, Literal

from torch.nn import Module

from ..errors import ItmlabError, named
from ..fields import check, from_plain, replaced, shown, to_plain
from ..losses import InfoNCE, Loss, SemanticAdaptiveMargin, TripletLoss
from ..models import ModelConfig, model_class
from ..samplers import Sampler
from ..storage import read_json, refuse_foreign, write_json
from ..synthesis import Synthesiser
from . import settings


@dataclass(frozen=True)
class Recipe:
    """Everything that decides a training run, except its data.

    `replace(sampler__prior=1e-3, data__batch_size=16)` makes a variation. Samplers, losses, margins and synthesisers
    are components, which own their parameters; your own are passed in the same way:
    `replace(sampler=FifthHardest(rank=4))`.

    Args:
        name: the recipe's name.
        size: "tiny", "base" or "large".
        model: the model's configuration.
        sampler: which negative an anchor takes; None if the loss looks at all of them.
        loss: what is minimised; None for a cross-encoder and for towers.
        memory: FNE's momentum memory.
        optimiser: how weights move.
        data: how pairs are served.
        seed: of weights, batches and negatives.
        adaptive_margin: SAM's triplets.
        tags: the training step of TAGS-DC; only for a cross-encoder.
        start: the weights to begin from: a pretrained run's name, or the directory of a run or a saved model.
        extra_negatives: negatives of each caption from a file.
        synthesis: hard negatives as features.
        towers: the pretraining of both encoders of a dual encoder, unaligned.
        encoder: the import path of your own model class, which takes the model's configuration.
        warm_up: the loss of the first `data.warm_up_epochs` epochs, over the negatives of the batch.
        global_features: whether a model that compares parts also learns by its global features.

    Raises:
        ItmlabError: a field is out of its range, or parts do not go together.
    """

    name: str
    size: Literal["tiny", "base", "large"]
    model: ModelConfig
    sampler: Sampler | None = field(default=None, hash=False)
    loss: Loss | None = field(default_factory=TripletLoss, hash=False)
    memory: settings.MemorySettings | None = None
    optimiser: settings.OptimiserSettings = field(default=settings.OptimiserSettings())
    data: settings.DataSettings = field(default=settings.DataSettings())
    seed: int = 0
    adaptive_margin: SemanticAdaptiveMargin | None = field(default=None, hash=False)
    tags: settings.TagsSettings | None = None
    start: str | None = None
    extra_negatives: settings.ExtraNegatives | None = None
    synthesis: Synthesiser | None = field(default=None, hash=False)
    towers: settings.TowerSettings | None = None
    encoder: str | None = None
    warm_up: Loss = field(default_factory=InfoNCE, hash=False)
    global_features: bool = False

    def __post_init__(self) -> None:
        check(bool(self.name), "name", self.name, "a name")
        check(0 <= self.seed < 2**31, "seed", self.seed, "0 to 2147483647")
        check(self.start != "", "start", self.start, "a run's name, a directory, or null")
        refuse_conflicts(self)

    def replace(self, **changes: Any) -> "Recipe":
        """Return a copy with changed fields; `a__b` (in a dictionary also "a.b") reaches into a field.

        A sampler, loss, synthesis or generator is an instance, yours or ours; `encoder` is a class derived from
        `itmlab.models.Model`, whose configuration comes with it unless `model` is one of that class.
        """
        if inspect.isclass(encoder := changes.get("encoder")):
            changes["encoder"] = f"{encoder.__module__}:{encoder.__qualname__}"
            config_class = getattr(encoder, "config_class", type(self.model))
            if type(self.model) is not config_class:
                changes.setdefault("model", config_class())
        changed = replaced(self, changes)
        if changed.encoder is not None:
            model_class(changed.model, changed.encoder)  # refused now rather than when training begins
        refuse_without_effect(changed, changes)
        return changed

    def grid(self, **values: Sequence[Any]) -> dict[str, "Recipe"]:
        """Return a recipe for each combination of the values of these fields, by a label that names them.

        Fields are named as in `replace`, so `compare(recipe.grid(sampler__prior=[1e-3, 1e-2]), …)` is a sweep.

        Raises:
            ItmlabError: a field without a list of values, or a combination that cannot be a recipe, with its label.

        >>> import itmlab
        >>> list(itmlab.recipe("fne").grid(sampler__prior=[0.001, 0.01], seed=[1]))
        ['prior=0.001, seed=1', 'prior=0.01, seed=1']
        """
        for name, choices in values.items():
            is_list = isinstance(choices, Sequence) and not isinstance(choices, str) and len(choices) > 0
            check(is_list, name, choices, "a list of values")
        paths = [name.replace("__", ".") for name in values]
        last = [path.rpartition(".")[2] for path in paths]
        names = [end if last.count(end) == 1 else path for path, end in zip(paths, last, strict=True)]
        recipes: dict[str, Recipe] = {}
        for combination in product(*values.values()):
            label = ", ".join(f"{name}={_label(value)}" for name, value in zip(names, combination, strict=True))
            with named(label):
                recipes[label] = self.replace(**dict(zip(values, combination, strict=True)))
        return recipes

    def to_json(self) -> dict[str, Any]:
        """All fields as plain JSON values."""
        return to_plain(self)

    @classmethod
    def from_json(cls, value: Any) -> "Recipe":
        """The recipe of such values; an unknown, missing, ill-typed or impossible field is an ItmlabError."""
        return from_plain(cls, value, "")

    def save(self, path: str | Path, *, force: bool = False) -> None:
        """Write the recipe as a JSON file; another file there is an ItmlabError unless `force`."""
        refuse_foreign(path, '"sampler": ', force=force)
        write_json(path, self.to_json())

    @classmethod
    def load(cls, path: str | Path) -> "Recipe":
        """Read a recipe from a JSON file."""
        with named(path):
            return cls.from_json(read_json(path))


def _label(value: Any) -> str:
    return value if isinstance(value, str) else getattr(value, "__name__", None) or shown(value, most=40)


# Parts that cannot be combined, and options without effect.

PRETRAINING = ("matching_begins", "alignment", "alignment_temperature", "mining")
SENTENCES = ("generator", "maskings", "samples", "temperature", "hardest", "filtered", "implied")


def refuse_conflicts(recipe: Recipe) -> None:
    """Refuse parts that cannot be combined; all that is not refused here can be.

    Raises:
        ItmlabError: a part is missing, or goes against another; it names the field.
    """
    model, data, loss, tags, towers = recipe.model, recipe.data, recipe.loss, recipe.tags, recipe.towers
    apart, margin = model.encodes_apart, recipe.adaptive_margin
    for name in ("crop", "flip", "randaugment"):
        value, is_changed = getattr(data, name), apart and model.reads != "regions"
        check(is_changed or not value, f"data.{name}", value, "none: only pictures of dual encoders are changed")
    check(apart or tags is not None, "tags", tags, "an object with fields, as the model is a cross-encoder")
    check(loss is not None or not apart or towers is not None, "loss", None, "a loss, as the model encodes apart")
    can_hash = not isinstance(loss, Module) or type(loss).__hash__ is not None
    check(can_hash, "loss", loss, "a @dataclass(eq=False), because it is a module, which is not compared by its fields")
    if towers is not None:
        check(model.pretrains_towers, "towers", towers, "null, as the model has no encoders to pretrain")
        check(data.augmentation is None, "data", data.augmentation, "no augmentation: pretraining mirrors pictures")
        check(data.validation == 0, "data.validation", data.validation, "0, as nothing is matched yet")
    matching = "sampler loss memory adaptive_margin synthesis extra_negatives encoder"
    without_triplet = margin is not None and not margin.with_triplet
    only_captions = "as adaptive_margin.with_triplet is false, and φ is known for captions of the data only"
    rows = [
        (not apart, f"{matching} towers", "as the model is a cross-encoder"),
        (apart, "tags", "as the model is not a cross-encoder, and only these can tell which word is wrong"),
        (towers is not None, matching, "as nothing is matched yet"),
        (getattr(loss, "noise", 0) > 0, "sampler", "as the noise of the loss is a negative of every anchor"),
        (getattr(loss, "reduce", "") == "sum", "sampler", "as loss.reduce is 'sum', which adds up all negatives"),
        (model.compares_parts, "memory", "as the model compares parts, and a memory keeps one feature per item"),
        (not model.compares_parts, "global_features", "as the model compares global features"),
        (margin is not None and margin.preset == "released", "memory", "as adaptive_margin.preset is 'released'"),
        (without_triplet, "synthesis extra_negatives global_features", only_captions),
    ]
    for applies, names, why in rows:
        for name in names.split() if applies else ():
            value = getattr(recipe, name)
            check(value is None or value is False, name, value, f"{'false' if value is True else 'null'}, {why}")


def without_effect(recipe: Recipe) -> dict[str, str]:
    """Return the fields that have no effect in a recipe, and why."""
    data, tags, margin = recipe.data, recipe.tags, recipe.adaptive_margin
    warms_up = tags is None and recipe.towers is None
    only_adaptive = margin is not None and not margin.with_triplet
    sees_regions = recipe.model.reads == "regions"
    keeps_rate = bool(recipe.optimiser.milestones) and recipe.optimiser.schedule != "step"
    rows = [
        ("data.epochs", data.steps is not None, "the recipe counts steps: set data.steps, or data.steps=null as well"),
        ("data.warm_up_epochs", data.warm_up_epochs > 0 and not warms_up, "only dual encoders have a warm-up"),
        ("data.validate_every", data.validate_every > 1 and data.validation == 0, "data.validation is 0"),
        ("data.regions", data.regions is not None and not sees_regions, "the model looks at pictures"),
        ("warm_up", data.warm_up_epochs == 0 or not warms_up, "without a warm-up: set data.warm_up_epochs"),
        ("optimiser.milestones", keeps_rate, "optimiser.schedule is not 'step'"),
        ("sampler", only_adaptive, "adaptive_margin.with_triplet is false"),
        ("loss", only_adaptive, "adaptive_margin.with_triplet is false"),
    ]
    if tags is not None:
        rows += [
            *((f"tags.{name}", True, "only the shipped run uniter_pretraining has it") for name in PRETRAINING),
            *((f"tags.{name}", not tags.makes_sentences, "the recipe makes no sentences") for name in SENTENCES),
        ]
    return {field: reason for field, has_no_effect, reason in rows if has_no_effect}


def refuse_without_effect(recipe: Recipe, names: Iterable[str]) -> None:
    """Refuse fields that were set, as `Recipe.replace` names them, but have no effect.

    >>> import itmlab
    >>> refuse_without_effect(itmlab.recipe("uniter"), ["data__epochs"])
    Traceback (most recent call last):
    itmlab.errors.ItmlabError: recipe: data.epochs has no effect — the recipe counts steps: set data.steps, or ...
    """
    for path in (name.replace("__", ".") for name in names):
        for idle, reason in without_effect(recipe).items():
            if f"{path}.".startswith(f"{idle}."):
                raise ItmlabError(f"{path} has no effect", where="recipe", remedy=reason)
