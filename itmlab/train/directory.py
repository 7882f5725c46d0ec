"""Run directories: metadata, initial weights, and the check that a resume matches its recipe and data."""

import hashlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from torch import nn

from ..data.captionset import CaptionSet
from ..errors import ItmlabError, named
from ..fields import join, shown
from ..models import build_from, build_model, load_model
from ..models.base import WEIGHTS_FILE
from ..storage import ordinary, read_json, unusable, write_json
from .checkpoint import CHECKPOINT_FILE, REMEDY, RUN_FILES, shipped_directory, shipped_names
from .recipes import Recipe

# Starts of the papers that do not ship, and where they are.
PUBLIC_STARTS = {
    f"oscar_{size}": f"unzip {size}-vg-labels of github.com/microsoft/Oscar (DOWNLOAD.md), read it with "
    "itmlab.models.load_public, save that, and give start=FOLDER (start=null: random weights)"
    for size in ("base", "large")
}


def first_model(recipe: Recipe, captions: Iterable[str]) -> nn.Module:
    """Build the model of step 0, in training mode: from random weights, or from those of `recipe.start`.

    Args:
        recipe: the recipe.
        captions: what the vocabulary of a fresh model is built from.

    Raises:
        ItmlabError: the start has another configuration; the error names what differs.
    """
    if recipe.start is None:
        return build_model(recipe.model, captions, encoder=recipe.encoder)
    home = start_directory(recipe.start)
    with named(home):
        model = build_from(load_model(home, recipe.encoder), recipe.model, recipe.encoder)
    has_recipe = (home / "recipe.json").exists()  # a saved model without one is taken to have learnt to correct
    if _learns_to_correct(recipe) and has_recipe and not _learns_to_correct(Recipe.load(home / "recipe.json")):
        model.heads.woc.load_state_dict(model.heads.mlm.state_dict())  # as `load_public` does: a better start than none
    return model


def _learns_to_correct(recipe: Recipe) -> bool:
    return recipe.tags is not None and recipe.tags.weights.correction > 0


def start_directory(start: str) -> Path:
    """Return the directory of a pretrained run by its name, or of a run or a saved model by its path.

    Raises:
        ItmlabError: it is neither.
    """
    if start in shipped_names():
        return shipped_directory(start)
    if (Path(start) / "config.json").is_file():
        return Path(start)
    if start in PUBLIC_STARTS:
        raise ItmlabError(f"{start}, which the paper begins with, does not ship", remedy=PUBLIC_STARTS[start])
    remedy = f"shipped runs: {', '.join(shipped_names()) or 'none in this installation'}"
    raise ItmlabError("no shipped run and no directory of a saved model", where=repr(start), remedy=remedy)


def inputs(recipe: Recipe) -> dict[str, str]:
    """Return a hash of each file that a recipe names, as a run must not resume after one has changed."""
    files = {}
    if recipe.start is not None:
        files["start"] = start_directory(recipe.start) / WEIGHTS_FILE
    if recipe.extra_negatives is not None:
        files["extra_negatives"] = Path(recipe.extra_negatives.path)
    return {name: file_hash(path) for name, path in files.items()}


def file_hash(path: Path) -> str:
    """Return the SHA-256 of a file; one that cannot be read is an ItmlabError."""
    try:
        with open(ordinary(path), "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise unusable(error, path) from None


def described(recipe: Recipe, data: CaptionSet) -> dict[str, Any]:
    """Return what a run directory says about the run's origin: the content of its recipe.json and data.json."""
    about: dict[str, Any] = {
        "name": data.name,
        "images": len(data),
        "captions": len(data.captions),
        "splits": {name: len(indices) for name, indices in data.splits.items()},
        "fingerprint": data.fingerprint,
    }
    # options of `scenes` other than the default, so that a command that is given the run draws the same scenes
    if getattr(data.regions, "kind", "detector") != "detector":
        about["regions"] = data.regions.kind
    if files := inputs(recipe):
        about["inputs"] = files
    return {"recipe.json": recipe.to_json(), "data.json": about}


def refuse_another(directory: Path, origin: dict[str, Any], *, resume: bool) -> None:
    """Check that `directory` is empty or holds a run of this `origin` (see `described`); write nothing.

    A run that failed or was killed before its first checkpoint is ignored.

    Raises:
        ItmlabError: other files, a run of another recipe or other data, or any run with `resume=False`.
    """
    existing = [name for name in (*RUN_FILES, CHECKPOINT_FILE) if (directory / name).exists()]
    if existing and existing[0] != "recipe.json":
        raise ItmlabError(f"contains {existing[0]} but not recipe.json", where=str(directory), remedy=REMEDY)
    if not is_begun(directory):
        return
    if not resume:
        raise ItmlabError("contains a run already", where=str(directory), remedy=f"resume it, or {REMEDY}")
    for name, here in origin.items():
        saved = read_json(directory / name, remedy=REMEDY)
        if difference := first_difference(saved, here):
            message = f"contains a run with another {Path(name).stem}: {difference}"
            raise ItmlabError(message, where=str(directory), remedy=REMEDY)


def is_begun(directory: Path) -> bool:
    """Whether a run has saved anything here that training can continue from."""
    return any((directory / name).exists() for name in (WEIGHTS_FILE, CHECKPOINT_FILE))


def begin(directory: Path, origin: dict[str, Any]) -> None:
    """Write the origin of the run in `directory`, over what a run without a checkpoint left there."""
    for leftover in directory.glob(".*.tmp"):  # of a process that was killed while writing
        leftover.unlink(missing_ok=True)
    if not is_begun(directory):
        for name, content in origin.items():
            write_json(directory / name, content)


def first_difference(saved: Any, here: Any, field: str = "") -> str | None:
    """Describe the first field in which two JSON values differ."""
    if isinstance(saved, dict) and isinstance(here, dict):
        for name in here | saved:
            if difference := first_difference(saved.get(name), here.get(name), join(field, name)):
                return difference
        return None
    return None if saved == here else f"{field} is {shown(saved)} there and {shown(here)} here"
