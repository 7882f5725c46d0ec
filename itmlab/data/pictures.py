"""Sequences of pictures that are decoded when asked for, on `datasets` (Arrow, memory-mapped)."""

import os
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from PIL import Image

from ..errors import ItmlabError
from .images import read_image

SLICE = 1000  # rows read at once where only their lengths are wanted

if TYPE_CHECKING:
    from datasets import Dataset


class Pictures(Sequence[Image.Image]):
    """The pictures of one column of a `datasets.Dataset`, kept as encoded bytes or as paths and decoded at access.

    `table[column]` has the feature `datasets.Image(decode=False)`; `rows` (default all) picks and orders. A picture
    that cannot be read raises ItmlabError naming its file or row.
    """

    def __init__(self, table: "Dataset", column: str = "image", *, rows: Sequence[int] | None = None):
        self._table = table.select_columns([column])
        self._column = column
        self._rows = list(range(len(table)) if rows is None else rows)

    @classmethod
    def from_paths(cls, paths: Sequence[str | os.PathLike]) -> "Pictures":
        """Pictures in files of their own; only the paths are kept."""
        import datasets

        features = datasets.Features({"image": datasets.Image(decode=False)})
        cells = [{"bytes": None, "path": os.fspath(path)} for path in paths]
        return cls(datasets.Dataset.from_dict({"image": cells}, features=features))

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, index: int) -> Image.Image:
        cell = self.cell(index)
        if cell["bytes"] is None:
            return read_image(cell["path"])
        return read_image(cell["bytes"], where=cell["path"] or f"row {self._rows[index]} of column {self._column!r}")

    def cell(self, index: int) -> dict[str, bytes | str | None]:
        """The picture as stored: {"bytes", "path"}, one of which may be None."""
        return self._table[int(self._rows[index])][self._column]

    def select(self, indices: Sequence[int]) -> "Pictures":
        """These pictures in this order, still undecoded."""
        return Pictures(self._table, self._column, rows=[self._rows[i] for i in indices])

    @cached_property
    def sizes(self) -> list[int]:
        """The size in bytes of each encoded picture, which tells two sources of the same ids apart."""
        from pyarrow.compute import binary_length, struct_field

        table, lengths, paths = self._table.with_format("arrow"), [], []
        for start in range(0, len(table), SLICE):
            for cells in table[start : start + SLICE][self._column].chunks:
                lengths += binary_length(struct_field(cells, "bytes")).to_pylist()
                paths += struct_field(cells, "path").to_pylist()
        return [_size(paths[row]) if lengths[row] is None else lengths[row] for row in self._rows]


def _size(path: str) -> int:
    try:
        return os.stat(path).st_size
    except OSError:
        raise ItmlabError("there is no such picture any more", where=path) from None


class NoPictures(Sequence[Image.Image]):
    """Stands for `count` pictures that a data set comes without; asking for one is an ItmlabError that says why."""

    def __init__(self, count: int, *, why: str, remedy: str):
        self._count, self._why, self._remedy = count, why, remedy

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, index: int) -> Image.Image:
        raise ItmlabError(self._why, remedy=self._remedy)

    def select(self, indices: Sequence[int]) -> "NoPictures":
        """As many missing pictures as there are `indices`."""
        return NoPictures(len(indices), why=self._why, remedy=self._remedy)


class _View(Sequence[Image.Image]):
    """Some items of a plain sequence of pictures, in an order of their own."""

    def __init__(self, pictures: Sequence[Image.Image], indices: Sequence[int]):
        self._pictures, self._indices = pictures, indices

    def __len__(self) -> int:
        return len(self._indices)

    def __getitem__(self, index: int) -> Image.Image:
        return self._pictures[self._indices[index]]


def view(pictures: Sequence[Image.Image], indices: Sequence[int]) -> Sequence[Image.Image]:
    """`pictures` at `indices` without decoding any."""
    select = getattr(pictures, "select", None)
    return _View(pictures, list(indices)) if select is None else select(indices)
