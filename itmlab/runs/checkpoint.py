"""What training leaves on the disk: checkpoints, and a record as JSON lines; and where the shipped runs lie.

A checkpoint is a directory of safetensors; replacing one pointer file switches to it. Whenever the process dies, the
pointer names a directory that was wholly on the disk before the pointer was.
"""

import json
import os
import shutil
import warnings
from pathlib import Path
from typing import Any

from safetensors.torch import save
from torch import Tensor

from ..errors import ItmlabError
from ..models.base import read_weights
from ..storage import (
    NO_SEAL,
    inside,
    ordinary,
    read_json,
    read_sealed,
    sync_directory,
    usable,
    weights_directory,
    write_sealed,
)

Tensors = dict[str, dict[str, Tensor]]  # part (model, optimiser, ...) -> name -> tensor
ANEW = "train into a new directory"


class Checkpoints:
    """The checkpoints under `directory`, of which the newest is kept; each file bears its checksum."""

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
        seals = {}
        for part, named in tensors.items():
            plain = {key: value.detach().cpu().contiguous().clone() for key, value in named.items()}
            seals[part] = write_sealed(home / f"{part}.safetensors", save(plain, metadata={"sha256": NO_SEAL}))
        sync_directory(self.directory)
        self.point_at(name, seals, position)

    def finish(self, position: dict[str, Any]) -> None:
        """Say that the run is complete, and drop the tensors that only resuming needs."""
        self.point_at(None, {}, position)

    def point_at(self, name: str | None, seals: dict[str, str], position: dict[str, Any]) -> None:
        """Switch to the tensors in the directory `name`, of whose parts these are the seals, and drop all others."""
        said = {"tensors": name, "parts": sorted(seals), "seals": seals, "position": position, "sha256": NO_SEAL}
        write_sealed(self.pointer, (json.dumps(said, indent=2, allow_nan=False) + "\n").encode())
        self.forget_others()

    def read_pointer(self) -> dict[str, Any]:
        """What the pointer file says; empty before the first checkpoint, an ItmlabError if it is damaged."""
        if not self.pointer.exists():
            return {}
        said = read_json(self.pointer, remedy=ANEW)
        read_sealed(self.pointer, remedy=ANEW)
        kinds = {"tensors": (str, type(None)), "parts": list, "position": dict}
        fit = isinstance(said, dict) and all(isinstance(said.get(name, 0), kind) for name, kind in kinds.items())
        # seals are in no state that bears none itself: an older one
        if not fit or not isinstance(said.get("seals", {}), dict) or ("seals" in said and "sha256" not in said):
            raise ItmlabError("not the state of a run", where=str(self.pointer), remedy=ANEW)
        return said

    def load(self) -> tuple[Tensors, dict[str, Any]] | None:
        """The newest checkpoint's tensors and position, or None before the first; a damaged one is an ItmlabError."""
        pointer = self.read_pointer()
        if not pointer:
            return None
        home = self.directory if pointer["tensors"] is None else inside(self.directory, pointer["tensors"])
        files = {str(part): inside(home, f"{part}.safetensors") for part in pointer["parts"]}
        try:
            seals = pointer.get("seals", {})
            return {part: read_weights(path, seal=seals.get(part)) for part, path in files.items()}, pointer["position"]
        except ItmlabError as error:
            what = f"the resume state cannot be read: {error.what}"
            raise ItmlabError(what, where=error.where, remedy=ANEW) from None

    def others(self) -> list[Path]:
        """Tensors that the pointer does not name: of a process killed before or after it switched to others."""
        name = self.read_pointer().get("tensors")
        return [home for home in self.directory.glob("step-*") if home.name != name]

    def forget_others(self) -> None:
        """Drop all tensors but those that the pointer names."""
        for home in self.others():
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

    def cut(self, length: int | None = None) -> None:
        """Forget what was written after the first `length` bytes (None: after the last whole line).

        Where these are no longer all there, or no JSON lines, what follows the last good one goes too, with a warning.
        """
        if not self._file:
            return
        good = kept = 0
        for line in self.path.read_bytes()[:length].split(b"\n")[:-1]:
            try:
                _record(line)
            except ValueError:
                break
            good, kept = good + len(line) + 1, kept + 1
        if length is not None and good < length:
            what = f"{self.path}: damaged or cut after line {kept}, so the record goes on from there"
            warnings.warn(what, stacklevel=2)
        self._file.truncate(good)
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
    records = []
    with usable(path):
        lines = ordinary(path).read_bytes().split(b"\n")[:-1]
    for number, line in enumerate(lines, 1):
        try:
            records.append(_record(line))
        except ValueError as error:
            raise ItmlabError(f"not JSON lines: {error}", where=f"{path}:{number}") from None
    return records


def _record(line: bytes) -> dict[str, Any]:
    """The object that a line holds, else a ValueError."""
    try:
        record = json.loads(line, object_hook=numbered)
    except RecursionError:
        raise ValueError("brackets within brackets without end") from None
    if not isinstance(record, dict):
        raise ValueError("no object with fields")
    return record


def numbered(record: dict[str, Any]) -> dict[Any, Any]:
    """Cut-offs as numbers, which JSON cannot say.

    >>> numbered({"1": 30.2, "5": 61.0}), numbered({"rsum": 91.2})
    ({1: 30.2, 5: 61.0}, {'rsum': 91.2})
    """
    return {int(key): value for key, value in record.items()} if record and all(map(str.isdigit, record)) else record


HOME = weights_directory() / "pretrained"


def shipped_names() -> list[str]:
    """The names of the runs that ship with the package."""
    return sorted(path.parent.name for path in HOME.glob("*/recipe.json"))


def shipped_directory(name: str) -> Path:
    """Where one of them lies."""
    return HOME / name
