"""Run directories: the files of a run, its lock and history, its initial weights, and what a resume must match."""

import hashlib
import json
import os
import zipfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from numbers import Real
from pathlib import Path
from typing import Any

import psutil
import torch
from torch import nn

from ..data.captionset import CaptionSet
from ..errors import ItmlabError, named
from ..fields import join, shown
from ..models import build_from, build_model, load_model
from ..models.base import MODEL_FILES, WEIGHTS_FILE
from ..storage import ordinary, read_bytes, read_json, usable, weights_directory, write_json
from .recipes import Recipe

CHECKPOINT_FILE, LOCK_FILE, HISTORY_FILE = "checkpoint.pt", "lock", "history.jsonl"
RUN_FILES = ("recipe.json", "data.json", HISTORY_FILE, *MODEL_FILES)
REMEDY = "delete this directory, or train into another one"


def load_checkpoint(path: Path) -> dict[str, Any]:
    """Read a checkpoint on the CPU, without running code from it.

    Damage raises errors of many types, as does a file that holds anything but tensors, numbers and texts.
    """
    with zipfile.ZipFile(ordinary(path)) as archive:
        if damaged := archive.testzip():  # compares checksums, which `torch.load` does not
            raise ValueError(f"wrong checksum of {damaged}")
    return torch.load(path, map_location="cpu", weights_only=True)


def refuse_links(directory: Path) -> None:
    """Refuse a run directory in which a file is a link, as writing or copying it could reach outside.

    Raises:
        ItmlabError: a file of a run that is a link, a pipe, a device or a folder.
    """
    for path in (directory / name for name in (*RUN_FILES, CHECKPOINT_FILE, LOCK_FILE)):
        if path.is_symlink() or (path.exists() and not path.is_file()):
            remedy = "put a copy of the file in its place"
            raise ItmlabError("a link, or not a regular file, in a run's directory", where=str(path), remedy=remedy)


@contextmanager
def locked(directory: Path) -> Iterator[None]:
    """Keep other processes from writing into a run directory during the block.

    The file `lock` holds the number of the process; it needs no locks of the file system (NFS may have none). The lock
    of a process that has ended is replaced.

    Raises:
        ItmlabError: another running process holds the lock, or a file is a link.
    """
    directory.mkdir(parents=True, exist_ok=True)
    refuse_links(directory)
    path = directory / LOCK_FILE
    with suppress(OSError, ValueError):
        if not psutil.pid_exists(int(path.read_text())):
            path.unlink()
    try:
        with open(path, "x") as file:
            file.write(str(os.getpid()))
    except FileExistsError:
        remedy = f"wait for it, or delete {path} if no process trains here"
        raise ItmlabError("another process is training here", where=str(directory), remedy=remedy) from None
    try:
        yield
    finally:
        path.unlink(missing_ok=True)
        with suppress(OSError):  # not empty
            directory.rmdir()


# What the records of a history must have, by kind; an epoch has all or none of `VALIDATED`.
FIELDS: dict[str, dict[str, type]] = {
    "step": {"epoch": Real, "step": Real, "loss": Real, "learning_rate": Real, "gradient_norm": Real},
    "epoch": {"epoch": Real, "step": Real, "loss": Real},
    "warning": {"epoch": Real, "step": Real, "message": str},
}
VALIDATED: dict[str, type] = {"rsum": Real, "i2t": dict, "t2i": dict}


def read_history(directory: Path) -> list[dict[str, Any]]:
    """Read all records of a run's history; an incomplete last line is left out.

    Raises:
        ItmlabError: a line that is not such a record, with its number.
    """
    path = directory / HISTORY_FILE
    records = []
    for number, line in enumerate(read_bytes(path).split(b"\n")[:-1] if path.exists() else (), 1):
        try:
            record = json.loads(line, object_hook=integer_keys)
            is_validated = record["kind"] == "epoch" and VALIDATED.keys() & record.keys()
            for name, hint in (FIELDS[record["kind"]] | (VALIDATED if is_validated else {})).items():
                if not isinstance(record[name], hint):
                    raise TypeError(f"{name} is {shown(record[name])}")
        except (ValueError, RecursionError, KeyError, TypeError) as error:
            message = f"not a record of a known kind with its fields: {type(error).__name__} {error}"
            remedy = "evaluate and search work without history.jsonl: delete it"
            raise ItmlabError(message, where=f"{path}:{number}", remedy=remedy) from None
        records.append(record)
    return records


def integer_keys(record: dict[str, Any]) -> dict[Any, Any]:
    """Turn the cut-offs of recalls into integers, which JSON cannot have as keys.

    >>> integer_keys({"1": 30.2, "5": 61.0}), integer_keys({"rsum": 91.2})
    ({1: 30.2, 5: 61.0}, {'rsum': 91.2})
    """
    return {int(key): value for key, value in record.items()} if record and all(map(str.isdigit, record)) else record


# Weights that training begins with.

HOME = weights_directory() / "pretrained"


def shipped_names() -> list[str]:
    """Return the names of the pretrained runs."""
    return sorted(path.parent.name for path in HOME.glob("*/recipe.json"))


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
        return HOME / start
    if (Path(start) / "config.json").is_file():
        return Path(start)
    shipped = ", ".join(shipped_names()) or "none in this installation"
    remedy = f"name a folder, or one of {shipped}; to use public weights, save what itmlab.models.load_public returns"
    raise ItmlabError(f"no folder of a saved model and no pretrained run {start!r}", remedy=remedy)


def file_hash(path: Path) -> str:
    """Return the SHA-256 of a file; one that cannot be read is an ItmlabError."""
    with usable(path), open(ordinary(path), "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def described(recipe: Recipe, data: CaptionSet) -> dict[str, Any]:
    """Return what a run directory says about the run's origin: the content of its recipe.json and data.json."""
    about: dict[str, Any] = {"name": data.name, "images": len(data), "captions": len(data.captions)}
    about["splits"] = {name: len(indices) for name, indices in data.splits.items()}
    about["fingerprint"] = data.fingerprint
    # options of `scenes` other than the default, so that a command that is given the run draws the same scenes
    if getattr(data.regions, "kind", "detector") != "detector":
        about["regions"] = data.regions.kind
    # a run must not resume after a file that its recipe names has changed
    files = {}
    if recipe.start is not None:
        files["start"] = start_directory(recipe.start) / WEIGHTS_FILE
    if recipe.extra_negatives is not None:
        files["extra_negatives"] = Path(recipe.extra_negatives.path)
    if files:
        about["inputs"] = {name: file_hash(path) for name, path in files.items()}
    return {"recipe.json": recipe.to_json(), "data.json": about}


def refuse_another(directory: Path, origin: dict[str, Any]) -> None:
    """Check that `directory` is empty or holds a run of this `origin` (see `described`); write nothing.

    A run that failed or was killed before its first checkpoint is ignored.

    Raises:
        ItmlabError: other files, or a run of another recipe or other data.
    """
    existing = [name for name in (*RUN_FILES, CHECKPOINT_FILE) if (directory / name).exists()]
    if existing and existing[0] != "recipe.json":
        raise ItmlabError(f"contains {existing[0]} but not recipe.json", where=str(directory), remedy=REMEDY)
    for name, here in origin.items() if is_begun(directory) else ():
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
