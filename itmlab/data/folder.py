"""Any folder of pictures with a table of captions beside it, and captions that come without their pictures."""

import json
import re
from collections.abc import Callable, Sequence
from os.path import normpath
from pathlib import Path
from typing import Any

from ..errors import ItmlabError
from ..storage import inside
from .captionset import CaptionSet
from .entries import SUFFIXES, Caption, Entry, assemble, assemble_files, find_table, locate, named_folder, read_rows
from .faults import Faults, one_line
from .pictures import NoPictures

IMAGE_COLUMNS = ("image", "file_name", "filename", "image_id")
PICTURE_SUFFIXES = {".jpg", ".jpeg", ".png", ".apng", ".gif", ".webp", ".bmp", ".tif", ".tiff", ".jp2", ".avif"}


def load_folder(
    root: Path,
    faults: Faults,
    *,
    captions: str | Path | None = None,
    images: str | Path | None = None,
    verify: str | None = None,
    proportions: Sequence[float] = (0.8, 0.1, 0.1),
    seed: int = 0,
) -> CaptionSet:
    """`root` with `images/` and `captions.jsonl` or `captions.csv`, whose columns `read_captions` tells.

    `captions` and `images` name another table or folder, which may lie elsewhere. A picture in the folder that the
    table does not name is a fault (an image without captions); hidden files and other kinds of files are not looked at.
    """
    table = Path(captions) if captions is not None else find_table(root)
    if table is None:
        raise ItmlabError(
            "there is no captions.jsonl or captions.csv",
            where=str(root),
            remedy="write one with the columns image and caption, or name it with captions=",
        )
    if images is None and not (root / "images").is_dir():
        raise ItmlabError("there is no folder images/", where=str(root), remedy="name another with images=")
    folder = named_folder(images) if images is not None else inside(root, "images")
    entries = read_captions(table, faults, lambda name: locate(folder, name))
    named = {entry.source for entry in entries}
    for path in sorted(folder.rglob("*")):
        hidden = any(part.startswith(".") for part in path.relative_to(folder).parts)
        if path.suffix.lower() in PICTURE_SUFFIXES and not hidden and path.is_file() and path.resolve() not in named:
            faults.add(path, None, f"an image without captions: {table.name} does not name it")
    return assemble_files(entries, faults, verify, proportions=proportions, seed=seed)


def load_captions(
    root: Path, faults: Faults, *, proportions: Sequence[float] = (0.8, 0.1, 0.1), seed: int = 0
) -> CaptionSet:
    """Captions without pictures: one table, or every `captions*` table of a folder, plain or gzipped.

    A table whose name says train, val or test is that split (`captions_train.jsonl.gz`), unless its rows say more.
    Asking such a set for a picture is an ItmlabError.
    """
    tables = [root] if root.is_file() else sorted(p for p in root.glob("captions*") if p.name.endswith(SUFFIXES))
    if not tables:
        raise ItmlabError("there is no captions*.jsonl, .csv or .gz of these", where=str(root))
    entries: list[Entry] = []
    for table in tables:
        rows = read_captions(table, faults, lambda image: image)
        split = re.search(r"(?<![a-z])(train|val|test)", table.name)
        for entry in rows:
            entry.split = entry.split or (split and split.group(1))
        entries += rows
    why = f"{faults.name} was loaded from captions alone and has no pictures"
    remedy = 'give the pictures too, for example with load("folder", …) or load("flickr30k", …)'
    return assemble(
        entries,
        faults,
        pictures=lambda sources: NoPictures(len(sources), why=why, remedy=remedy),
        proportions=proportions,
        seed=seed,
    )


def read_captions(path: Path, faults: Faults, find: Callable[[str], Any]) -> list[Entry]:
    """The images of a table in the order of their first row, with their captions.

    A row has `image` (also `file_name`, or `image_id` alone) and `caption` (a text; more rows of the same image add
    theirs) or `captions` (a list, in CSV as JSON; all captions of that image, so it stands in one row). Optional:
    `split`, `image_id`, `caption_id` or `caption_ids`. `find(image)` locates the picture, or raises the row's fault.
    """
    entries: dict[str, Entry] = {}
    repeated: list[Entry] = []
    for number, row in read_rows(path, faults):
        try:
            image, entry, lists_all = _entry(path, number, row)
        except ItmlabError as error:
            faults.add(path, number, error.what)
            continue
        path_of = normpath(image)  # "./a.png" is "a.png"
        known = entries.get(path_of)
        if known is not None and not lists_all:
            same = known.image_id == entry.image_id or row.get("image_id") in (None, "")
            if same and known.split == entry.split:
                known.captions += entry.captions
            else:
                faults.add(path, number, f"the image {image!r} has another split or id in row {known.row}")
            continue
        with faults.noting(path, number):
            entry.source = find(image)
        # a second list of one image is kept, so that `assemble` tells both rows
        if known is None:
            entries[path_of] = entry
            continue
        entry.image_id = known.image_id if row.get("image_id") in (None, "") else entry.image_id
        repeated.append(entry)
    return [*entries.values(), *repeated]


def _entry(path: Path, number: int, row: dict[str, Any]) -> tuple[str, Entry, bool]:
    """The image and the entry of one row, its picture not yet located; whether it lists all captions of the image."""
    names = one_line(", ".join(repr(name) for name in row), 200)
    column = next((name for name in IMAGE_COLUMNS if name in row), None)
    if column is None:
        raise ItmlabError(f"there is no column 'image'; the columns are {names}")
    image = row[column]
    if isinstance(image, bool) or not isinstance(image, str | int) or not str(image).strip():
        raise ItmlabError(f"captions without an image: the image is {one_line(repr(image), 60)}")
    if "captions" in row:
        texts, lists_all = _listed(row["captions"], "captions"), True
    elif "caption" in row:
        lists_all = isinstance(row["caption"], list)
        texts = row["caption"] if lists_all else [row["caption"]]
    else:
        raise ItmlabError(f"there is no column 'caption' or 'captions'; the columns are {names}")
    ids = row.get("caption_ids", row.get("caption_id"))
    if isinstance(ids, str) and "captions" in row:
        ids = _listed(ids, "caption_ids")
    ids = ids if isinstance(ids, list) else [None] * len(texts) if ids in (None, "") else [ids]
    if len(ids) != len(texts):
        raise ItmlabError(f"{len(texts)} captions with {len(ids)} caption ids")
    captions = [Caption(text, None if i is None else str(i), number) for text, i in zip(texts, ids, strict=True)]
    image_id, split = row.get("image_id"), row.get("split")
    image_id = str(image) if image_id in (None, "") else str(image_id)
    split = None if split is None else str(split).strip() or None
    return str(image), Entry(str(path), number, image_id, None, captions, split), lists_all


def _listed(value: Any, column: str) -> list[Any]:
    """A list as JSON lines have it, or as JSON in a cell of CSV."""
    if isinstance(value, list):
        return value
    try:
        parsed = json.loads(value)
    except (TypeError, ValueError, RecursionError):
        parsed = None
    if not isinstance(parsed, list):
        raise ItmlabError(f"{column!r} is not a list (in CSV: a JSON list) but {one_line(repr(value), 60)}")
    return parsed
