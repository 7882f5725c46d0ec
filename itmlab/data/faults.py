"""Faults in data files: all of them are collected in one pass, then raised together or skipped on request."""

import hashlib
import json
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ..errors import ItmlabError, printable
from ..storage import cache_directory, keep

SHOWN = 20  # faults in a message


@dataclass(frozen=True)
class Fault:
    """One fault: the file, the row in it (line number, key or None), and what is wrong.

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
    """Data with faults: a summary, then one line for each of the first 20. `faults` holds all of them."""

    line_breaks = True

    def __init__(self, faults: Sequence[Fault], *, name: str, listed_in: Path | None):
        self.faults = list(faults)
        lines = [str(fault) for fault in self.faults[:SHOWN]]
        if listed_in is not None:
            lines.append(f"… all {len(self.faults)} are listed in {listed_in}")
        text = f" {lines[0]}" if len(lines) == 1 else "".join(f"\n  {line}" for line in lines) + "\n"
        remedy = 'correct them, or leave these rows out with on_fault="skip" (--option on_fault=skip)'
        super().__init__(f"{_counted(self.faults)} in the data:{text}", where=name, remedy=remedy)


class Faults:
    """Collects the faults of one data set. `settle` raises them together, or returns those that are skipped.

    Args:
        name: of the data set.
        on_fault: "error" or "skip".
        source: where the data were read from, which tells apart the lists of data sets with the same name.

    >>> faults = Faults("mine")
    >>> faults.add("captions.jsonl", 3, "it is empty")
    >>> faults.settle(kept=9)
    Traceback (most recent call last):
    itmlab.data.faults.FaultyData: mine: 1 fault in the data: captions.jsonl:3: it is empty — correct them, or ...
    """

    def __init__(self, name: str, *, on_fault: str = "error", source: str = ""):
        if on_fault not in ("error", "skip"):
            raise ItmlabError(f"unknown on_fault={on_fault!r}", remedy='use "error" or "skip"')
        self.name, self.on_fault, self.found, self._source = name, on_fault, [], source

    def add(self, file: str | Path, row: str | int | None, what: str) -> None:
        """Record that `row` of `file` is wrong."""
        self.found.append(Fault(str(file), row, what))

    @contextmanager
    def noting(self, file: str | Path, row: str | int | None) -> Iterator[None]:
        """Record an ItmlabError of the block as a fault of this row, and continue after the block."""
        try:
            yield
        except ItmlabError as error:
            self.add(file, row, str(error))

    def settle(self, *, kept: int, kind: str = "images") -> list[Fault]:
        """Raise FaultyData, or with on_fault="skip" warn, list and return the faults.

        Args:
            kept: how many images, or other things, are left.
            kind: what they are called.
        """
        if not self.found:
            return []
        if self.on_fault == "error":
            path = self._listed("faults") if len(self.found) > SHOWN else None
            raise FaultyData(self.found, name=self.name, listed_in=path)
        path = self._listed("skipped")
        line = f"{self.name}: skipped {_counted(self.found)}, {kept} {kind} are left"
        line += f"; the faults are listed in {path}" if path else f"; first fault: {self.found[0]}"
        if kept == 0:
            raise ItmlabError(one_line(line), remedy=f"nothing is left to load; first fault: {self.found[0]}")
        warnings.warn(line, stacklevel=2)
        return list(self.found)

    def _listed(self, folder: str) -> Path | None:
        """Write the list of all faults (JSON lines) to the cache; None if the cache cannot be written."""
        rows = "".join(json.dumps(asdict(fault)) + "\n" for fault in self.found).encode()
        source = hashlib.sha256(f"{self.name}\0{self._source}".encode(errors="surrogatepass")).hexdigest()[:12]
        path = cache_directory() / folder / f"{self.name}-{source}.jsonl"
        return path if keep(path, lambda file: file.write(rows)) else None


def _counted(faults: Sequence[Fault]) -> str:
    return "1 fault" if len(faults) == 1 else f"{len(faults)} faults"


def one_line(text: Any, limit: int = 400) -> str:
    r"""Return `text` with control characters escaped, so that hostile names and captions stay on one line.

    >>> print(one_line("red\x1b[31m\nnext"))
    red\x1b[31m\nnext
    """
    line = printable(str(text))
    return line if len(line) <= limit else line[: limit - 1] + "…"
