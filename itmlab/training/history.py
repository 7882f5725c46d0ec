"""A run's record as JSON lines, cut back to the last checkpoint when a run is resumed."""

import json
import os
from pathlib import Path
from typing import Any

from ..errors import ItmlabError


class JsonLines:
    """A file of one JSON object a line. `write=False` (all processes but the first) writes nothing."""

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
    """{"1": 30.2, "5": 61.0} as {1: 30.2, 5: 61.0}, which JSON cannot say."""
    return {int(key): value for key, value in record.items()} if record and all(map(str.isdigit, record)) else record
