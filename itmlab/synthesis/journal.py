"""What an export has done so far: a file to which each finished batch is added as one line, on the disk at once."""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ..errors import ItmlabError
from ..storage import sync_directory
from .header import refuse_other


class Journal:
    """A header and the rows of each finished batch, a line of JSON each, in `path`.

    Opened again after a kill at any moment it holds the batches that were finished, and a line that was cut short is
    forgotten. With `resume=False` it begins anew. One begun with another header is an ItmlabError that names what
    differs.
    """

    def __init__(self, path: Path, header: dict[str, Any], *, resume: bool = True):
        self.path = path
        self.batches = self.negatives = self.left_out = 0
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file = os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT, 0o644), "r+b")
        try:
            self._hold()
            if not resume:
                self._file.truncate(0)
            self._begin(header)
        except BaseException:
            self._file.close()
            raise

    def _hold(self) -> None:
        """Keep other processes from writing here meanwhile; the system lets go however this one ends."""
        try:
            import fcntl
        except ImportError:  # not on Windows, which goes without
            return
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ItmlabError(
                "another process is writing here", where=str(self.path), remedy="wait for it, or write to another file"
            ) from None

    def _begin(self, header: dict[str, Any]) -> None:
        whole, first = 0, True
        for line, found in self._lines():
            if first:
                refuse_other(found, header, self.path)
            else:
                self.batches += 1
                self.negatives += len(found["rows"])
                self.left_out += found["left_out"]
            whole, first = whole + len(line), False
        self._file.truncate(whole)
        self._file.seek(whole)
        if first:
            self._append(header)
            sync_directory(self.path.parent)

    def add(self, rows: list[dict[str, Any]], left_out: int) -> None:
        """Add a finished batch: its rows, and how many negatives were left out of it."""
        self._append({"rows": rows, "left_out": left_out})
        self.batches += 1
        self.negatives += len(rows)
        self.left_out += left_out

    def rows(self) -> Iterator[dict[str, Any]]:
        """Every row so far, in order."""
        for number, (_, found) in enumerate(self._lines()):
            if number:
                yield from found["rows"]

    def close(self, *, remove: bool = False) -> None:
        """Close the file, and with `remove` delete it."""
        self._file.close()
        if remove:
            self.path.unlink(missing_ok=True)

    def _append(self, value: dict[str, Any]) -> None:
        self._file.seek(0, os.SEEK_END)
        self._file.write(json.dumps(value, ensure_ascii=False, allow_nan=False).encode() + b"\n")
        self._file.flush()
        os.fsync(self._file.fileno())

    def _lines(self) -> Iterator[tuple[bytes, dict[str, Any]]]:
        """The lines that are whole, up to the first that is not."""
        self._file.seek(0)
        for line in self._file:
            try:
                found = json.loads(line) if line.endswith(b"\n") else None
            except ValueError:
                found = None
            if not isinstance(found, dict):
                return
            yield line, found
