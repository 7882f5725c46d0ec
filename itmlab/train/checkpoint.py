"""Files of a run: the checkpoint, the lock, the lines of its history; and where the pretrained runs are."""

import errno
import json
import os
import warnings
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import psutil
import torch

from ..errors import ItmlabError
from ..models.base import MODEL_FILES
from ..storage import ordinary, unusable, usable, weights_directory

CHECKPOINT_FILE, LOCK_FILE = "checkpoint.pt", "lock"
RUN_FILES = ("recipe.json", "data.json", "history.jsonl", *MODEL_FILES)
REMEDY = "delete this directory, or train into another one"
LARGEST_HISTORY = 2**30  # bytes; a record has about a thousand


def load_checkpoint(path: Path) -> dict[str, Any]:
    """Read a checkpoint on the CPU, without running code from it.

    Raises:
        ItmlabError: a missing or damaged file, or one that holds anything but tensors, numbers and texts.
    """
    ordinary(path, remedy=REMEDY)
    try:
        with zipfile.ZipFile(path) as archive:
            damaged = archive.testzip()  # compares checksums, which `torch.load` does not
        state = torch.load(path, map_location="cpu", weights_only=True)
        if damaged is not None or not isinstance(state, dict):
            raise ValueError(f"wrong checksum of {damaged}" if damaged else f"holds {type(state).__name__}")
        return state
    except OSError as error:
        raise unusable(error, path) from None
    except Exception as error:  # damage has many types
        reason = " ".join(str(error).split())[:120]
        raise ItmlabError(f"damaged checkpoint: {reason}", where=str(path), remedy=REMEDY) from None


def refuse_links(directory: Path) -> None:
    """Refuse a run directory in which a file is a link, as writing or copying it could reach outside.

    Raises:
        ItmlabError: a file of a run that is a link, a pipe, a device or a folder.
    """
    for path in (directory / name for name in (*RUN_FILES, CHECKPOINT_FILE, LOCK_FILE)):
        if path.is_symlink() or (path.exists() and not path.is_file()):
            remedy = "put a copy of the file in its place"
            raise ItmlabError("a link, or not a regular file, in a run's directory", where=str(path), remedy=remedy)


WITHOUT_LOCKS = (errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS)  # what file systems without locks answer


@contextmanager
def locked(directory: Path) -> Iterator[None]:
    """Keep other processes from writing into a run directory during the block.

    The file `lock` holds the number of the process. The lock of a process that has ended is replaced. Where the file
    system has no locks, a warning says that nothing keeps others away.

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
    except OSError as error:
        if error.errno not in WITHOUT_LOCKS:
            raise
        message = f"{directory}: works without a lock ({error.strerror}); let no other process train here"
        warnings.warn(message, stacklevel=2)
    try:
        yield
    finally:
        path.unlink(missing_ok=True)
        with suppress(OSError):  # not empty
            directory.rmdir()


def read_json_lines(path: Path) -> list[dict[str, Any]]:
    """Read all records of a JSON-lines file; an incomplete last line is left out.

    Raises:
        ItmlabError: a line that is not a JSON object, with its number.
    """
    if not path.exists():
        return []
    with usable(path):
        if ordinary(path).stat().st_size > LARGEST_HISTORY:
            raise ItmlabError("too large for the history of a run", where=str(path), remedy=REMEDY)
        lines = path.read_bytes().split(b"\n")[:-1]
    records = []
    for number, line in enumerate(lines, 1):
        try:
            records.append(json.loads(line, object_hook=integer_keys))
            if not isinstance(records[-1], dict):
                raise ValueError("not an object")
        except (ValueError, RecursionError) as error:
            raise ItmlabError(f"not JSON lines: {error}", where=f"{path}:{number}") from None
    return records


def integer_keys(record: dict[str, Any]) -> dict[Any, Any]:
    """Turn the cut-offs of recalls into integers, which JSON cannot have as keys.

    >>> integer_keys({"1": 30.2, "5": 61.0}), integer_keys({"rsum": 91.2})
    ({1: 30.2, 5: 61.0}, {'rsum': 91.2})
    """
    return {int(key): value for key, value in record.items()} if record and all(map(str.isdigit, record)) else record


HOME = weights_directory() / "pretrained"


def shipped_names() -> list[str]:
    """Return the names of the pretrained runs."""
    return sorted(path.parent.name for path in HOME.glob("*/recipe.json"))


def shipped_directory(name: str) -> Path:
    """Return the directory of a pretrained run."""
    return HOME / name
