"""A recipe: everything that decides what a training run does, as frozen dataclasses, JSON in and out."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any, Literal

from ..errors import named
from ..fields import check, from_plain, replaced, shown, to_plain
from ..models import CrossEncoderConfig, DualEncoderConfig, LateInteractionConfig, OscarDualEncoderConfig
from ..storage import read_json, refuse_foreign, write_json
from . import settings
from .custom import PLACES, Custom


@dataclass(frozen=True)
class Recipe:
    """A training run, but for its data: model, sampler, loss, memory, optimiser, sizes and seed.

    A model that encodes pictures and captions apart has a `loss` (and perhaps a `sampler`, a `memory`, an
    `adaptive_margin`, hard negatives by `synthesis`), a cross-encoder has `tags` instead. `start` is a shipped run's
    name, or the directory of a run or a saved model, whose weights and tokeniser it begins from.
    `replace(sampler__prior=1e-3, data__epochs=3)` makes a variation. A wrong field is one ItmlabError that names it.

    Your own sampler, loss, synthesis or generator of sentences is passed to `replace(sampler=FifthHardest())`, and so
    is the class of an `encoder` that takes the place of the model, with its configuration (`recipes.custom`).
    """

    name: str
    size: Literal["tiny", "base", "large"]
    model: DualEncoderConfig | CrossEncoderConfig | OscarDualEncoderConfig | LateInteractionConfig
    sampler: settings.SamplerSettings | Custom | None = None
    loss: settings.LossSettings | None = field(default=settings.LossSettings())
    memory: settings.MemorySettings | None = None
    optimiser: settings.OptimiserSettings = field(default=settings.OptimiserSettings())
    data: settings.DataSettings = field(default=settings.DataSettings())
    seed: int = 0
    adaptive_margin: settings.AdaptiveMarginSettings | None = None
    tags: settings.TagsSettings | None = None
    start: str | None = None
    extra_negatives: settings.ExtraNegatives | None = None
    synthesis: settings.SynthesisSettings | Custom | None = None
    towers: settings.TowerSettings | None = None
    encoder: Custom | None = None

    def __post_init__(self) -> None:
        check(bool(self.name), "name", self.name, "a name")
        check(0 <= self.seed < 2**31, "seed", self.seed, "0 to 2147483647")
        check(self.start != "", "start", self.start, "a run's name, a directory, or null")
        for name in ("crop", "flip", "randaugment"):
            given, seen = getattr(self.data, name), getattr(self.model, "visual", "pictures")
            check(seen != "regions" or not given, f"data.{name}", given, "none, as the model sees regions, no pictures")
        self._check_parts()
        if type(self.model) is CrossEncoderConfig:
            self._check_cross_encoder()
        elif self.towers is not None:
            self._check_towers()
        else:
            check(self.loss is not None, "loss", None, "an object with fields, as the model is not a cross-encoder")
            missing = self.loss.kind == "sampled_triplet" and self.sampler is None
            check(not missing, "sampler", None, "one, as loss.kind is 'sampled_triplet'")

    def _refuse(self, *names: str, why: str) -> None:
        """Raise an ItmlabError for the first of these parts that the recipe has."""
        for name in names:
            check(getattr(self, name) is None, name, getattr(self, name), f"null, {why}")

    def _check_parts(self) -> None:
        """Refuse parts that cannot be combined; whatever is not refused here can."""
        loss, margin = self.loss, self.adaptive_margin
        if type(self.model) is CrossEncoderConfig:
            check(self.tags is not None, "tags", self.tags, "an object with fields, as the model is a cross-encoder")
            others = ("loss", "sampler", "memory", "adaptive_margin", "synthesis", "encoder", "towers")
            self._refuse(*others, why="as the model is a cross-encoder")
        else:
            self._refuse("tags", why="as the model is not a cross-encoder, and only these can tell which word is wrong")
        if loss is not None:
            writes = getattr(self.model, "kind", None) == "vsrn"
            check(writes or not loss.writing, "loss.writing", loss.writing, "0, as only VSRN writes captions")
            if loss.kind != "sampled_triplet":
                self._refuse("sampler", why="as this loss takes all negatives; 'sampled_triplet' asks a sampler")
        if getattr(self.model, "compares_parts", False):
            self._refuse("memory", why="as the model compares parts, and a memory keeps one feature of an item")
        if margin is not None and margin.preset == "released":
            self._refuse("memory", why="as adaptive_margin.preset is 'released'")
        if margin is not None and not margin.with_triplet:
            why = "as adaptive_margin.with_triplet is false, and φ is known for captions of the data only"
            self._refuse("synthesis", "extra_negatives", why=why)
            features = loss is not None and loss.global_features
            check(not features, "loss.global_features", features, f"false, {why}")

    def _check_towers(self) -> None:
        fits = isinstance(self.model, DualEncoderConfig) and self.model.image_tower == "vit"
        check(fits, "towers", self.towers, "null, as the model is not a ViT with a BERT")
        others = ("sampler", "loss", "memory", "adaptive_margin", "synthesis", "extra_negatives", "encoder")
        self._refuse(*others, why="as nothing is matched yet")
        check(self.data.augmentation is None, "data", self.data.augmentation, "no augmentation: towers.py mirrors")
        check(self.data.validation == 0, "data.validation", self.data.validation, "0, as nothing is matched yet")

    def _check_cross_encoder(self) -> None:
        if self.tags.makes_sentences and self.tags.generator == "file":
            path = self.extra_negatives and self.extra_negatives.path
            check(path is not None, "extra_negatives", path, "a path, as tags.generator is 'file'")
        else:
            self._refuse("extra_negatives", why="unless tags.generator is 'file'")

    def replace(self, **changes: Any) -> "Recipe":
        """Return a copy with changed fields; `a__b` (in a dictionary also "a.b") reaches into a field.

        A sampler, loss, synthesis, generator or encoder may be your own: an instance, a function or a class.
        """
        plain: dict[str, Any] = {}
        for name, value in changes.items():
            place = PLACES.get(name.replace("__", "."))
            if place and callable(value):
                name, value = place, _settings_of(value)
            elif place and isinstance(value, str):
                name, value = place, {"kind": value} if place == "sampler" else value
            plain[name] = value
        changed, before = replaced(self, plain), self.custom_parts()
        for part, custom in changed.custom_parts().items():
            if custom != before.get(part) and part != "generator":  # a generator needs the data
                changed.build(part)  # refused now rather than when training begins
        return changed

    def grid(self, **values: Sequence[Any]) -> dict[str, "Recipe"]:
        """Return a recipe for each combination of the values of these fields, by a label that names them.

        Fields are named as in `replace`, so `compare(recipe.grid(sampler__prior=[1e-3, 1e-2]), …)` is a sweep.

        Raises:
            ItmlabError: a field without a list of values, or a combination that cannot be a recipe, with its label.

        >>> from itmlab import recipes
        >>> list(recipes.fne.grid(sampler__prior=[0.001, 0.01], seed=[1]))
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

    def custom_parts(self) -> dict[str, Custom]:
        """The custom components of this recipe, by part."""
        parts = {part: getattr(self, part) for part in ("sampler", "synthesis", "encoder")}
        parts |= {"loss": self.loss and self.loss.kind, "generator": self.tags and self.tags.generator}
        return {part: custom for part, custom in parts.items() if isinstance(custom, Custom)}

    def build(self, part: str, **offered: Any) -> Any:
        """Make a custom component, which may also take the loss' margin and temperature and the features' dimension."""
        custom = self.custom_parts()[part]
        if part == "encoder":
            return custom.encoder(self.model)
        if self.loss is not None:
            offered |= {"margin": self.loss.margin, "temperature": self.loss.temperature}
        return custom.build(part, dimension=getattr(self.model, "dimension", None), **offered)

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


def _settings_of(component: Any) -> settings.SamplerSettings | Custom:
    """The settings of a component; one of our samplers is stored under its name."""
    custom = Custom.of(component)
    for kind, sampler in settings.SAMPLERS.items():
        if custom.definition() is sampler:
            return settings.SamplerSettings(kind, custom.options)
    return custom
