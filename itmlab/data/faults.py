"""Faults in data: all of them collected in one pass, then one error, or (on request) skipped, counted and listed."""

import hashlib
import json
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ..errors import ItmlabError
from ..storage import cache_directory, write_bytes

SHOWN = 20


@dataclass(frozen=True)
class Fault:
    """One thing wrong with data: the file, the row in it (line number, key or None) and what is wrong.

    >>> print(Fault("captions.jsonl", 3, "it is empty"))
    captions.jsonl:3: it is empty
    """

    file: str
    row: str | int | None
    what: str

    def __str__(self) -> str:
        place = self.file if self.row is None else f"{self.file}:{self.row}"
        return one_line(f"{place}: {self.what}")


class FaultyData(ItmlabError):
    """Data with faults: a summary line, then a line for each of the first 20; `faults` holds all of them."""

    def __init__(self, faults: Sequence[Fault], *, name: str, listed_in: Path | None):
        self.faults = list(faults)
        lines = [str(fault) for fault in self.faults[:SHOWN]]
        if listed_in is not None:
            lines.append(f"… and {len(self.faults) - SHOWN} more, all listed in {listed_in}")
        listed = f" {lines[0]}" if len(lines) == 1 else "".join(f"\n  {line}" for line in lines) + "\n"
        super().__init__(
            f"{_counted(self.faults)} in the data:{listed}",
            where=name,
            remedy='mend them, or leave these rows out with on_fault="skip"',
        )


class Faults:
    """Collects the faults of one load; `settle` raises them together or returns what was skipped.

    `on_fault` is "error" or "skip"; what was skipped is listed in `skipped_to` (JSON lines), by default in the cache.

    >>> faults = Faults("mine")
    >>> faults.add("captions.jsonl", 3, "it is empty")
    >>> faults.settle(kept=9)
    Traceback (most recent call last):
    itmlab.data.faults.FaultyData: mine: 1 fault in the data: captions.jsonl:3: it is empty — mend them, or ...
    """

    def __init__(self, name: str, *, on_fault: str = "error", skipped_to: str | Path | None = None, source: str = ""):
        if on_fault not in ("error", "skip"):
            raise ItmlabError(f"on_fault={on_fault!r} is neither of the two choices", remedy='use "error" or "skip"')
        self.name, self.on_fault, self.found = name, on_fault, []
        self._skipped_to = None if skipped_to is None else Path(skipped_to)
        self._source = source

    def add(self, file: str | Path, row: str | int | None, what: str) -> None:
        """Note that `row` of `file` is wrong."""
        self.found.append(Fault(str(file), row, what))

    @contextmanager
    def noting(self, file: str | Path, row: str | int | None) -> Iterator[None]:
        """Note an ItmlabError of the block as a fault of this row, and go on behind it."""
        try:
            yield
        except ItmlabError as error:
            self.add(file, row, str(error))

    def settle(self, *, kept: int) -> list[Fault]:
        """Raise FaultyData, or with on_fault="skip" write the list and return it; `kept` images are left."""
        if not self.found:
            return []
        if self.on_fault == "error":
            path = self._write(self._default_path("faults")) if len(self.found) > SHOWN else None
            raise FaultyData(self.found, name=self.name, listed_in=path)
        path = self._write(self._skipped_to or self._default_path("skipped"))
        line = f"{self.name}: skipped {_counted(self.found)}, {kept} images are left; the faults are listed in {path}"
        if kept == 0:
            raise ItmlabError(one_line(line), remedy=f"nothing is left to load; first fault: {self.found[0]}")
        warnings.warn(line, stacklevel=2)
        return list(self.found)

    def _default_path(self, folder: str) -> Path:
        source = hashlib.sha256(f"{self.name}\0{self._source}".encode(errors="surrogatepass")).hexdigest()[:12]
        return cache_directory() / folder / f"{self.name}-{source}.jsonl"

    def _write(self, path: Path) -> Path:
        lines = (json.dumps(asdict(fault), ensure_ascii=True) + "\n" for fault in self.found)
        write_bytes(path, "".join(lines).encode())
        return path


def _counted(faults: Sequence[Fault]) -> str:
    return "1 fault" if len(faults) == 1 else f"{len(faults)} faults"


def one_line(text: Any, limit: int = 400) -> str:
    r"""`text` with control characters escaped, so that hostile names and captions stay on their line.

    >>> print(one_line("red\x1b[31m\nnext"))
    red\x1b[31m\nnext
    """
    shown = "".join(character if character.isprintable() else ascii(character)[1:-1] for character in str(text))
    return shown if len(shown) <= limit else shown[: limit - 1] + "…"
