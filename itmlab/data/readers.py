"""Readers of the published formats: a folder with a table of captions, Karpathy's JSON, region features.

A reader returns `Files`: an `Entry` per image, and how their pictures are checked and opened. `assemble` checks ids,
captions, splits and pictures of all of them, and raises every fault at once, with file and row. A format of your own
is a function that returns a `CaptionSet`.
"""

import json
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial, reduce
from os.path import normpath
from pathlib import Path
from typing import Any
from unicodedata import normalize

from PIL import Image

from ..errors import ItmlabError
from ..storage import inside, ordinary, read_json, usable
from .captionset import CaptionSet, proportional_splits
from .faults import Faults, one_line
from .identity import content_groups, file_version
from .pictures import NoPictures, Pictures, check_image, faults_of
from .regions import ArrayRow, Regions, read_npy
from .tables import SUFFIXES, read_rows, read_text, wrong_caption

SPLIT_NAMES = {"train": "train", "training": "train", "val": "val", "validation": "val", "valid": "val", "dev": "val"}
SPLIT_NAMES |= {"test": "test", "testing": "test"}
IMAGE_COLUMNS = ("image", "file_name", "filename", "image_id")
OPTIONAL_COLUMNS = ("split", "image_id", "caption_id", "caption_ids")
PICTURE_SUFFIXES = {".jpg", ".jpeg", ".png", ".apng", ".gif", ".webp", ".bmp", ".tif", ".tiff", ".jp2", ".avif"}


@dataclass(slots=True)
class Caption:
    """One caption as a file states it: any value, its id if it has one, its row if that differs from the image's."""

    text: Any
    identifier: str | None = None
    row: str | int | None = None


@dataclass(slots=True)
class Entry:
    """One image as a file states it.

    Attributes:
        file: the file that names the image.
        row: its row there.
        image_id: the id of the image.
        source: what the reader finds the picture by (a path, a row number); None if a fault of it is already recorded.
        captions: its captions.
        split: the name of its split, if the file states one.
        has_own_id: whether the file states the id; images with own ids stay apart, even with the same picture.
    """

    file: str
    row: str | int | None
    image_id: str
    source: Any = None
    captions: list[Caption] = field(default_factory=list)
    split: str | None = None
    has_own_id: bool = False


@dataclass
class Files:
    """What a reader found.

    Attributes:
        entries: one per image.
        pictures: returns the pictures of a list of sources.
        check: raises an ItmlabError for a faulty source, as `check_image` does.
        regions: returns the region features of a list of sources.
    """

    entries: list[Entry]
    pictures: Callable[[list[Any]], Sequence[Image.Image]] = Pictures.from_paths
    check: Callable[[Any, bool], None] = check_image
    regions: Callable[[list[Any]], Regions | None] = lambda sources: None


def assemble(files: Files, faults: Faults, *, proportions: Sequence[float] = (0.8, 0.1, 0.1)) -> CaptionSet:
    """Return the CaptionSet of a reader's files, or raise all faults together.

    Args:
        files: the entries and how to open their pictures.
        faults: the faults so far, and the name of the data set.
        proportions: of train, val and test, if no entry states a split.

    >>> entry = Entry("mine.txt", 1, image_id="a", source="a.jpg", captions=[Caption("a dog"), Caption("a hound")])
    >>> data = assemble(Files([entry], list, lambda *source: None), Faults("mine"), proportions=(0, 0, 1))
    >>> data, data.caption_ids
    (CaptionSet(mine: 1 images, 2 captions; test 1), ['a#0', 'a#1'])
    """
    located = [entry for entry in files.entries if entry.source is not None]
    for entry, reason in zip(located, faults_of([entry.source for entry in located], files.check), strict=True):
        if reason is not None:
            faults.add(entry.file, entry.row, reason)
            entry.source = None
    usable = [entry for entry in _without_faults(files.entries, faults) if entry.source is not None]
    faults.settle(kept=len(usable))
    if not usable:
        raise ItmlabError("there are no images in it", where=faults.name)
    usable = _one_per_picture(usable, files.pictures([entry.source for entry in usable]), faults.name)
    sources = [entry.source for entry in usable]
    return CaptionSet(
        name=faults.name,
        images=files.pictures(sources),
        image_ids=[entry.image_id for entry in usable],
        captions=[caption.text for entry in usable for caption in entry.captions],
        caption_ids=[caption.identifier for entry in usable for caption in entry.captions],
        image_of_caption=[index for index, entry in enumerate(usable) for _ in entry.captions],
        splits=_splits(usable) or proportional_splits(len(usable), proportions),
        regions=files.regions(sources),
    )


def _one_per_picture(entries: list[Entry], pictures: Sequence[Image.Image], name: str) -> list[Entry]:
    """Return the entries with those joined that have the same picture and split. A warning names what was found.

    Entries with ids of their own stay apart.
    """
    first: dict[tuple[int, str | None, str | None], Entry] = {}
    apart: dict[int, Entry] = {}
    joined, pairs = [], []
    for entry, group in zip(entries, content_groups(pictures).tolist(), strict=True):
        key = group, entry.split, entry.image_id if entry.has_own_id else None
        if first.setdefault(key, entry) is not entry:
            first[key].captions += entry.captions
            joined.append(entry)
        elif (other := apart.setdefault(group, entry)) is not entry:
            pairs.append(f"{other.file}:{other.row} and {entry.file}:{entry.row}")
    if joined:
        message = f"{name}: {len(joined)} rows repeat the picture of another row, whose image has their captions too"
        warnings.warn(one_line(message), stacklevel=2)
    if pairs:
        message = f"{name}: {len(pairs)} pictures occur under several ids or in several splits ({pairs[-1]})"
        warnings.warn(one_line(f"{message} and stay apart; their captions count as positives of each"), stacklevel=2)
    return list(first.values())


def _without_faults(entries: Sequence[Entry], faults: Faults) -> list[Entry]:
    """Return the entries with sound ids and splits, without their faulty captions."""
    sound: list[Entry] = []
    first_with_id: dict[str, Entry] = {}
    caption_places: dict[str, str] = {}
    splits_used = any(entry.split for entry in entries)
    for entry in entries:
        with faults.noting(entry.file, entry.row):
            first = first_with_id.setdefault(entry.image_id, entry)
            if first is not entry:
                raise ItmlabError(f"the image id {entry.image_id!r} is already that of row {first.row}")
            if splits_used and not entry.split:
                raise ItmlabError(f"the image {entry.image_id!r} has no split, while others have one")
            entry.captions = list(_sound_captions(entry, caption_places, faults))
            if not entry.captions:
                raise ItmlabError(f"the image {entry.image_id!r} has no captions that can be used")
            sound.append(entry)
    return sound


def _sound_captions(entry: Entry, places: dict[str, str], faults: Faults) -> Iterator[Caption]:
    for number, caption in enumerate(entry.captions):
        row = entry.row if caption.row is None else caption.row
        identifier = f"{entry.image_id}#{number}" if caption.identifier is None else caption.identifier
        reason = wrong_caption(caption.text)
        if reason is None and identifier in places:
            reason = f"its id {identifier!r} is already that of the caption at {places[identifier]}"
        if reason is not None:
            faults.add(entry.file, row, f"caption {number + 1} of the image {entry.image_id!r}: {reason}")
            continue
        places[identifier] = f"{entry.file}:{row}"
        yield Caption(caption.text, identifier)


def _splits(entries: Sequence[Entry]) -> dict[str, list[int]]:
    """Return the image indices of each named split."""
    members: dict[str, list[int]] = {}
    for index, entry in enumerate(entries):
        if entry.split:
            name = entry.split.strip()
            members.setdefault(SPLIT_NAMES.get(name.lower(), name), []).append(index)
    return members


# A folder of pictures with a table of captions.


def read_folder(
    root: Path, faults: Faults, *, captions: str | Path | None = None, images: str | Path | None = None
) -> Files:
    """Read `images/` and `captions.jsonl` or `captions.csv` under `root`; `read_captions` describes the columns.

    A picture in the folder that the table does not name is a fault. Hidden files and other kinds of files are ignored.

    Args:
        root: the folder.
        faults: collects what is wrong.
        captions: another table.
        images: another folder of pictures.
    """
    table = Path(captions) if captions is not None else _table(root)
    if table is None:
        remedy = "write one with the columns image and caption, or name it with captions="
        raise ItmlabError("neither captions.jsonl nor captions.csv is there", where=str(root), remedy=remedy)
    folder = _folder(root, images, ("images",))
    entries = read_captions(table, faults, partial(locate, folder))
    named = {entry.source for entry in entries}
    for path in sorted(folder.rglob("*")):
        hidden = any(part.startswith(".") for part in path.relative_to(folder).parts)
        if path.suffix.lower() in PICTURE_SUFFIXES and not hidden and path.is_file() and path.resolve() not in named:
            faults.add(path, None, f"an image without captions: {table.name} does not name it")
    return Files(entries)


def read_captions(path: Path, faults: Faults, find: Callable[[str], Any]) -> list[Entry]:
    """Read the images of a table in the order of their first row, with the captions of all their rows.

    A row has `image` (also `file_name`, or `image_id` alone) and `caption` (a text) or `captions` (a list, in CSV as
    JSON). Optional: `split`, `image_id`, `caption_id` or `caption_ids`.

    Args:
        path: the table, JSON lines or CSV.
        faults: collects malformed rows.
        find: returns the source of an image from its name, or raises the fault of the row.
    """
    entries: dict[str, Entry] = {}
    for number, row in read_rows(path, faults):
        with faults.noting(path, number):
            image, entry = _table_row(path, number, row)
            name = normalize("NFC", normpath(image))  # "./a.png" is "a.png"
            first = entries.setdefault(name, entry)
            if first is entry:
                entry.source = find(image)
            elif entry.split != first.split or (entry.has_own_id and entry.image_id != first.image_id):
                raise ItmlabError(f"the image {image!r} has another split or id in row {first.row}")
            else:
                first.captions += entry.captions
    return list(entries.values())


def _table_row(path: Path, number: int, row: dict[str, Any]) -> tuple[str, Entry]:
    """Return the name of the image of a row, and its entry without a source."""
    row = {name: cell for name, cell in row.items() if name not in OPTIONAL_COLUMNS or cell not in (None, "")}
    image_column = next((name for name in IMAGE_COLUMNS if name in row), None)
    texts = _cells(row, "caption")
    if image_column is None or texts is None:
        missing = "'image'" if image_column is None else "'caption' or 'captions'"
        columns = one_line(", ".join(map(repr, row)), 200)
        raise ItmlabError(f"there is no column {missing}; the columns are {columns}")
    image = row[image_column]
    if isinstance(image, bool) or not isinstance(image, str | int) or not str(image).strip():
        raise ItmlabError(f"captions without an image: the image is {one_line(repr(image), 60)}")
    ids = _cells(row, "caption_id") or [None] * len(texts)
    if len(ids) != len(texts):
        raise ItmlabError(f"{len(texts)} captions with {len(ids)} caption ids")
    captions = [Caption(text, _text(name), number) for text, name in zip(texts, ids, strict=True)]
    image_id, split = str(row.get("image_id", image)), str(row.get("split", "")).strip() or None
    return str(image), Entry(str(path), number, image_id, None, captions, split, has_own_id=image_id != str(image))


def _cells(row: dict[str, Any], name: str) -> list[Any] | None:
    """Return what stands under a name: a list under its plural (in CSV as JSON), or one value; None without either."""
    if f"{name}s" not in row:
        return [row[name]] if name in row else None
    value = row[f"{name}s"]
    try:
        values = json.loads(value) if isinstance(value, str) else value
    except (ValueError, RecursionError):
        values = None
    if not isinstance(values, list):
        raise ItmlabError(f"'{name}s' is not a list (in CSV: a JSON list) but {one_line(repr(value), 60)}")
    return values


def _text(value: Any) -> str | None:
    return None if value is None else str(value)


def _table(root: Path) -> Path | None:
    return next(filter(Path.is_file, (root / f"captions{suffix}" for suffix in SUFFIXES)), None)


def _folder(root: Path, images: str | Path | None, names: Sequence[str]) -> Path:
    """Return the folder `images`, or the first of `names` that is a folder under `root`."""
    if images is not None:
        if not Path(images).is_dir():
            raise ItmlabError("there is no such folder", where=str(images))
        return Path(images)
    name = next((name for name in names if (root / name).is_dir()), None)
    if name is None:
        message = f"no folder of pictures ({' or '.join(names)})"
        raise ItmlabError(message, where=str(root), remedy="name it with images=")
    return inside(root, name, remedy="name the folder of the pictures with images=")


def locate(folder: Path, name: Any) -> Path:
    """Return the file `name` in `folder`; not a file's name, or one that leads out of the folder, is an ItmlabError.

    A name is also found if the disk has it in another Unicode form: "é" as one character or as two.
    """
    if not isinstance(name, str) or not name.strip():
        raise ItmlabError(f"not the name of a file: {one_line(repr(name), 80)}", where=str(folder))
    with usable(folder):  # a name may be too long
        path = inside(folder, name, remedy="copy the file into the folder, or name the folder that has it with images=")
        if path.exists() or name.isascii():
            return path
        parts = path.relative_to(folder.resolve()).parts
        return inside(folder, str(reduce(_with_part, parts, folder.resolve())))


def _with_part(folder: Path, part: str) -> Path:
    """Return the path of a file or folder in `folder`, by its name in any Unicode form."""
    entries = _entries_by_form(folder, file_version(folder)) if folder.is_dir() else {}
    return entries.get(normalize("NFC", part), folder / part)


@lru_cache(maxsize=64)
def _entries_by_form(folder: Path, version: tuple[int, ...]) -> dict[str, Path]:
    return {normalize("NFC", entry.name): entry for entry in folder.iterdir()}


# Twenty photographs with captions ship with the package. Their pooled features come with them, so that
# `pretrained("photos")` searches them without the extra "photos".


SHIPPED = Path(__file__).parent / "photographs"  # `photographs/LICENSE.md` has the licence of each


def shipped_features(sources: Sequence[Path]) -> Regions:
    """Return the mean over the grid of each photograph that ships, one region per picture."""
    names = sorted(path.name for path in (SHIPPED / "images").iterdir())  # the rows of the array
    return Regions([ArrayRow(SHIPPED / "features.npy", names.index(source.name)) for source in sources])


# Flickr30K and MS-COCO: one JSON file with captions and splits (Karpathy and Fei-Fei, 2015, Sec. 4).


KARPATHY_FOLDERS = ("images", "flickr30k-images", "flickr30k_images", ".")


def read_karpathy(
    root: Path, faults: Faults, *, annotations: str | Path | None = None, images: str | Path | None = None
) -> Files:
    """Read `dataset_flickr30k.json` or `dataset_coco.json` with their pictures.

    COCO's split "restval" is added to the training split, as the field does.

    Args:
        root: the folder of all files.
        faults: collects what is wrong, and holds the name, flickr30k or coco.
        annotations: another file.
        images: the folder of pictures, or of COCO's folders (`val2014/`, ...).
    """
    name = f"dataset_{faults.name}.json"
    found = [*root.glob(name), *root.glob(f"*/{name}")]
    path = Path(annotations) if annotations is not None else next(iter(found), None)
    if path is None:
        raise ItmlabError(f"there is no {name}", where=str(root), remedy="put it there or name it with annotations=")
    content = read_json(path)
    rows = content.get("images") if isinstance(content, dict) else None
    if not isinstance(rows, list):
        raise ItmlabError("there is no list 'images' in it", where=str(path), remedy="give Karpathy's JSON")
    folder, entries = _folder(root, images, KARPATHY_FOLDERS), []
    for number, row in enumerate(rows):
        place = f"images[{number}]"
        with faults.noting(path, place):
            entries.append(_karpathy_entry(path, place, row, folder))
    return Files(entries)


def _karpathy_entry(path: Path, place: str, row: Any, folder: Path) -> Entry:
    name, sentences = (row.get("filename"), row.get("sentences")) if isinstance(row, dict) else (None, None)
    if not isinstance(name, str) or not isinstance(sentences, list):
        raise ItmlabError("malformed row: no file name, or no list of sentences")
    split = "train" if row.get("split") == "restval" else _text(row.get("split"))
    # "filepath" is the folder of COCO's pictures (val2014)
    source = locate(folder, f"{row['filepath']}/{name}" if row.get("filepath") else name)
    entry = Entry(str(path), place, str(row.get("cocoid", name)), source, split=split, has_own_id=True)
    for index, sentence in enumerate(sentences):
        sentence = sentence if isinstance(sentence, dict) else {}
        caption = Caption(sentence.get("raw"), _text(sentence.get("sentid")), f"{place}.sentences[{index}]")
        entry.captions.append(caption)
    return entry


# Region features, see `regions`.


def read_regions(
    root: Path, faults: Faults, *, captions: str | Path | None = None, features: str | Path | None = None
) -> Files:
    """Read region features in either published layout. The set has `regions` and no pictures.

    With `{split}_ims.npy` under `root`, the lines of `{split}_caps.txt` belong to the images in order, the same number
    to each (five in the published files). Otherwise `root` has a table of captions, as `read_folder` reads it, and
    `regions/NAME.npz` for each image NAME, whose `objects` are its tags.

    Args:
        root: the folder.
        faults: collects what is wrong.
        captions: another table of captions.
        features: another folder of .npz files.
    """
    arrays = sorted(root.glob("*_ims.npy"))
    if arrays:
        entries = [entry for path in arrays for entry in _array_entries(root, path, faults)]
    else:
        table = Path(captions) if captions is not None else _table(root)
        folder = inside(root, "regions") if features is None else Path(features)
        if table is None or not folder.is_dir():
            message = "no {split}_ims.npy, and no table of captions with a folder regions/ of .npz files"
            raise ItmlabError(message, where=str(root), remedy="name them with captions= and features=")
        entries = read_captions(table, faults, lambda name: locate(folder, str(Path(name).with_suffix(".npz"))))

    def check(source: Any, whole: bool) -> None:
        if whole:
            Regions([source])[0]
        elif not arrays:
            ordinary(source)

    return Files(entries, lambda sources: NoPictures(len(sources)), check, Regions)


def _array_entries(root: Path, path: Path, faults: Faults) -> list[Entry]:
    """Return the entries of one split in SCAN's layout."""
    split = path.name.removesuffix("_ims.npy")
    texts, entries = root / f"{split}_caps.txt", []
    with faults.noting(path, None):
        path = inside(root, path.name)
        array = read_npy(path)
        lines = [line.removesuffix("\r") for line in read_text(inside(root, texts.name)).removesuffix("\n").split("\n")]
        captions, rows = _shares(path, array, len(lines))
        for image in range(len(array) // rows):
            numbers = range(image * captions, (image + 1) * captions)
            image_captions = [Caption(lines[number], row=number + 1) for number in numbers]
            source = ArrayRow(path, image * rows)
            entries.append(Entry(str(texts), numbers[0] + 1, f"{split}/{image}", source, image_captions, split))
    return entries


def _shares(path: Path, array: Any, line_count: int) -> tuple[int, int]:
    """Return (captions per image, rows per image): some published arrays repeat each image for each of its captions."""
    row_count = len(array)
    if row_count and line_count == row_count:
        firsts = range(0, row_count, 5) if row_count % 5 == 0 else ()
        is_repeated = firsts and all((array[first : first + 5] == array[first]).all() for first in firsts)
        return (5, 5) if is_repeated else (1, 1)
    if row_count and line_count and line_count % row_count == 0:
        return line_count // row_count, 1
    raise ItmlabError(f"{row_count} images beside {line_count} captions do not divide evenly", where=str(path))
