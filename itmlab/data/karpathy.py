"""Flickr30K and MS-COCO in the splits that the field uses (Karpathy's JSON) beside a folder of pictures."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..errors import ItmlabError
from ..storage import inside, read_json
from .captionset import CaptionSet
from .entries import Caption, Entry, assemble
from .faults import Faults, one_line
from .pictures import Pictures, check_picture_files, locate, named_folder

# MS-COCO's own annotation format: `images` and `annotations` joined by image id.


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


FLICKR_FOLDERS = ("images", "flickr30k-images", "flickr30k_images")


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
        raise _missing(root, "dataset_flickr30k.json")
    folder = named_folder(images) if images is not None else _first_folder(root, FLICKR_FOLDERS)
    entries = karpathy_entries(path, read_json(path), folder, faults, restval=True)
    return _with_pictures(entries, faults, verify)


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
    shared out by `proportions` and `seed`. The test split's order is the file's: five folds of 1,000 are its
    consecutive blocks.
    """
    path = Path(annotations) if annotations is not None else _find_json(root, "coco")
    own = [] if path is not None else find_annotations(root)
    if path is None and not own:
        raise _missing(root, "dataset_coco.json or captions.json")
    content = None if path is None else read_json(path)
    if content is not None and isinstance(content, dict) and "annotations" in content:
        own = [path]
    if own:
        entries = coco_entries(root, own, None if images is None else named_folder(images), faults)
    else:
        folder = named_folder(images) if images is not None else _first_folder(root, ("images", "."))
        entries = karpathy_entries(path, content, folder, faults, restval=restval)
    return _with_pictures(entries, faults, verify, proportions=proportions, seed=seed)


def karpathy_entries(path: Path, content: Any, folder: Path, faults: Faults, *, restval: bool) -> list[Entry]:
    """One entry for each of the JSON's `images`; what is malformed goes to `faults`."""
    rows = content.get("images") if isinstance(content, dict) else None
    if not isinstance(rows, list):
        raise ItmlabError("there is no list 'images' in it", where=str(path), remedy="is it Karpathy's JSON?")
    entries = []
    for number, row in enumerate(rows):
        place = f"images[{number}]"
        try:
            entry = _entry(path, place, row, restval)
        except ItmlabError as error:
            faults.add(path, place, error.what)
            continue
        try:
            # "filepath" is the folder of COCO's pictures (val2014)
            entry.source = locate(
                folder, f"{row['filepath']}/{row['filename']}" if row.get("filepath") else row["filename"]
            )
        except ItmlabError as error:
            faults.add(path, place, str(error))
        entries.append(entry)
    return entries


def _entry(path: Path, place: str, row: Any, restval: bool) -> Entry:
    if not isinstance(row, dict) or not isinstance(row.get("filename"), str):
        raise ItmlabError("malformed row: no 'filename'")
    if not isinstance(row.get("sentences"), list):
        raise ItmlabError(f"captions missing: no list 'sentences' for {row['filename']!r}")
    captions = []
    for number, sentence in enumerate(row["sentences"]):
        sentence = sentence if isinstance(sentence, dict) else {}
        identifier = sentence.get("sentid")
        captions.append(
            Caption(
                sentence.get("raw"), None if identifier is None else str(identifier), f"{place}.sentences[{number}]"
            )
        )
    split = row.get("split")
    return Entry(
        file=str(path),
        row=place,
        image_id=str(row.get("cocoid", row["filename"])),
        source=None,
        captions=captions,
        split="train" if split == "restval" and restval else None if split is None else str(split),
    )


def _with_pictures(entries: list[Entry], faults: Faults, verify: str | None, **sharing: Any) -> CaptionSet:
    return assemble(
        faults.name,
        entries,
        faults,
        pictures=Pictures.from_paths,
        check=lambda paths: check_picture_files(paths, verify),
        **sharing,
    )


def _find_json(root: Path, name: str) -> Path | None:
    places = (root, root / "karpathy", root / "annotations")
    return next((p / f"dataset_{name}.json" for p in places if (p / f"dataset_{name}.json").is_file()), None)


def _first_folder(root: Path, names: Sequence[str]) -> Path:
    folder = next((inside(root, name) for name in names if (root / name).is_dir()), None)
    if folder is None:
        raise ItmlabError(
            f"there is no folder of pictures ({' or '.join(names)})", where=str(root), remedy="name it with images="
        )
    return folder


def _missing(root: Path, name: str) -> ItmlabError:
    return ItmlabError(
        f"there is no {name}",
        where=str(root),
        remedy="put the published annotations there or name them with annotations=, or read a data set of the hub "
        "with dataset=",
    )
