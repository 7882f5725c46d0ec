"""Flickr30K and MS-COCO in the splits that the field uses, or in COCO's own files, beside folders of pictures.

The field's splits are those of Karpathy and Fei-Fei (2015, Sec. 4): one JSON file with the captions and the split of
each picture. COCO's own format (Lin et al., 2014) has lists `images` and `annotations`, joined by image id.
"""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..errors import ItmlabError
from ..storage import inside, read_json
from .captionset import CaptionSet
from .entries import Caption, Entry, assemble_files, locate, named_folder
from .faults import Faults, one_line

FLICKR_FOLDERS = ("images", "flickr30k-images", "flickr30k_images")
GET_THEM = (
    "put the published annotations there or name them with annotations=, or read a data set of the hub with dataset="
)


def load_flickr30k(
    root: Path,
    faults: Faults,
    *,
    annotations: str | Path | None = None,
    images: str | Path | None = None,
    verify: str | None = None,
) -> CaptionSet:
    """Flickr30K: `dataset_flickr30k.json` and the pictures in `images/` or `flickr30k-images/` under `root`."""
    path = Path(annotations) if annotations is not None else _find_json(root, "flickr30k")
    if path is None:
        raise ItmlabError("there is no dataset_flickr30k.json", where=str(root), remedy=GET_THEM)
    folder = _folder(root, images, FLICKR_FOLDERS, "of pictures ({})")
    return assemble_files(karpathy_entries(path, read_json(path), folder, faults, restval=True), faults, verify)


def load_coco(
    root: Path,
    faults: Faults,
    *,
    annotations: str | Path | None = None,
    images: str | Path | None = None,
    restval: bool = True,
    verify: str | None = None,
    proportions: Sequence[float] = (0.8, 0.1, 0.1),
    seed: int = 0,
) -> CaptionSet:
    """MS-COCO from Karpathy's `dataset_coco.json` (train2014/ and val2014/ beside it or in images/), or COCO's own.

    `restval=True` adds Karpathy's "restval" images to train, as the field does; False keeps them as a split of that
    name. COCO's own annotations are `captions.json` beside `images/`, or `annotations/captions_*.json` beside
    folders named as the files (`val2017/`), whose names also give the splits; without such names the images are
    shared out by `proportions` and `seed`. The test split has the file's order: five folds of 1,000 are blocks of it.
    """
    path = Path(annotations) if annotations is not None else _find_json(root, "coco")
    content, own = None if path is None else read_json(path), []
    if path is None:
        single = root / "captions.json"
        own = [single] if single.is_file() else sorted((root / "annotations").glob("captions_*.json"))
        if not own:
            raise ItmlabError("there is no dataset_coco.json or captions.json", where=str(root), remedy=GET_THEM)
    elif isinstance(content, dict) and "annotations" in content:
        own = [path]
    if own:
        entries = coco_entries(root, own, images, faults)
    else:
        folder = _folder(root, images, ("images", "."), "of pictures ({})")
        entries = karpathy_entries(path, content, folder, faults, restval=restval)
    return assemble_files(entries, faults, verify, proportions=proportions, seed=seed)


def _find_json(root: Path, name: str) -> Path | None:
    places = (root, root / "karpathy", root / "annotations")
    return next((p / f"dataset_{name}.json" for p in places if (p / f"dataset_{name}.json").is_file()), None)


def _folder(root: Path, images: str | Path | None, names: Sequence[str], said: str = "{}") -> Path:
    """Where the pictures are: `images`, or the first of the names that is a folder under `root`."""
    if images is not None:
        return named_folder(images)
    for name in names:
        if (root / name).is_dir():
            return inside(root, name)
    what = f"there is no folder {said.format(' or '.join(names))}"
    raise ItmlabError(what, where=str(root), remedy="name it with images=")


def karpathy_entries(path: Path, content: Any, folder: Path, faults: Faults, *, restval: bool) -> list[Entry]:
    """One entry for each of the JSON's `images`; what is malformed goes to `faults`."""
    rows = content.get("images") if isinstance(content, dict) else None
    if not isinstance(rows, list):
        raise ItmlabError("there is no list 'images' in it", where=str(path), remedy="is it Karpathy's JSON?")
    entries = []
    for number, row in enumerate(rows):
        place = f"images[{number}]"
        if not isinstance(row, dict) or not isinstance(row.get("filename"), str):
            faults.add(path, place, "malformed row: no 'filename'")
            continue
        name = row["filename"]
        if not isinstance(row.get("sentences"), list):
            faults.add(path, place, f"captions missing: no list 'sentences' for {name!r}")
            continue
        entry = Entry(str(path), place, str(row.get("cocoid", name)), source=None, split=_text(row.get("split")))
        if entry.split == "restval" and restval:
            entry.split = "train"
        for at, sentence in enumerate(row["sentences"]):
            said = sentence if isinstance(sentence, dict) else {}
            entry.captions.append(Caption(said.get("raw"), _text(said.get("sentid")), f"{place}.sentences[{at}]"))
        with faults.noting(path, place):  # "filepath" is the folder of COCO's pictures (val2014)
            entry.source = locate(folder, f"{row['filepath']}/{name}" if row.get("filepath") else name)
        entries.append(entry)
    return entries


def coco_entries(root: Path, files: list[Path], images: str | Path | None, faults: Faults) -> list[Entry]:
    """One entry for each image of each file; captions of images that are not listed go to `faults`."""
    entries = []
    for path in files:
        subset = re.fullmatch(r"captions_((train|val|test)\w*)", path.stem)
        names = [subset.group(1), f"images/{subset.group(1)}"] if subset else []
        entries += _coco_file(path, _folder(root, images, [*names, "images"]), subset and subset.group(2), faults)
    return entries


def _coco_file(path: Path, folder: Path, split: str | None, faults: Faults) -> list[Entry]:
    content = read_json(path)
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
        with faults.noting(path, place):
            entry.source = locate(folder, row["file_name"])
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
            entries[str(row["image_id"])].captions.append(Caption(row.get("caption"), _text(row.get("id")), place))
    return [*entries.values(), *repeated]


def _text(value: Any) -> str | None:
    return None if value is None else str(value)
