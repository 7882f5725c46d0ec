"""Rows of JSON-lines and CSV files, plain or gzipped, with the line each stands on; malformed rows are faults."""

import csv
import gzip
import io
import json
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ..errors import ItmlabError
from .faults import Faults

SUFFIXES = (".jsonl", ".jsonl.gz", ".csv", ".csv.gz")
LONGEST_CELL = 2**24  # characters; the csv module's own limit is 131,072


def find_table(root: Path, stem: str = "captions") -> Path | None:
    """The file `stem` with one of the suffixes that are read here, or None."""
    return next((root / f"{stem}{suffix}" for suffix in SUFFIXES if (root / f"{stem}{suffix}").is_file()), None)


def read_rows(path: Path, faults: Faults) -> Iterator[tuple[int, dict[str, Any]]]:
    """(line number, row) of every well-formed row of a .jsonl or .csv file; the others go to `faults`."""
    if not path.name.endswith(SUFFIXES):
        raise ItmlabError("neither JSON lines nor CSV", where=str(path), remedy=f"use one of {', '.join(SUFFIXES)}")
    text = _decoded(_content(path))
    return _json_rows(path, text, faults) if ".jsonl" in path.name else _csv_rows(path, text, faults)


def _content(path: Path) -> bytes:
    try:
        return gzip.decompress(path.read_bytes()) if path.name.endswith(".gz") else path.read_bytes()
    except FileNotFoundError:
        raise ItmlabError("no such file", where=str(path)) from None
    except (OSError, EOFError, zlib.error) as error:
        raise ItmlabError(f"cannot be read ({error})", where=str(path)) from None


def _decoded(content: bytes) -> str:
    # Bytes that are not UTF-8 become lone surrogates, which the check of each text finds in its row.
    return content.decode("utf-8", errors="surrogateescape").removeprefix("\ufeff")


def _json_rows(path: Path, text: str, faults: Faults) -> Iterator[tuple[int, dict[str, Any]]]:
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        row = json_object(path, number, line, faults)
        if row is not None:
            yield number, row


def json_object(path: Path, number: int, line: str, faults: Faults) -> dict[str, Any] | None:
    """The JSON object of one line; None, and a fault, where there is none."""
    try:
        row = json.loads(line)
    except (ValueError, RecursionError) as error:
        faults.add(path, number, f"malformed JSON ({getattr(error, 'msg', error)})")
        return None
    if not isinstance(row, dict):
        faults.add(path, number, "malformed row: not a JSON object")
        return None
    return row


def _csv_rows(path: Path, text: str, faults: Faults) -> Iterator[tuple[int, dict[str, Any]]]:
    csv.field_size_limit(max(csv.field_size_limit(), LONGEST_CELL))
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    header: list[str] | None = None
    while True:
        line = reader.line_num + 1
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            unclosed = "unexpected end" in str(error)
            faults.add(
                path, line, "malformed CSV " + ("(a quote opened here never closes)" if unclosed else f"({error})")
            )
            continue
        if header is None:
            header = [cell.strip() for cell in cells]
            if len(set(header)) != len(header):
                raise ItmlabError("two columns have the same name", where=f"{path}:1")
        elif len(cells) == len(header):
            yield line, dict(zip(header, cells, strict=True))
        elif cells:
            faults.add(path, line, f"malformed row: {len(cells)} cells where the header has {len(header)}")
