"""What training leaves on the disk: checkpoints, and a record as JSON lines; and where the shipped runs lie.

A checkpoint is a directory of safetensors; replacing one pointer file switches to it. Whenever the process dies, the
pointer names a directory that was wholly on the disk before the pointer was.
"""

import json
import os
import shutil
from pathlib import Path
from typing import Any

from safetensors.torch import load_file, save
from torch import Tensor

from ..errors import ItmlabError
from ..storage import inside, read_json, sync_directory, write_bytes, write_json

Tensors = dict[str, dict[str, Tensor]]  # part (model, optimiser, ...) -> name -> tensor


class Checkpoints:
    """The checkpoints under `directory`, of which the newest is kept."""

    def __init__(self, directory: Path):
        self.directory = directory
        self.pointer = directory / "state.json"

    def save(self, tensors: Tensors, position: dict[str, Any]) -> None:
        """Write a checkpoint and switch to it; `position` is JSON and holds a `step`."""
        name = f"step-{position['step']:08d}-{position['epoch']:04d}-{position['batch']:06d}"
        home = self.directory / name
        if self.read_pointer().get("tensors") == name:
            return  # nothing has moved since
        shutil.rmtree(home, ignore_errors=True)  # a leftover of a kill before the switch
        for part, named in tensors.items():
            plain = {key: value.detach().cpu().contiguous().clone() for key, value in named.items()}
            write_bytes(home / f"{part}.safetensors", save(plain))
        sync_directory(self.directory)
        write_json(self.pointer, {"tensors": name, "parts": sorted(tensors), "position": position})
        self._forget_all_but(name)

    def finish(self, position: dict[str, Any]) -> None:
        """Say that the run is complete, and drop the tensors that only resuming needs."""
        write_json(self.pointer, {"tensors": None, "parts": [], "position": position})
        self._forget_all_but(None)

    def read_pointer(self) -> dict[str, Any]:
        """What the pointer file says; empty before the first checkpoint."""
        return read_json(self.pointer) if self.pointer.exists() else {}

    def load(self) -> tuple[Tensors, dict[str, Any]] | None:
        """The newest checkpoint's tensors and position, or None before the first; a damaged one is an ItmlabError."""
        pointer = self.read_pointer()
        if not pointer:
            return None
        try:
            name, parts, position = pointer["tensors"], pointer["parts"], pointer["position"]
            home = self.directory if name is None else inside(self.directory, name)
            return {part: load_file(inside(home, f"{part}.safetensors")) for part in parts}, position
        except ItmlabError:
            raise
        except Exception as error:  # safetensors has an error class of its own for each way to be damaged
            what, remedy = f"the resume state cannot be read: {error}", "train into a new directory"
            raise ItmlabError(what, where=str(self.pointer), remedy=remedy) from None

    def _forget_all_but(self, name: str | None) -> None:
        for home in self.directory.glob("step-*"):
            if home.name != name:
                shutil.rmtree(home, ignore_errors=True)


class JsonLines:
    """A file of one JSON object a line, cut back to the last checkpoint when a run is resumed.

    `write=False` (all processes but the first) writes nothing.
    """

    def __init__(self, path: Path, *, write: bool = True):
        self.path = path
        self._file = open(path, "ab") if write else None  # noqa: SIM115 (closed by close)

    def append(self, record: dict[str, Any]) -> None:
        """Write one record (NaN and infinities are refused)."""
        if self._file:
            self._file.write((json.dumps(record, ensure_ascii=False, allow_nan=False) + "\n").encode())

    def synchronise(self) -> int:
        """Put everything on the disk; the file's length in bytes."""
        if not self._file:
            return 0
        self._file.flush()
        os.fsync(self._file.fileno())
        return self._file.tell()

    def cut(self, length: int) -> None:
        """Forget what was written after the first `length` bytes."""
        if self._file:
            self._file.truncate(length)
            self._file.seek(0, os.SEEK_END)

    def close(self) -> None:
        """Put everything on the disk and let go of the file."""
        if self._file:
            self.synchronise()
            self._file.close()


def read_json_lines(path: Path) -> list[dict[str, Any]]:
    """All records of a JSON-lines file, recall's cut-offs as numbers; a last line cut short by a kill is left out."""
    if not path.exists():
        return []
    lines = path.read_bytes().split(b"\n")[:-1]
    try:
        return [json.loads(line, object_hook=numbered) for line in lines]
    except ValueError as error:
        raise ItmlabError(f"not JSON lines: {error}", where=str(path)) from None


def numbered(record: dict[str, Any]) -> dict[Any, Any]:
    """Cut-offs as numbers, which JSON cannot say.

    >>> numbered({"1": 30.2, "5": 61.0}), numbered({"rsum": 91.2})
    ({1: 30.2, 5: 61.0}, {'rsum': 91.2})
    """
    return {int(key): value for key, value in record.items()} if record and all(map(str.isdigit, record)) else record


HOME = Path(__file__).parent.parent / "pretrained"


def shipped_names() -> list[str]:
    """The names of the runs that ship with the package."""
    return sorted(path.parent.name for path in HOME.glob("*/recipe.json"))


def shipped_directory(name: str) -> Path:
    """Where one of them lies."""
    return HOME / name
