"""Any folder of pictures with a table of captions beside it, and captions that come without their pictures."""

import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from ..errors import ItmlabError
from ..storage import inside
from .captionset import CaptionSet
from .entries import SUFFIXES, Caption, Entry, assemble, find_table, read_rows
from .faults import Faults, one_line
from .pictures import NoPictures, Pictures, check_picture_files, locate, named_folder

# Captions in a table: JSON lines or CSV with the columns image, caption or captions, optional split and ids.


IMAGE_COLUMNS = ("image", "file_name", "filename", "image_id")


def read_captions(path: Path, faults: Faults, find: Callable[[str], Any]) -> list[Entry]:
    """The images of a table in the order of their first row, with their captions.

    A row has `image` (also `file_name`, or `image_id` alone) and `caption` (a text; more rows of the same image add
    theirs) or `captions` (a list, in CSV as JSON; all captions of that image, so it stands in one row). Optional:
    `split`, `image_id`, `caption_id` or `caption_ids`. `find(image)` locates the picture; its ItmlabError is the row's
    fault.
    """
    entries: dict[str, Entry] = {}
    repeated: list[Entry] = []
    for number, row in read_rows(path, faults):
        try:
            entry, lists_all = _entry(path, number, row)
        except ItmlabError as error:
            faults.add(path, number, error.what)
            continue
        image = str(row[_image_column(row)])
        known = entries.get(image)
        if known is not None and not lists_all and known.image_id == entry.image_id and known.split == entry.split:
            known.captions += entry.captions
        elif known is not None and not lists_all:
            faults.add(path, number, f"the image {image!r} has another split or id in row {known.row}")
        else:
            try:
                entry.source = find(image)
            except ItmlabError as error:
                faults.add(path, number, str(error))
            repeated.append(entry) if known is not None else entries.setdefault(image, entry)
    return [*entries.values(), *repeated]


def _image_column(row: dict[str, Any]) -> str:
    column = next((name for name in IMAGE_COLUMNS if name in row), None)
    if column is None:
        raise ItmlabError(f"there is no column 'image'; the columns are {_names(row)}")
    return column


def _entry(path: Path, number: int, row: dict[str, Any]) -> tuple[Entry, bool]:
    """The entry of one row, its picture not yet located, and whether the row lists all captions of the image."""
    image = row[_image_column(row)]
    if isinstance(image, bool) or not isinstance(image, str | int) or not str(image).strip():
        raise ItmlabError(f"captions without an image: the image is {one_line(repr(image), 60)}")
    texts, lists_all = _texts(row)
    ids = row.get("caption_ids", row.get("caption_id"))
    if isinstance(ids, str) and "captions" in row:
        ids = _json_list(ids, "caption_ids")
    ids = ids if isinstance(ids, list) else [None] * len(texts) if ids in (None, "") else [ids]
    if len(ids) != len(texts):
        raise ItmlabError(f"{len(texts)} captions with {len(ids)} caption ids")
    captions = [
        Caption(text, None if each is None else str(each), number) for text, each in zip(texts, ids, strict=True)
    ]
    image_id = row.get("image_id")
    split = row.get("split")
    return (
        Entry(
            file=str(path),
            row=number,
            image_id=str(image) if image_id in (None, "") else str(image_id),
            source=None,
            captions=captions,
            split=None if split is None else str(split).strip() or None,
        ),
        lists_all,
    )


def _texts(row: dict[str, Any]) -> tuple[list[Any], bool]:
    if "captions" in row:
        value = row["captions"]
        return (value if isinstance(value, list) else _json_list(value, "captions")), True
    if "caption" in row:
        value = row["caption"]
        return (value, True) if isinstance(value, list) else ([value], False)
    raise ItmlabError(f"there is no column 'caption' or 'captions'; the columns are {_names(row)}")


def _json_list(value: Any, column: str) -> list[Any]:
    try:
        parsed = json.loads(value)
    except (TypeError, ValueError, RecursionError):
        parsed = None
    if not isinstance(parsed, list):
        raise ItmlabError(f"{column!r} is not a list (in CSV: a JSON list) but {one_line(repr(value), 60)}")
    return parsed


def _names(row: dict[str, Any]) -> str:
    return one_line(", ".join(repr(name) for name in row), 200)


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
    """`root` with `images/` and `captions.jsonl` or `captions.csv` (columns: `caption_tables.read_captions`).

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
    _note_unnamed(folder, entries, table, faults)
    return assemble(
        faults.name,
        entries,
        faults,
        pictures=Pictures.from_paths,
        check=lambda paths: check_picture_files(paths, verify),
        proportions=proportions,
        seed=seed,
    )


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
    return assemble(
        faults.name,
        entries,
        faults,
        pictures=lambda sources: NoPictures(
            len(sources),
            why=f"{faults.name} was loaded from captions alone and has no pictures",
            remedy='give the pictures too, for example with load("folder", …) or load("flickr30k", …)',
        ),
        proportions=proportions,
        seed=seed,
    )


def _note_unnamed(folder: Path, entries: list[Entry], table: Path, faults: Faults) -> None:
    named = {entry.source for entry in entries}
    for path in sorted(folder.rglob("*")):
        hidden = any(part.startswith(".") for part in path.relative_to(folder).parts)
        if path.suffix.lower() in PICTURE_SUFFIXES and not hidden and path.is_file() and path.resolve() not in named:
            faults.add(path, None, f"an image without captions: {table.name} does not name it")
