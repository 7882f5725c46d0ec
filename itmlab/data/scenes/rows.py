"""Cells of one column of a table, read and understood when asked for."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from datasets import Dataset


class LazyRows:
    """`rows[number]` is `read(cell)`, kept after the first time unless `keep` is off."""

    def __init__(self, table: "Dataset", column: str, read: Callable[[Any], Any], *, keep: bool = True):
        self._column = table.select_columns([column]).with_format("arrow")
        self._name, self._read, self._keep = column, read, keep
        self._kept: dict[int, Any] = {}

    def __getitem__(self, row: int) -> Any:
        if row in self._kept:
            return self._kept[row]
        value = self._read(self._column[row][self._name][0].as_py())
        if self._keep:
            self._kept[row] = value
        return value
