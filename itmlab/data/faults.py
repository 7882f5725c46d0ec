"""Faults in data files: all of them are collected in one pass, then raised together or skipped on request."""

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import ItmlabError, printable

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

    def __init__(self, faults: Sequence[Fault], *, name: str):
        self.faults = list(faults)
        lines = [str(fault) for fault in self.faults[:SHOWN]]
        if len(self.faults) > SHOWN:
            lines.append(f"… and {len(self.faults) - SHOWN} more")
        text = f" {lines[0]}" if len(lines) == 1 else "".join(f"\n  {line}" for line in lines) + "\n"
        remedy = 'correct them, or leave these rows out with on_fault="skip" (--option on_fault=skip)'
        super().__init__(f"{_counted(self.faults)} in the data:{text}", where=name, remedy=remedy)


class Faults:
    """Collects the faults of one data set. `settle` raises them together, or warns that they are skipped.

    Args:
        name: of the data set.
        on_fault: "error" or "skip".

    >>> faults = Faults("mine")
    >>> faults.add("captions.jsonl", 3, "it is empty")
    >>> faults.settle(kept=9)
    Traceback (most recent call last):
    itmlab.data.faults.FaultyData: mine: 1 fault in the data: captions.jsonl:3: it is empty — correct them, or ...
    """

    def __init__(self, name: str, *, on_fault: str = "error"):
        if on_fault not in ("error", "skip"):
            raise ItmlabError(f"unknown on_fault={on_fault!r}", remedy='use "error" or "skip"')
        self.name, self.on_fault, self.found = name, on_fault, []

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

    def settle(self, *, kept: int) -> None:
        """Raise FaultyData, or with on_fault="skip" warn; `kept` is how many items are left."""
        if self.found and (self.on_fault == "error" or kept == 0):
            raise FaultyData(self.found, name=self.name)
        if self.found:
            skipped = f"{self.name}: skipped {_counted(self.found)}, {kept} are left; first fault: {self.found[0]}"
            warnings.warn(skipped, stacklevel=2)


def _counted(faults: Sequence[Fault]) -> str:
    return "1 fault" if len(faults) == 1 else f"{len(faults)} faults"


def one_line(text: Any, limit: int = 400) -> str:
    r"""Return `text` with control characters escaped, so that hostile names and captions stay on one line.

    >>> print(one_line("red\x1b[31m\nnext"))
    red\x1b[31m\nnext
    """
    line = printable(str(text))
    return line if len(line) <= limit else line[: limit - 1] + "…"
