"""A run directory: whose it is, checked before anything in it is gone on with."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ..data.captionset import CaptionSet
from ..errors import ItmlabError
from ..storage import read_json, write_json
from .beginning import inputs
from .recipe import Recipe

ANOTHER = "train into another directory, or delete this one"
NEIGHBOUR = "wait for it, or train into another directory"


@contextmanager
def held(directory: Path) -> Iterator[None]:
    """Keep other processes from training in `directory` meanwhile; the system lets go of it however this one ends."""
    try:
        import fcntl
    except ImportError:  # not on Windows, which goes without
        yield
        return
    directory.mkdir(parents=True, exist_ok=True)
    with open(directory / "lock", "ab") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ItmlabError("another process is training here", where=str(directory), remedy=NEIGHBOUR) from None
        yield


def begin(directory: Path, recipe: Recipe, data: CaptionSet, *, resume: bool) -> None:
    """Write recipe.json and data.json, or see that those there are the same; an ItmlabError says what differs."""
    for left in (*directory.glob(".*.tmp"), *directory.glob("resume/.*.tmp")):
        left.unlink()  # of a process killed while writing
    described = {
        "name": data.name,
        "images": len(data),
        "captions": len(data.captions),
        "splits": {name: len(indices) for name, indices in data.splits.items()},
        "fingerprint": data.fingerprint,
    }
    files = {"recipe": (directory / "recipe.json", recipe.to_json()), "data": (directory / "data.json", described)}
    read = inputs(recipe)
    if read:
        files["input"] = (directory / "inputs.json", read)
    for what, (path, value) in files.items():
        if not path.exists():
            write_json(path, value)
            continue
        if not resume:
            raise ItmlabError("there is a run here already", where=str(directory), remedy=f"resume it, or {ANOTHER}")
        difference = first_difference(read_json(path), value)
        if difference:
            raise ItmlabError(f"this run has another {what}: {difference}", where=str(directory), remedy=ANOTHER)


def first_difference(there: Any, here: Any, field: str = "") -> str | None:
    """In words, the first field in which two JSON values differ."""
    if isinstance(there, dict) and isinstance(here, dict):
        for name in [*here, *(name for name in there if name not in here)]:
            path = f"{field}.{name}" if field else name
            found = first_difference(there.get(name), here.get(name), path)
            if found:
                return found
        return None
    return None if there == here else f"{field} is {there!r} there and {here!r} here"
