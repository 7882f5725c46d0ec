"""What every loader reads its files into, and the one place where ids, captions and splits are checked."""

import csv
import gzip
import io
import json
import unicodedata
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from PIL import Image

from ..errors import ItmlabError
from .captionset import CaptionSet, proportional_splits
from .faults import Faults, one_line

SPLIT_NAMES = {"training": "train", "validation": "val", "valid": "val", "dev": "val", "testing": "test"}
Row = str | int | None


@dataclass(slots=True)
class Caption:
    """One caption as a file gives it: any value, an id where the file has one, and its place where it has its own."""

    text: Any
    identifier: str | None = None
    row: Row = None
    file: str | None = None


@dataclass(slots=True)
class Entry:
    """One image as a file gives it.

    `source` is what the loader finds its picture by (a path, a row number); None when that is already a known fault.
    """

    file: str
    row: Row
    image_id: str
    source: Any
    captions: list[Caption] = field(default_factory=list)
    split: str | None = None


def assemble(
    name: str,
    entries: list[Entry],
    faults: Faults,
    *,
    pictures: Callable[[list[Any]], Sequence[Image.Image]],
    check: Callable[[list[Any]], list[str | None]] | None = None,
    regions: Callable[[list[Any]], Any] | None = None,
    proportions: Sequence[float] = (0.8, 0.1, 0.1),
    seed: int = 0,
) -> CaptionSet:
    """The CaptionSet of `entries`, every fault of theirs settled in one pass.

    `check(sources)` gives for each what is wrong with it, or None; `pictures(sources)` and `regions(sources)` open
    what belongs to the entries that remain. Where no entry names a split, the images are shared among train, val and
    test by `proportions` and `seed`.
    """
    located = [entry for entry in entries if entry.source is not None]
    wrong = [None] * len(located) if check is None else check([entry.source for entry in located])
    usable = set()
    for entry, what in zip(located, wrong, strict=True):
        if what is None:
            usable.add(id(entry))
        else:
            faults.add(entry.file, entry.row, what)
    kept = [entry for entry in _sound(entries, faults) if id(entry) in usable]
    skipped = faults.settle(kept=len(kept))
    if not kept:
        raise ItmlabError("there are no images in it", where=name)
    sources = [entry.source for entry in kept]
    owners = [index for index, entry in enumerate(kept) for _ in entry.captions]
    return CaptionSet(
        name=name,
        images=pictures(sources),
        image_ids=[entry.image_id for entry in kept],
        captions=[caption.text for entry in kept for caption in entry.captions],
        caption_ids=[caption.identifier for entry in kept for caption in entry.captions],
        image_of_caption=torch.tensor(owners, dtype=torch.int64),
        splits=_splits(kept, proportions, seed),
        regions=None if regions is None else regions(sources),
        skipped=skipped,
    )


def wrong_caption(text: Any) -> str | None:
    """What makes `text` unfit to be a caption, or None: any text with something to see in it is fit."""
    if not isinstance(text, str):
        return f"not a text but {one_line(repr(text), 60)}"
    if "\0" in text:
        return "it holds a NUL character"
    if not any(not each.isspace() and unicodedata.category(each) not in ("Cc", "Cf") for each in text):
        return "it is empty"
    if any("\ud800" <= each <= "\udfff" for each in text):
        return "it is not valid Unicode (not UTF-8, or half of a surrogate pair)"
    return None


def _sound(entries: list[Entry], faults: Faults) -> list[Entry]:
    """The entries whose ids, split and captions are right; faulty captions are taken out of theirs."""
    sound = []
    first_of: dict[str, Entry] = {}
    caption_seen: dict[str, str] = {}
    splits_used = any(entry.split for entry in entries)
    for entry in entries:
        first = first_of.setdefault(entry.image_id, entry)
        if first is not entry:
            faults.add(entry.file, entry.row, f"the image id {entry.image_id!r} is already that of row {first.row}")
            continue
        if splits_used and not entry.split:
            faults.add(entry.file, entry.row, f"the image {entry.image_id!r} has no split, while others have one")
            continue
        if not entry.captions:
            faults.add(entry.file, entry.row, f"the image {entry.image_id!r} has no captions")
            continue
        entry.captions = _sound_captions(entry, caption_seen, faults)
        if entry.captions:
            sound.append(entry)
        else:
            faults.add(entry.file, entry.row, f"the image {entry.image_id!r} is left without captions")
    return sound


def _sound_captions(entry: Entry, seen: dict[str, str], faults: Faults) -> list[Caption]:
    sound = []
    for number, caption in enumerate(entry.captions):
        file, row = caption.file or entry.file, entry.row if caption.row is None else caption.row
        identifier = f"{entry.image_id}#{number}" if caption.identifier is None else caption.identifier
        what = wrong_caption(caption.text)
        if what is None and identifier in seen:
            what = f"its id {identifier!r} is already that of the caption at {seen[identifier]}"
        if what is None:
            seen[identifier] = f"{file}:{row}"
            sound.append(Caption(caption.text, identifier))
        else:
            faults.add(file, row, f"caption {number + 1} of the image {entry.image_id!r}: {what}")
    return sound


def _splits(entries: list[Entry], proportions: Sequence[float], seed: int) -> dict[str, torch.Tensor]:
    if not entries[0].split:
        return proportional_splits(len(entries), proportions, seed)
    members: dict[str, list[int]] = {}
    for index, entry in enumerate(entries):
        name = entry.split.strip()
        members.setdefault(SPLIT_NAMES.get(name.lower(), name), []).append(index)
    return {name: torch.tensor(indices, dtype=torch.int64) for name, indices in members.items()}


# Rows of JSON-lines and CSV files, plain or gzipped, with the line each stands on; malformed rows are faults.


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
