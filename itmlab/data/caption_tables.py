"""Captions in a table: JSON lines or CSV with the columns image, caption or captions, optional split and ids."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ..errors import ItmlabError
from .entries import Caption, Entry
from .faults import Faults, one_line
from .tables import read_rows

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
