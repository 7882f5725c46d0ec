"""Rows of tables of captions (JSON lines or CSV, plain or gzipped), read with every malformed row as a fault."""

import csv
import gzip
import io
import json
import unicodedata
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ..errors import ItmlabError
from ..storage import LARGEST_READ, read_bytes
from .faults import Faults, one_line

SUFFIXES = (".jsonl", ".jsonl.gz", ".csv", ".csv.gz")


def read_text(path: Path) -> str:
    """Return the text of a file, plain or gzipped (.gz), without a byte order mark.

    Bytes that are not UTF-8 become lone surrogates, which `wrong_caption` finds in their row.

    Raises:
        ItmlabError: the file cannot be read or is too large.
    """
    opened = gzip.open if path.name.endswith(".gz") else open
    try:
        content = read_bytes(path, remedy="split the file, if it holds captions", opened=opened)
    except (EOFError, zlib.error) as error:
        raise ItmlabError(f"cannot be read ({error})", where=str(path)) from None
    return content.decode("utf-8", "surrogateescape").removeprefix("\ufeff")


def read_rows(path: Path, faults: Faults) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield (line number, row) for each well-formed row of a table. Malformed rows are added to `faults`."""
    if not path.name.endswith(SUFFIXES):
        raise ItmlabError("neither JSON lines nor CSV", where=str(path), remedy=f"use one of {', '.join(SUFFIXES)}")
    return _json_rows(path, faults) if ".jsonl" in path.name else _csv_rows(path, faults)


def _json_rows(path: Path, faults: Faults) -> Iterator[tuple[int, dict[str, Any]]]:
    for number, line in enumerate(read_text(path).split("\n"), start=1):
        row = json_object(path, number, line, faults) if line.strip() else None
        if row is not None:
            yield number, row


def json_object(path: Path, number: int, line: str, faults: Faults) -> dict[str, Any] | None:
    """Return the JSON object of one line, or None with a fault if there is none."""
    try:
        row = json.loads(line)
    except (ValueError, RecursionError) as error:
        faults.add(path, number, f"malformed JSON ({getattr(error, 'msg', error)})")
        return None
    if not isinstance(row, dict):
        faults.add(path, number, "malformed row: not a JSON object")
        return None
    return row


def _csv_rows(path: Path, faults: Faults) -> Iterator[tuple[int, dict[str, Any]]]:
    csv.field_size_limit(LARGEST_READ)  # the csv module's own limit is 131,072 characters
    reader = csv.reader(io.StringIO(read_text(path), newline=""), strict=True)
    header: list[str] | None = None
    cells: list[str] | None = []
    while cells is not None:
        line = reader.line_num + 1  # where the row begins: a quoted cell may hold line breaks
        try:
            cells = next(reader, None)
        except csv.Error as error:
            reason = "a quote opened here never closes" if "unexpected end" in str(error) else error
            faults.add(path, line, f"malformed CSV ({reason})")
            continue
        if cells and header is None:
            header = [cell.strip() for cell in cells]
            if len(set(header)) != len(header):
                raise ItmlabError("two columns have the same name", where=f"{path}:1")
        elif cells and len(cells) == len(header):
            yield line, dict(zip(header, cells, strict=True))
        elif cells:
            faults.add(path, line, f"malformed row: {len(cells)} cells where the header has {len(header)}")


def wrong_caption(text: Any) -> str | None:
    """Return what makes `text` unusable as a caption, or None. Any text with a visible character is usable.

    >>> wrong_caption("犬 <b>!</b>"), wrong_caption(" \\t"), wrong_caption(5)
    (None, 'it is empty', 'not a text but 5')
    """
    if not isinstance(text, str):
        return f"not a text but {one_line(repr(text), 60)}"
    if "\0" in text:
        return "it holds a NUL character"
    if not any(not letter.isspace() and unicodedata.category(letter) not in ("Cc", "Cf") for letter in text):
        return "it is empty"
    if any("\ud800" <= letter <= "\udfff" for letter in text):
        return "it is not valid Unicode (not UTF-8, or half of a surrogate pair)"
    return None
