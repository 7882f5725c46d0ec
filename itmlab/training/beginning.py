"""What a run begins from: fresh weights, or those of another run or saved model; and which files it was given."""

import hashlib
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from torch import nn

from ..errors import ItmlabError
from ..models import OneTower, SeparateOneTower, SeparateOneTowerConfig
from ..models.directory import CONFIG_FILE
from ..storage import read_json
from .kinds import kind_of
from .recipe import Recipe
from .shipped import shipped_directory, shipped_names

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

OWN = ("vocabulary_size", "dropout")  # of a configuration: the tokeniser's, and one that no weight depends on


def first_model(recipe: Recipe, captions: Iterable[str]) -> nn.Module:
    """The model of step 0, in training mode: fresh, its vocabulary made from captions, or `recipe.start`'s.

    A start of another configuration is an ItmlabError that names what differs; a tower that reads the modalities apart
    may begin with the transformer of one that reads them together.
    """
    if recipe.start is None:
        return kind_of(recipe.model).build(recipe.model, captions)
    home = start_directory(recipe.start)
    found = _saved(recipe.model, home)
    wanted, there = recipe.model.to_dict(), found.config.to_dict()
    differs = [name for name in wanted if name not in OWN and wanted[name] != there.get(name)]
    if differs:
        name = differs[0]
        raise ItmlabError(
            f"start has {name} {there.get(name)!r} and the recipe's model {wanted[name]!r}",
            where=str(home),
            remedy="start from a model of the same configuration, or change model of the recipe",
        )
    model = _with_tokenizer(recipe, found.config, found.tokenizer)
    model.load_state_dict(found.state_dict())
    if isinstance(model, OneTower) and _learns_to_correct(recipe) and not _has_learnt_to_correct(home):
        model.heads.woc.load_state_dict(model.heads.mlm.state_dict())  # as `load_public` does: a better start than none
    return model


def start_directory(start: str) -> Path:
    """The directory of a shipped run's name, or of a run or a saved model; anything else is an ItmlabError."""
    there = shipped_names()
    if start in there:
        return shipped_directory(start)
    if not (Path(start) / "config.json").is_file():
        listed = f"there are {', '.join(there)}" if there else "this installation has none"
        raise ItmlabError(
            "no shipped run and no directory of a saved model", where=repr(start), remedy=f"shipped: {listed}"
        )
    return Path(start)


def inputs(recipe: Recipe) -> dict[str, Any]:
    """A hash of each file that a recipe names, so that a run is not gone on with after it has changed."""
    files = {}
    if recipe.start is not None:
        files["start"] = start_directory(recipe.start) / "model.safetensors"
    if recipe.extra_negatives is not None:
        files["extra_negatives"] = Path(recipe.extra_negatives.path)
    return {name: _hash(path) for name, path in files.items()}


def _saved(config: Any, home: Path) -> nn.Module:
    """The saved model as the recipe reads it."""
    if isinstance(config, SeparateOneTowerConfig) and "encodes" not in read_json(home / CONFIG_FILE):
        return SeparateOneTower.of(OneTower.load(home))
    return kind_of(config).load(home)


def _with_tokenizer(recipe: Recipe, config: Any, tokenizer: "PreTrainedTokenizerFast") -> nn.Module:
    return kind_of(config).build(replace(config, dropout=recipe.model.dropout), tokenizer)


def _learns_to_correct(recipe: Recipe) -> bool:
    return recipe.tags is not None and recipe.tags.weights.correction > 0


def _has_learnt_to_correct(home: Path) -> bool:
    """A saved model that is no run is taken at its word."""
    path = home / "recipe.json"
    return not path.exists() or _learns_to_correct(Recipe.load(path))


def _hash(path: Path) -> str:
    try:
        with open(path, "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise ItmlabError(f"cannot be read ({error.strerror})", where=str(path)) from None
