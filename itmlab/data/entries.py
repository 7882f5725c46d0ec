"""What every loader reads its files into, and the one place where ids, captions and splits are checked."""

import csv
import difflib
import gzip
import json
import unicodedata
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from PIL import Image

from ..errors import ItmlabError
from ..storage import inside, ordinary
from .captionset import CaptionSet, proportional_splits
from .faults import Faults, one_line
from .pictures import Pictures, check_picture_files

SPLIT_NAMES = {
    **{"train": "train", "training": "train", "val": "val", "validation": "val", "valid": "val", "dev": "val"},
    **{"test": "test", "testing": "test"},
}
SUFFIXES = (".jsonl", ".jsonl.gz", ".csv", ".csv.gz")
LONGEST_CELL = 2**24  # characters; the csv module's own limit is 131,072
LONGEST_LINE = 2**25  # characters
LARGEST_TEXT = 2**29  # bytes of a file of captions, when unpacked: COCO's have a fifth of it
UNPACKED = 100  # times its packed size that a .gz may have, if it is large: captions have four to twenty


@dataclass(slots=True)
class Caption:
    """One caption as a file gives it: any value, an id where the file has one, and its place where it has its own."""

    text: Any
    identifier: str | None = None
    row: str | int | None = None
    file: str | None = None


@dataclass(slots=True)
class Entry:
    """One image as a file gives it.

    `source` is what the loader finds its picture by (a path, a row number); None when that is already a known fault.
    """

    file: str
    row: str | int | None
    image_id: str
    source: Any
    captions: list[Caption] = field(default_factory=list)
    split: str | None = None


def assemble_files(entries: list[Entry], faults: Faults, verify: str | None, **sharing: Any) -> CaptionSet:
    """The CaptionSet of entries whose sources are picture files; `sharing` is `proportions` and `seed` of `assemble`.

    `verify` says how the files are checked, as `pictures.check_picture_files` has it.
    """
    check = partial(check_picture_files, verify=verify)
    return assemble(entries, faults, pictures=Pictures.from_paths, check=check, **sharing)


def assemble(
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
    what belongs to the entries that remain. Without any named split, `proportions` and `seed` share the images out.

    >>> entry = Entry("mine.txt", 1, image_id="a", source="a.jpg", captions=[Caption("a dog"), Caption("a hound")])
    >>> data = assemble([entry], Faults("mine"), pictures=list, proportions=(0, 0, 1))
    >>> data, data.caption_ids
    (CaptionSet(mine: 1 images, 2 captions; test 1), ['a#0', 'a#1'])
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
        raise ItmlabError("there are no images in it", where=faults.name)
    sources = [entry.source for entry in kept]
    return CaptionSet(
        name=faults.name,
        images=pictures(sources),
        image_ids=[entry.image_id for entry in kept],
        captions=[caption.text for entry in kept for caption in entry.captions],
        caption_ids=[caption.identifier for entry in kept for caption in entry.captions],
        image_of_caption=[index for index, entry in enumerate(kept) for _ in entry.captions],
        splits=_splits(kept, proportions, seed),
        regions=None if regions is None else regions(sources),
        skipped=skipped,
    )


def _sound(entries: list[Entry], faults: Faults) -> list[Entry]:
    """The entries whose ids, split and captions are right; faulty captions are taken out of theirs."""
    sound = []
    first_of: dict[str, Entry] = {}
    caption_seen: dict[str, str] = {}
    splits_used = any(entry.split for entry in entries)
    for entry in entries:
        first, what = first_of.setdefault(entry.image_id, entry), None
        if first is not entry:
            what = f"the image id {entry.image_id!r} is already that of row {first.row}"
        elif splits_used and not entry.split:
            what = f"the image {entry.image_id!r} has no split, while others have one"
        elif near := misspelt(entry.split):
            what = f"the split {entry.split!r} is unknown, did you mean {near!r}?"
        elif not entry.captions:
            what = f"the image {entry.image_id!r} has no captions"
        else:
            entry.captions = _sound_captions(entry, caption_seen, faults)
            if not entry.captions:
                what = f"the image {entry.image_id!r} is left without captions"
        if what is None:
            sound.append(entry)
        else:
            faults.add(entry.file, entry.row, what)
    return sound


def misspelt(split: str | None) -> str | None:
    """The usual split that a name all but says: unseen, a "tset" would be a split of its own, which nothing reads.

    >>> misspelt("tset"), misspelt("Val"), misspelt("testA")
    ('test', None, None)
    """
    name = (split or "").strip().lower()
    own = name.startswith(tuple(SPLIT_NAMES))
    near = () if own else difflib.get_close_matches(name, SPLIT_NAMES, n=1, cutoff=0.75)
    return SPLIT_NAMES[near[0]] if near else None


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


def wrong_caption(text: Any) -> str | None:
    """What makes `text` unfit to be a caption, or None: any text with something to see in it is fit.

    >>> wrong_caption("犬 <b>!</b>"), wrong_caption(" \\t"), wrong_caption(5)
    (None, 'it is empty', 'not a text but 5')
    """
    if not isinstance(text, str):
        return f"not a text but {one_line(repr(text), 60)}"
    if "\0" in text:
        return "it holds a NUL character"
    if not any(not each.isspace() and unicodedata.category(each) not in ("Cc", "Cf") for each in text):
        return "it is empty"
    if any("\ud800" <= each <= "\udfff" for each in text):
        return "it is not valid Unicode (not UTF-8, or half of a surrogate pair)"
    return None


def _splits(entries: list[Entry], proportions: Sequence[float], seed: int) -> dict[str, Any]:
    if not entries[0].split:
        return proportional_splits(len(entries), proportions, seed)
    members: dict[str, list[int]] = {}
    for index, entry in enumerate(entries):
        name = entry.split.strip()
        members.setdefault(SPLIT_NAMES.get(name.lower(), name), []).append(index)
    return members


def find_table(root: Path) -> Path | None:
    """The file `captions` with one of the suffixes that are read here, or None."""
    return next(filter(Path.is_file, (root / f"captions{suffix}" for suffix in SUFFIXES)), None)


def read_rows(path: Path, faults: Faults) -> Iterator[tuple[int, dict[str, Any]]]:
    """(line number, row) of every well-formed row of a .jsonl or .csv file, plain or gzipped; the others are faults."""
    if not path.name.endswith(SUFFIXES):
        raise ItmlabError("neither JSON lines nor CSV", where=str(path), remedy=f"use one of {', '.join(SUFFIXES)}")
    if ".jsonl" in path.name:
        return _json_rows(path, read_lines(path), faults)
    return _csv_rows(path, read_lines(path, newline=""), faults)


def read_text(path: Path) -> str:
    """The whole of what `read_lines` gives."""
    return "".join(read_lines(path))


def read_lines(path: Path, *, newline: str = "\n") -> Iterator[str]:
    """The lines of a file, plain or gzipped (.gz), with their ends (`newline` as in `open`), without a byte order mark.

    Bytes that are not UTF-8 become lone surrogates, which the check of each caption finds in its row. A file that
    cannot be read, or holds more than captions do (LONGEST_LINE, LARGEST_TEXT, UNPACKED), is an ItmlabError.
    """
    opened = gzip.open if path.name.endswith(".gz") else open
    try:
        unpacked = size = ordinary(path).stat().st_size
        most = LARGEST_TEXT
        if opened is gzip.open:
            unpacked, most = 0, min(most, max(LONGEST_CELL, UNPACKED * size))
            with gzip.open(path) as file:  # once through without keeping anything
                while unpacked <= most and (part := file.read(2**20)):
                    unpacked += len(part)
        if unpacked > most:
            raise ItmlabError(f"more than {most:,} bytes of text", where=str(path), remedy="is it captions? split it")
        with opened(path, "rt", encoding="utf-8", errors="surrogateescape", newline=newline) as file:
            number, line = 1, file.readline(LONGEST_LINE).removeprefix("\ufeff")
            while line:
                if len(line) == LONGEST_LINE:
                    raise ItmlabError(f"a line of more than {LONGEST_LINE:,} characters", where=f"{path}:{number}")
                yield line
                number, line = number + 1, file.readline(LONGEST_LINE)
    except (OSError, EOFError, zlib.error) as error:
        raise ItmlabError(f"cannot be read ({error})", where=str(path)) from None


def _json_rows(path: Path, lines: Iterator[str], faults: Faults) -> Iterator[tuple[int, dict[str, Any]]]:
    for number, line in enumerate(lines, start=1):
        row = json_object(path, number, line, faults) if line.strip() else None
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


def _csv_rows(path: Path, lines: Iterator[str], faults: Faults) -> Iterator[tuple[int, dict[str, Any]]]:
    csv.field_size_limit(max(csv.field_size_limit(), LONGEST_CELL))
    reader = csv.reader(lines, strict=True)
    header: list[str] | None = None
    while True:
        line = reader.line_num + 1  # where the row begins: a quoted cell may hold line breaks
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            what = "a quote opened here never closes" if "unexpected end" in str(error) else error
            faults.add(path, line, f"malformed CSV ({what})")
            continue
        if header is None:
            header = [cell.strip() for cell in cells]
            if len(set(header)) != len(header):
                raise ItmlabError("two columns have the same name", where=f"{path}:1")
        elif len(cells) == len(header):
            yield line, dict(zip(header, cells, strict=True))
        elif cells:
            faults.add(path, line, f"malformed row: {len(cells)} cells where the header has {len(header)}")


def named_folder(path: str | Path) -> Path:
    """The folder that an option names; one that is not there is an ItmlabError."""
    if not Path(path).is_dir():
        raise ItmlabError("there is no such folder", where=str(path))
    return Path(path)


def locate(folder: Path, name: Any) -> Path:
    """The file `name` in `folder`; a name that is none, or that leads out of the folder, is an ItmlabError."""
    no_name = not isinstance(name, str) or not name.strip() or "\0" in name
    if no_name or any("\ud800" <= character <= "\udfff" for character in name):
        raise ItmlabError(f"not the name of a file: {one_line(repr(name), 80)}", where=str(folder))
    try:
        return inside(folder, name)
    except (OSError, RuntimeError) as error:  # a name too long, a loop of links
        raise ItmlabError(f"cannot be opened ({one_line(error, 120)})", where=str(folder)) from None
