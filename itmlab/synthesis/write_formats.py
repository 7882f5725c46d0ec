r"""Files of negatives, written: a header and rows as JSON lines, as tab-separated lines, or as Parquet.

JSON lines: the header is the first line. Tab-separated: "# " and the header as JSON, the names of the columns, then a
line a row: no quoting, in texts \t \n \r \\ for what would end a cell or a line, other cells JSON, nothing for null.
Parquet: the header is JSON under the key "itmlab" of the schema's metadata.
"""

import json
import re
from collections.abc import Iterable, Iterator
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from ..errors import ItmlabError
from .rows import COLUMNS, LISTS, TEXTS

if TYPE_CHECKING:
    import pyarrow

FORMATS = {".jsonl": "jsonl", ".tsv": "tsv", ".parquet": "parquet"}
ROWS_TOGETHER = 16384  # a row group of Parquet
ESCAPES = {"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r"}

Header = dict[str, Any]
Row = dict[str, Any]


def format_of(path: Path, wanted: str | None = None) -> str:
    """The format wanted, or that of the file name's ending; an unknown one is an ItmlabError."""
    found = wanted or FORMATS.get(path.suffix.lower())
    if found not in FORMATS.values():
        raise ItmlabError(
            f"no format {wanted!r}" if wanted else f"its ending {path.suffix!r} names no format",
            where=str(path),
            remedy=f"end the name in {', '.join(FORMATS)}, or name a format: {', '.join(FORMATS.values())}",
        )
    return found


def write_file(file: BinaryIO, kind: str, header: Header, rows: Iterable[Row]) -> None:
    """Write a header and rows to an open file, streamed."""
    {"jsonl": _write_jsonl, "tsv": _write_tsv, "parquet": _write_parquet}[kind](file, header, rows)


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def _write_jsonl(file: BinaryIO, header: Header, rows: Iterable[Row]) -> None:
    for line in chain([header], rows):
        file.write(_json(line).encode() + b"\n")


def _write_tsv(file: BinaryIO, header: Header, rows: Iterable[Row]) -> None:
    file.write(f"# {_json(header)}\n".encode() + "\t".join(COLUMNS).encode() + b"\n")
    for row in rows:
        file.write("\t".join(_cell(name, row[name]) for name in COLUMNS).encode() + b"\n")


def _cell(name: str, value: Any) -> str:
    if name in TEXTS:
        return re.sub(r"[\\\t\n\r]", lambda found: ESCAPES[found.group()], value)
    return "" if value is None else _json(value)  # JSON escapes tabs and line ends itself


def _write_parquet(file: BinaryIO, header: Header, rows: Iterable[Row]) -> None:
    import pyarrow
    from pyarrow import parquet

    schema = _schema().with_metadata({"itmlab": _json(header)})
    with parquet.ParquetWriter(file, schema, compression="zstd", write_page_checksum=True) as writer:
        for some in _groups(iter(rows)):
            writer.write_table(pyarrow.Table.from_pylist(some, schema=schema))


def _groups(rows: Iterator[Row]) -> Iterator[list[Row]]:
    while some := list(islice(rows, ROWS_TOGETHER)):
        yield some


def _schema() -> "pyarrow.Schema":
    import pyarrow

    types = {name: pyarrow.string() for name in TEXTS}
    types |= {name: pyarrow.list_(pyarrow.string()) for name in LISTS}
    types |= {"spans": pyarrow.list_(pyarrow.list_(pyarrow.int32()))}
    types |= {"score": pyarrow.float64(), "fluency": pyarrow.float64(), "truth": pyarrow.bool_()}
    return pyarrow.schema([(name, types[name]) for name in COLUMNS])
