"""MS-COCO's own annotation format: `images` and `annotations` joined by image id."""

import re
from pathlib import Path
from typing import Any

from ..errors import ItmlabError
from ..storage import inside, read_json
from .entries import Caption, Entry
from .faults import Faults, one_line
from .verify import locate


def find_annotations(root: Path) -> list[Path]:
    """`captions.json` of a folder, or else every `annotations/captions_*.json`."""
    single = root / "captions.json"
    return [single] if single.is_file() else sorted((root / "annotations").glob("captions_*.json"))


def coco_entries(root: Path, files: list[Path], images: Path | None, faults: Faults) -> list[Entry]:
    """One entry for each image of each file; captions of images that are not listed go to `faults`."""
    entries = []
    for path in files:
        subset = re.fullmatch(r"captions_((train|val|test)\w*)", path.stem)
        folder = images if images is not None else _folder(root, subset and subset.group(1))
        entries += _read(path, read_json(path), folder, subset and subset.group(2), faults)
    return entries


def _folder(root: Path, subset: str | None) -> Path:
    names = ([subset, f"images/{subset}"] if subset else []) + ["images"]
    for name in names:
        if (root / name).is_dir():
            return inside(root, name)
    raise ItmlabError(f"there is no folder {' or '.join(names)}", where=str(root), remedy="name it with images=")


def _read(path: Path, content: Any, folder: Path, split: str | None, faults: Faults) -> list[Entry]:
    parts = [content.get(key) if isinstance(content, dict) else None for key in ("images", "annotations")]
    if not all(isinstance(part, list) for part in parts):
        raise ItmlabError("no lists 'images' and 'annotations' in it", where=str(path), remedy="is it COCO's format?")
    entries: dict[str, Entry] = {}
    repeated: list[Entry] = []
    for number, row in enumerate(parts[0]):
        place = f"images[{number}]"
        if not isinstance(row, dict) or not isinstance(row.get("id"), int | str) or "file_name" not in row:
            faults.add(path, place, "malformed row: no 'id' or no 'file_name'")
            continue
        entry = Entry(str(path), place, str(row["id"]), source=None, split=split)
        try:
            entry.source = locate(folder, row["file_name"])
        except ItmlabError as error:
            faults.add(path, place, str(error))
        if entries.setdefault(entry.image_id, entry) is not entry:
            repeated.append(entry)
    for number, row in enumerate(parts[1]):
        place = f"annotations[{number}]"
        if not isinstance(row, dict) or "image_id" not in row:
            faults.add(path, place, "malformed row: no 'image_id'")
        elif str(row["image_id"]) not in entries:
            faults.add(
                path, place, f"a caption without an image: no image has the id {one_line(repr(row['image_id']))}"
            )
        else:
            identifier = row.get("id")
            caption = Caption(row.get("caption"), None if identifier is None else str(identifier), place)
            entries[str(row["image_id"])].captions.append(caption)
    return [*entries.values(), *repeated]
