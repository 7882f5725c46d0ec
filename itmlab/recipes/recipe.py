"""A recipe: everything that decides what a training run does, as frozen dataclasses, JSON in and out."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from pathlib import Path
from typing import Any, Literal

import torch

from ..errors import ItmlabError, named
from ..fields import LATER, check, did_you_mean, from_plain, replaced, shown, to_plain
from ..models import CrossEncoderConfig, DualEncoderConfig, LateInteractionConfig, OscarDualEncoderConfig
from ..storage import read_json, refuse_foreign, write_json
from . import settings
from .mixing import refuse_mixture
from .own import FIELDS, PLACES, Own, handed_over


@dataclass(frozen=True)
class Recipe:
    """A training run, but for its data: model, sampler, loss, memory, optimiser, sizes and seed.

    A model that encodes pictures and captions apart has a `loss` (and perhaps a `sampler`, a `memory`, an
    `adaptive_margin`, hard negatives by `synthesis`), a cross-encoder has `tags` instead. `start` is a shipped run's
    name, or the directory of a run or a saved model, whose weights and tokeniser it begins from.
    `replace(sampler__prior=1e-3, data__epochs=3)` makes a variation; `sized("base")` the same method at another size. A
    wrong field is one ItmlabError that names it.

    An own class or function may be the sampler, the loss, the synthesis, the generator of sentences, or the `encoder`
    in the model's place, of its configuration: `replace(sampler=FifthHardest())` (`recipes.own`).
    """

    name: str
    size: Literal["tiny", "base", "large"]
    model: DualEncoderConfig | CrossEncoderConfig | OscarDualEncoderConfig | LateInteractionConfig
    sampler: settings.SamplerSettings | Own | None = None
    loss: settings.LossSettings | None = field(default=settings.LossSettings())
    memory: settings.MemorySettings | None = None
    optimiser: settings.OptimiserSettings = field(default=settings.OptimiserSettings())
    data: settings.DataSettings = field(default=settings.DataSettings())
    seed: int = 0
    adaptive_margin: settings.AdaptiveMarginSettings | None = field(default=None, metadata=LATER)
    tags: settings.TagsSettings | None = field(default=None, metadata=LATER)
    start: str | None = field(default=None, metadata=LATER)
    extra_negatives: settings.ExtraNegatives | None = field(default=None, metadata=LATER)
    synthesis: settings.SynthesisSettings | Own | None = field(default=None, metadata=LATER)
    towers: settings.TowerSettings | None = field(default=None, metadata=LATER)
    encoder: Own | None = field(default=None, metadata=LATER)

    def __post_init__(self) -> None:
        check(bool(self.name), "name", self.name, "a name")
        check(0 <= self.seed < 2**31, "seed", self.seed, "0 to 2147483647")
        check(self.start != "", "start", self.start, "a run's name, a directory, or null")
        for name in ("crop", "flip", "randaugment"):
            given, seen = getattr(self.data, name), getattr(self.model, "visual", "pictures")
            check(seen != "regions" or not given, f"data.{name}", given, "none, as the model sees regions, no pictures")
        if type(self.model) is CrossEncoderConfig:
            check(self.tags is not None, "tags", self.tags, "an object with fields, as the model is a cross-encoder")
        refuse_mixture(self)
        if type(self.model) is CrossEncoderConfig:
            self._check_cross_encoder()
        elif self.towers is not None:
            self._check_towers()
        else:
            check(self.loss is not None, "loss", self.loss, "an object with fields, as the model is no cross-encoder")
            missing = self.loss.kind == "sampled_triplet" and self.sampler is None
            check(not missing, "sampler", None, "one, as loss.kind is 'sampled_triplet'")

    def _check_towers(self) -> None:
        fits = isinstance(self.model, DualEncoderConfig) and self.model.image_tower == "vit"
        check(fits, "towers", self.towers, "null, as the model is no ViT with a BERT")
        for name in ("sampler", "loss", "memory", "adaptive_margin", "synthesis", "extra_negatives", "encoder"):
            check(getattr(self, name) is None, name, getattr(self, name), "null, as nothing is matched yet")
        check(self.data.augmentation is None, "data", self.data.augmentation, "no augmentation: towers.py mirrors")
        check(self.data.validation == 0, "data.validation", self.data.validation, "0, as nothing is matched yet")

    def _check_cross_encoder(self) -> None:
        check(self.towers is None, "towers", self.towers, "null, as the model is a cross-encoder")
        file = self.tags.makes_sentences and self.tags.generator == "file"
        given = self.extra_negatives and self.extra_negatives.path
        check(not file or given is not None, "extra_negatives", given, "a path, as tags.generator is 'file'")
        check(file or given is None, "extra_negatives", given, "null unless tags.generator is 'file'")

    def replace(self, **changes: Any) -> "Recipe":
        """A copy with changed fields; `a__b` (in a dictionary also "a.b") reaches into a field.

        An own idea that is handed over, and does not keep to its contract, is an ItmlabError (`recipes.contracts`).
        """
        given: dict[str, Any] = {}
        for name, value in changes.items():
            part = FIELDS.get(name.replace("__", "."))
            if part and handed_over(value, part):
                name, value = PLACES.get(part, name), _settings_of(value, part)
            elif part and isinstance(value, str):
                name, value = PLACES.get(part, name), {"kind": value} if part == "sampler" else value
            given[name] = value
        changed, before = replaced(self, given), self.own_ideas()
        for part, own in changed.own_ideas().items():
            if own != before.get(part) and part != "generator":  # which is tried where its captions are
                with torch.random.fork_rng(devices=[]):
                    changed.build(part)
        return changed

    def grid(self, **values: Sequence[Any]) -> dict[str, "Recipe"]:
        """A recipe for each combination of the values of these fields (as in `replace`), by a label that names them.

        So `compare(recipe.grid(sampler__prior=[1e-3, 1e-2], memory__length=[256, 2048]), …)` is a sweep. ItmlabError,
        in one line: a field without a list of values; all combinations that make no recipe, with what each lacks.

        >>> from itmlab import recipes
        >>> list(recipes.fne.grid(sampler__prior=[0.001, 0.01], seed=[1]))
        ['prior=0.001, seed=1', 'prior=0.01, seed=1']
        """
        for field_name, several in values.items():
            listed = isinstance(several, Sequence) and not isinstance(several, str)
            check(listed and len(several) > 0, field_name, several, "a list of values")
        last = [name.replace("__", ".").rpartition(".")[2] for name in values]
        short = [
            end if last.count(end) == 1 else name.replace("__", ".") for name, end in zip(values, last, strict=True)
        ]
        made: dict[str, Recipe] = {}
        refused: list[str] = []
        for combination in product(*values.values()):
            told = ", ".join(f"{name}={_told(value)}" for name, value in zip(short, combination, strict=True))
            try:
                made[told] = self.replace(**dict(zip(values, combination, strict=True)))
            except ItmlabError as error:
                refused.append(f"{told} ({error})")
        if refused:
            what = f"{len(refused)} of {len(refused) + len(made)} combinations make no recipe: {'; '.join(refused)}"
            raise ItmlabError(what, remedy="leave these values out, or make the recipes one by one")
        return made

    def own_ideas(self) -> dict[str, Own]:
        """What of it is somebody's own, by its part."""
        found = {part: getattr(self, part) for part in ("sampler", "synthesis", "encoder")}
        found |= {"loss": self.loss and self.loss.kind, "generator": self.tags and self.tags.generator}
        return {part: own for part, own in found.items() if isinstance(own, Own)}

    def build(self, part: str, **offered: Any) -> Any:
        """A new one of an own idea, which is offered the loss's numbers and the dimension of features, too."""
        own = self.own_ideas()[part]
        if part == "encoder":
            return own.encoder(self.model)
        numbers = {} if self.loss is None else {"margin": self.loss.margin, "temperature": self.loss.temperature}
        return own.build(part, **numbers, dimension=getattr(self.model, "dimension", None), **offered)

    def sized(self, size: str) -> "Recipe":
        """The same method (sampler, losses, seed) with the model, optimiser, memory and data settings of another size.

        A named recipe's own sampler, loss, TAGS settings and start become that size's; those changed stay as they are,
        and so does what was changed of how a model of regions and words compares them.
        """
        from . import METHODS, SIZES, family, get

        if size not in SIZES:
            raise ItmlabError(f"no size {size!r}", where="recipe", remedy=did_you_mean(size, SIZES))
        known = self.name if self.name in METHODS else family(self.model)
        theirs, ours = get(known, size), get(known, self.size)
        changes = {name: getattr(theirs, name) for name in ("model", "optimiser", "data")}
        if isinstance(self.model, LateInteractionConfig) and self.model.photo_encoder is None:
            own = {"kind": self.model.kind, "preset": self.model.preset}
            before, after = (LateInteractionConfig.of_size(each, **own) for each in (self.size, size))
            changes["model"] = self.model.with_sizes_of(before, after)
        changes["memory"] = None if self.memory is None else SIZES[size]["memory"]
        for name in ("sampler", "loss", "tags", "start"):
            if self.name in METHODS and getattr(self, name) == getattr(ours, name):
                changes[name] = getattr(theirs, name)
        return replace(self, size=size, **changes)

    def to_json(self) -> dict[str, Any]:
        """All fields as plain JSON values; those that came later only where they are not at their default."""
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


def _told(value: Any) -> str:
    return value if isinstance(value, str) else getattr(value, "__name__", None) or shown(value, most=40)


def _settings_of(value: Any, part: str) -> settings.SamplerSettings | Own:
    """What is handed over as settings: a sampler of ours under its name, as its class is not somebody's own."""
    own = Own.of(value, part)
    ours = {f"{known.__module__}:{known.__qualname__}": kind for kind, known in settings.SAMPLERS.items()}
    return settings.SamplerSettings(ours[own.path], own.options) if own.path in ours else own
