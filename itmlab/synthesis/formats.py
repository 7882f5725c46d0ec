"""Files of negatives, a header and rows, as JSON lines, as tab-separated lines, or as Parquet: written and read.

JSON lines: the header is the first line. Tab-separated: "# " and the header as JSON, the names of the columns, then a
line a row: no quoting, `ESCAPES` in texts for what would end a cell or a line, other cells JSON, nothing for null.
Parquet: the header is JSON under the key "itmlab" of the schema's metadata.
"""

import json
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from ..data.entries import json_object
from ..data.faults import Faults, one_line
from ..errors import ItmlabError
from ..storage import ordinary
from .rows import COLUMNS, COUNTS, LAYOUT, LISTS, MARK, NUMBERS, TEXTS, Header, Row, missing_columns, to_json

if TYPE_CHECKING:
    import pyarrow
    from pyarrow import parquet

FORMATS = {".jsonl": "jsonl", ".tsv": "tsv", ".parquet": "parquet"}
ROWS_TOGETHER = 16384  # a row group of Parquet
ESCAPES = {"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r"}
ESCAPED = {escape: character for character, escape in ESCAPES.items()}


def format_of(path: Path, wanted: str | None = None) -> str:
    """The format wanted, or that of the file name's ending; an unknown one is an ItmlabError.

    >>> format_of(Path("negatives.TSV"))
    'tsv'
    """
    found = wanted or FORMATS.get(path.suffix.lower())
    if found not in FORMATS.values():
        what = f"no format {wanted!r}" if wanted else f"its ending {path.suffix!r} names no format"
        remedy = f"end the name in {', '.join(FORMATS)}, or name a format: {', '.join(FORMATS.values())}"
        raise ItmlabError(what, where=str(path), remedy=remedy)
    return found


def write_file(file: BinaryIO, kind: str, header: Header, rows: Iterable[Row]) -> None:
    """Write a header and rows to an open file, streamed."""
    if kind == "parquet":
        _write_parquet(file, header, iter(rows))
        return
    if kind == "tsv":
        cells = ([_cell(name, row[name]) for name in COLUMNS] for row in rows)
        lines = chain([b"# " + to_json(header), "\t".join(COLUMNS).encode()], map(b"\t".join, cells))
    else:
        lines = map(to_json, chain([header], rows))
    file.writelines(line + b"\n" for line in lines)


def _cell(name: str, value: Any) -> bytes:
    if name in TEXTS:
        return re.sub(r"[\\\t\n\r]", lambda found: ESCAPES[found.group()], value).encode()
    return b"" if value is None else to_json(value)  # JSON escapes tabs and line ends itself


def _write_parquet(file: BinaryIO, header: Header, rows: Iterator[Row]) -> None:
    import pyarrow
    from pyarrow import parquet

    types = dict.fromkeys(TEXTS, pyarrow.string()) | dict.fromkeys(LISTS, pyarrow.list_(pyarrow.string()))
    types |= {"spans": pyarrow.list_(pyarrow.list_(pyarrow.int32()))}
    types |= dict.fromkeys(NUMBERS, pyarrow.float64()) | {"truth": pyarrow.bool_()}
    schema = pyarrow.schema([(name, types[name]) for name in COLUMNS]).with_metadata({"itmlab": to_json(header)})
    with parquet.ParquetWriter(file, schema, compression="zstd", write_page_checksum=True) as writer:
        while some := list(islice(rows, ROWS_TOGETHER)):
            writer.write_table(pyarrow.Table.from_pylist(some, schema=schema))


def read_file(path: Path, faults: Faults) -> tuple[Header, Iterator[tuple[int, Row]]]:
    """The header, and (line or row number, row) of each row that is a row at all; the others go to `faults`.

    The format is told by the content. What is no file of negatives is an ItmlabError.
    """
    header = read_header(path)
    return header, {"jsonl": _jsonl_rows, "tsv": _tsv_rows, "parquet": _parquet_rows}[_kind(path)](path, faults)


def read_header(path: Path) -> Header:
    """How the negatives of a file were made, without reading them."""
    if _kind(path) == "parquet":
        text = (_parquet(path)[1].metadata or {}).get(b"itmlab", b"")
    else:
        with open(path, "rb") as file:
            text = file.readline().removeprefix(b"# ")
    header = None
    with suppress(ValueError, RecursionError):
        header = json.loads(text)
    if not isinstance(header, dict) or MARK not in header:
        raise ItmlabError(
            "no header of itmlab's negatives", where=str(path), remedy="give a file that `itmlab negatives` wrote"
        )
    if header[MARK] != LAYOUT:
        what = f"its layout is number {one_line(header[MARK], 20)}, and this itmlab reads number {LAYOUT}"
        raise ItmlabError(what, where=str(path), remedy="read it with the itmlab that wrote it")
    missing = [name for name in COUNTS if type(header.get(name)) is not int]
    if missing:
        raise ItmlabError(f"its header does not say how many {missing[0]}", where=str(path))
    return header


def _kind(path: Path) -> str:
    try:
        with open(ordinary(path), "rb") as file:
            start = file.read(4)
    except OSError as error:
        raise ItmlabError(f"cannot be read ({error})", where=str(path)) from None
    return "parquet" if start == b"PAR1" else "tsv" if start.startswith(b"# ") else "jsonl"


def _lines(path: Path, faults: Faults) -> Iterator[tuple[int, str]]:
    """The lines after the header that are UTF-8, with their numbers."""
    with open(path, "rb") as file:
        for number, line in islice(enumerate(file, start=1), 1, None):
            if not line.endswith(b"\n"):
                faults.add(path, number, "the file ends within this line")
                continue
            try:
                yield number, line[:-1].decode()
            except UnicodeDecodeError as error:
                faults.add(path, number, f"not UTF-8 at byte {error.start} of the line")


def _jsonl_rows(path: Path, faults: Faults) -> Iterator[tuple[int, Row]]:
    for number, line in _lines(path, faults):
        if (row := json_object(path, number, line, faults)) is not None:
            yield number, row


def _tsv_rows(path: Path, faults: Faults) -> Iterator[tuple[int, Row]]:
    lines = ((number, line.removesuffix("\r").split("\t")) for number, line in _lines(path, faults))
    _, columns = next(lines, (2, [""]))
    missing = missing_columns(columns)
    if missing or len(set(columns)) != len(columns):
        raise ItmlabError(f"no column {missing}" if missing else "a column twice", where=f"{path}:2")
    for number, cells in lines:
        if len(cells) != len(columns):
            faults.add(path, number, f"malformed row: {len(cells)} cells where the header has {len(columns)}")
            continue
        row: Row = {}
        for name, cell in zip(columns, cells, strict=True):
            try:
                row[name] = _value(name, cell)
            except (ValueError, RecursionError, KeyError):
                faults.add(path, number, f"malformed {name}: {one_line(repr(cell), 60)}")
                break
        else:
            yield number, row


def _value(name: str, cell: str) -> Any:
    if name in TEXTS:
        return re.sub(r"\\(.?)", lambda found: ESCAPED[found.group()], cell, flags=re.DOTALL)
    return None if cell == "" else json.loads(cell) if name in COLUMNS else cell


def _parquet(path: Path) -> tuple["parquet.ParquetFile", "pyarrow.Schema"]:
    from pyarrow import parquet

    try:
        file = parquet.ParquetFile(path, page_checksum_verification=True)
        return file, file.schema_arrow
    except _spoilt() as error:
        raise ItmlabError(f"not readable as Parquet ({one_line(error, 120)})", where=str(path)) from None


def _parquet_rows(path: Path, faults: Faults) -> Iterator[tuple[int, Row]]:
    file, schema = _parquet(path)
    if missing := missing_columns(schema.names):
        raise ItmlabError(f"no column {missing}", where=str(path))
    number = 0
    try:
        for batch in file.iter_batches(columns=list(COLUMNS)):
            for number, row in enumerate(batch.to_pylist(), number + 1):  # noqa: B020 (counts on)
                yield number, row
    except _spoilt() as error:
        faults.add(path, number + 1, f"cannot be read from here on ({one_line(error, 120)})")


def _spoilt() -> tuple[type[Exception], ...]:
    """What pyarrow raises for files that are not whole: its own errors, and those of texts and sizes."""
    import pyarrow

    return pyarrow.ArrowException, OSError, ValueError, MemoryError
