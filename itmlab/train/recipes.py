"""A recipe: everything that decides what a training run does, as frozen dataclasses, JSON in and out."""

import inspect
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any, Literal

from ..errors import named
from ..fields import check, from_plain, replaced, shown, to_plain
from ..losses import InfoNCE, Loss, SemanticAdaptiveMargin, TripletLoss
from ..models import ModelConfig, model_class
from ..samplers import Sampler
from ..storage import read_json, refuse_foreign, write_json
from ..synthesis import Synthesiser
from . import settings
from .checks import check_loss, refuse_conflicts, refuse_without_effect


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
        if changed.loss is not self.loss and changed.loss is not None:
            check_loss(changed.loss)
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
        """Write the recipe as a JSON file; one there that is no recipe is an ItmlabError unless `force`."""
        refuse_foreign(path, '"sampler": ', force=force)
        write_json(path, self.to_json())

    @classmethod
    def load(cls, path: str | Path) -> "Recipe":
        """Read a recipe from a JSON file."""
        with named(path):
            return cls.from_json(read_json(path))


def _label(value: Any) -> str:
    return value if isinstance(value, str) else getattr(value, "__name__", None) or shown(value, most=40)
