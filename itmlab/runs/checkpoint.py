"""What training leaves on the disk: one checkpoint file, records as JSON lines, a lock; and the pretrained runs."""

import json
import os
import pickle
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import psutil
import torch

from ..errors import ItmlabError
from ..storage import atomic_file, ordinary, usable, weights_directory

CHECKPOINT_FILE = "checkpoint.pt"
REMEDY = "delete this directory, or train into another one"


def save_checkpoint(path: Path, state: dict[str, Any]) -> None:
    """Write `state` (tensors, numbers and texts in dictionaries) atomically with `torch.save`."""
    with atomic_file(path) as file:
        torch.save(state, file)


def load_checkpoint(path: Path) -> dict[str, Any]:
    """Read a checkpoint on the CPU, without running code from it.

    Raises:
        ItmlabError: a missing or damaged file, or one that holds anything but tensors, numbers and texts.
    """
    with usable(path):
        ordinary(path, remedy=REMEDY)
        try:
            with zipfile.ZipFile(path) as archive:
                damaged = archive.testzip()  # compares checksums, which `torch.load` does not
            if damaged is not None:
                raise ValueError(f"wrong checksum of {damaged}")
            state = torch.load(path, map_location="cpu", weights_only=True)
            if not isinstance(state, dict):
                raise ValueError(f"holds {type(state).__name__}, not a dictionary")
            return state
        except (ValueError, RuntimeError, EOFError, KeyError, zipfile.BadZipFile, pickle.UnpicklingError) as error:
            reason = " ".join(str(error).split())[:120]
            raise ItmlabError(f"damaged checkpoint: {reason}", where=str(path), remedy=REMEDY) from None


@contextmanager
def locked(directory: Path) -> Iterator[None]:
    """Keep other processes from training in `directory` during the block.

    The file `lock` holds the number of the process. The lock of a process that has ended is taken over. Folders that
    were created for the lock are removed if nothing else was written into them.

    Raises:
        ItmlabError: another running process holds the lock.
    """
    created = [folder for folder in (directory, *directory.parents) if not folder.exists()]
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / "lock"
    with suppress(OSError, ValueError):
        if not psutil.pid_exists(int(path.read_text())):
            path.unlink()
    try:
        with open(path, "x") as file:
            file.write(str(os.getpid()))
    except FileExistsError:
        remedy = f"wait for it, or delete {path} if nothing trains here"
        raise ItmlabError("another process is training here", where=str(directory), remedy=remedy) from None
    try:
        yield
    finally:
        path.unlink(missing_ok=True)
        for folder in created:
            with suppress(OSError):  # not empty
                folder.rmdir()


class JsonLines:
    """A file with one JSON object per line.

    Args:
        path: the file.
        length: bytes to keep of an existing file; what a killed process wrote after its last checkpoint is dropped.
        write: False in all processes but the first, which then write nothing.
    """

    def __init__(self, path: Path, *, length: int, write: bool = True):
        self._file = None
        if write:
            lines = path.read_bytes()[:length] if path.exists() else b""
            self._file = open(path, "ab")  # noqa: SIM115 (closed by `close`)
            self._file.truncate(lines.rfind(b"\n") + 1)

    def append(self, record: dict[str, Any]) -> None:
        """Write one record; NaN and infinities are a ValueError."""
        if self._file:
            self._file.write((json.dumps(record, ensure_ascii=False, allow_nan=False) + "\n").encode())

    def synchronise(self) -> int:
        """Put everything on the disk and return the file's length in bytes."""
        if not self._file:
            return 0
        self._file.flush()
        os.fsync(self._file.fileno())
        return self._file.tell()

    def close(self) -> None:
        """Put everything on the disk and close the file."""
        if self._file:
            self.synchronise()
            self._file.close()


def read_json_lines(path: Path) -> list[dict[str, Any]]:
    """Read all records of a JSON-lines file; an incomplete last line is left out.

    Raises:
        ItmlabError: a line that is not a JSON object, with its number.
    """
    if not path.exists():
        return []
    with usable(path):
        lines = ordinary(path).read_bytes().split(b"\n")[:-1]
    records = []
    for number, line in enumerate(lines, 1):
        try:
            record = json.loads(line, object_hook=integer_keys)
            if not isinstance(record, dict):
                raise ValueError("not an object")
        except (ValueError, RecursionError) as error:
            raise ItmlabError(f"not JSON lines: {error}", where=f"{path}:{number}") from None
        records.append(record)
    return records


def integer_keys(record: dict[str, Any]) -> dict[Any, Any]:
    """Turn the cut-offs of recalls into integers, which JSON cannot have as keys.

    >>> integer_keys({"1": 30.2, "5": 61.0}), integer_keys({"rsum": 91.2})
    ({1: 30.2, 5: 61.0}, {'rsum': 91.2})
    """
    return {int(key): value for key, value in record.items()} if record and all(map(str.isdigit, record)) else record


HOME = weights_directory() / "pretrained"


def shipped_names() -> list[str]:
    """The names of the pretrained runs."""
    return sorted(path.parent.name for path in HOME.glob("*/recipe.json"))


def shipped_directory(name: str) -> Path:
    """The directory of a pretrained run."""
    return HOME / name
