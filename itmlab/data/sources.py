"""The public data sets: what to get, where from and under which licence, and what of it a folder lacks.

`SOURCES` is the table, `inspect_source` compares a folder with it. A file is known by what the published splits hold
(images, captions, regions), by its size, and by a checksum where its publishers or a public catalogue state one. Of the
rest nobody publishes checksums: `record_checksums` writes those of one's own copy, in the format of `sha256sum`, and
later looks are compared with them.
"""

import hashlib
import importlib.util
import json
import os
import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import ItmlabError
from ..fields import did_you_mean
from ..storage import atomic_file, inside, read_json
from .entries import named_folder, read_lines, read_rows, read_text
from .faults import Faults, one_line
from .karpathy import FLICKR_FOLDERS
from .regions import read_npy

CHECKSUMS = "checksums.sha256"  # of one's own copy, in its folder
Check = Callable[[Path, Path], Iterator[str]]  # given the root and the file or folder: what is wrong, or missing in it


@dataclass(frozen=True)
class Item:
    """A file or folder of a data set; of several `paths` under the root any will do.

    `archive` is what it is published in, if that has a public checksum: file name, bytes, SHA-256.
    """

    paths: tuple[str, ...]
    what: str
    address: str
    licence: str
    check: Check
    archive: tuple[str, int, str] | None = None


@dataclass(frozen=True)
class Source:
    """A data set: its name in the literature, its parts, and how it is used when all are there."""

    title: str
    items: tuple[Item, ...]
    use: str


@dataclass(frozen=True)
class Found:
    """What was found of an item: "there", "missing", or "wrong" with every fault; `path` is where it was looked for."""

    item: Item
    state: str
    path: Path
    faults: tuple[str, ...] = ()


@dataclass(frozen=True)
class Inspection:
    """What a folder holds of a data set; `complete` when nothing is missing or wrong."""

    name: str
    source: Source
    root: Path | None
    found: tuple[Found, ...]

    @property
    def complete(self) -> bool:
        """Whether all of it is there as published."""
        return all(each.state == "there" for each in self.found)

    def to_json(self) -> dict[str, Any]:
        """All of it, every missing file by name, as JSON values."""
        items = [
            {"state": each.state, "path": str(each.path), "faults": list(each.faults)}
            | {name: getattr(each.item, name) for name in ("what", "address", "licence")}
            for each in self.found
        ]
        root = None if self.root is None else str(self.root)
        return {"name": self.name, "title": self.source.title, "root": root, "complete": self.complete, "items": items}

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def lines(self, most: int = 20) -> Iterator[str]:
        """The same as text, of each item at most so many faults."""
        yield f"{self.name}: {self.source.title}"
        for each in self.found:
            yield f"\n  [{each.state}] {' or '.join(each.item.paths)}: {each.item.what}"
            yield f"      from     {each.item.address}"
            yield f"      licence  {each.item.licence}"
            yield from (f"      - {one_line(fault)}" for fault in each.faults[:most])
            if len(each.faults) > most:
                yield f"      - and {len(each.faults) - most:,} more (--json lists all)"
        missing = sum(each.state != "there" for each in self.found)
        if self.root is None:
            yield f"\nget these into one folder, then: python -m itmlab data {self.name} --root FOLDER"
        elif missing:
            yield f"\n{missing} of {len(self.found)} items are missing or wrong in {self.root}"
        else:
            yield f"\ncomplete; {self.source.use.format(root=str(self.root))}"


def inspect_source(name: str, root: str | Path | None = None, *, verify: bool = False) -> Inspection:
    """What the folder `root` holds of a data set of `SOURCES`, and what it lacks, all at once.

    `verify` also reads every file whose checksum is public or was recorded (`record_checksums`), which takes long.
    ItmlabError: an unknown name, a root that is no folder.

    >>> inspect_source("flickr30k").found[0].state
    'missing'
    """
    source = source_of(name)
    root = _package_folder() if root is None and name == "eccv" else root
    if root is None:
        return Inspection(name, source, None, tuple(Found(one, "missing", Path(one.paths[0])) for one in source.items))
    root = named_folder(root).resolve()
    recorded = _recorded(root) if verify else {}
    return Inspection(name, source, root, tuple(_found(item, root, verify, recorded) for item in source.items))


def source_of(name: str) -> Source:
    """The data set of that name; an unknown one is an ItmlabError."""
    if name not in SOURCES:
        raise ItmlabError(f"no data set {name!r} is described", remedy=did_you_mean(name, SOURCES))
    return SOURCES[name]


def _found(item: Item, root: Path, verify: bool, recorded: dict[str, str]) -> Found:
    place, faults = next((root / path for path in item.paths if (root / path).exists()), None), []
    try:
        if place is not None:
            faults += item.check(root, inside(root, place.relative_to(root).as_posix()))
            faults += _differing(root, place, recorded)
        if item.archive and (root / item.archive[0]).is_file():
            faults += _archive_faults(root / item.archive[0], item.archive, verify)
    except ItmlabError as error:
        faults.append(str(error))
    state = "missing" if place is None else "wrong" if faults else "there"
    return Found(item, state, place or root / item.paths[0], tuple(faults))


# Checksums: public ones of archives, and one's own.


def sha256(path: Path) -> str:
    """The SHA-256 of a file, read a part at a time."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _archive_faults(path: Path, archive: tuple[str, int, str], verify: bool) -> Iterator[str]:
    _, size, digest = archive
    there = path.stat().st_size
    if there != size:
        yield f"{path.name} has {there:,} bytes, published are {size:,}: it was not fetched whole"
    elif verify and sha256(path) != digest:
        yield f"{path.name} has another SHA-256 than the one published, {digest}"


def record_checksums(name: str, root: str | Path) -> Path:
    """Write the SHA-256 of every file of a data set under `root` into its `checksums.sha256`, which it gives.

    ItmlabError: an unknown name, nothing of it there, or checksums recorded before, which stay.
    """
    root = named_folder(root).resolve()
    out = root / CHECKSUMS
    if out.exists():
        raise ItmlabError("checksums were recorded before", where=str(out), remedy="remove it to record them anew")
    places = [each.path for each in inspect_source(name, root).found if each.state != "missing"]
    files = sorted({file for place in places for file in _files(place)})
    if not files:
        raise ItmlabError(f"nothing of {name} is there", where=str(root), remedy=f"python -m itmlab data {name}")
    with atomic_file(out) as written:
        for file in files:
            written.write(f"{sha256(file)}  {file.relative_to(root).as_posix()}\n".encode())
    return out


def _files(place: Path) -> list[Path]:
    if place.is_file():
        return [place]
    return [Path(folder) / name for folder, _, names in os.walk(place) for name in names]


def _recorded(root: Path) -> dict[str, str]:
    """The recorded checksum of each file by its name under the root."""
    lines = read_text(root / CHECKSUMS).splitlines() if (root / CHECKSUMS).is_file() else []
    return {name: digest for digest, _, name in (line.partition("  ") for line in lines)}


def _differing(root: Path, place: Path, recorded: dict[str, str]) -> Iterator[str]:
    own = place.relative_to(root).as_posix()
    for name, digest in recorded.items():
        if name == own or name.startswith(f"{own}/"):
            if not (root / name).is_file():
                yield f"{name} is gone since its checksum was recorded"
            elif sha256(inside(root, name)) != digest:
                yield f"{name} is another than when its checksum was recorded"


# What the published splits hold.


def _karpathy(splits: dict[str, int], captions: int) -> Check:
    """The numbers of images of each split and of all captions in Karpathy's JSON."""

    def check(root: Path, path: Path) -> Iterator[str]:
        rows = _images_of(path)
        found = Counter(str(row.get("split")) for row in rows)
        for split, count in splits.items():
            if found[split] != count:
                yield f"the split {split} has {found[split]:,} images, published are {count:,}"
        said = sum(len(row.get("sentences") or ()) for row in rows)
        if said != captions:
            yield f"{said:,} captions, published are {captions:,}"

    return check


def _images_of(path: Path) -> list[dict[str, Any]]:
    content = read_json(path)
    rows = content.get("images") if isinstance(content, dict) else None
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise ItmlabError("there is no list 'images' in it", where=str(path), remedy="is it Karpathy's JSON?")
    return rows


def _pictures(annotations: str, count: int) -> Check:
    """That every picture which Karpathy's JSON names is there; without the JSON, that there are as many."""

    def check(root: Path, folder: Path) -> Iterator[str]:
        there = {path.relative_to(folder).as_posix() for path in _files(folder)}
        places = (root / place / annotations for place in ("", "karpathy", "annotations"))
        path = next((place for place in places if place.is_file()), None)
        if path is None:
            if len(there) < count:
                yield f"{len(there):,} files, published are {count:,} pictures (which ones, {annotations} will tell)"
            return
        for row in _images_of(path):
            within, name = str(row.get("filepath") or ""), str(row.get("filename"))
            if (within or folder.name) == folder.name and name not in there:
                yield f"{folder.name}/{name} is missing"

    return check


def _feature_array(images: int) -> Check:
    """That an array holds 36 regions of 2,048 numbers of each image, or of each once a caption."""

    def check(root: Path, path: Path) -> Iterator[str]:
        shape = read_npy(path).shape
        if shape[1:] != (36, 2048) or shape[0] not in (images, 5 * images):
            yield f"an array of shape {tuple(shape)}, published is ({images}, 36, 2048)"

    return check


def _published(counted: Callable[[Path], str], published: str) -> Check:
    """That what is counted in a file is what was published, both in the same words."""

    def check(root: Path, path: Path) -> Iterator[str]:
        found = counted(path)
        if found != published:
            yield f"{found}, published: {published}"

    return check


def _caption_lines(path: Path) -> str:
    return f"{sum(1 for line in read_lines(path) if line.strip()):,} captions, one a line"


def _positives(path: Path) -> str:
    content = read_json(path)
    lists = list(content.values()) if isinstance(content, dict) else []
    return f"{sum(len(each) for each in lists if isinstance(each, list)):,} positives of {len(lists):,} queries"


def _with_negative(path: Path) -> str:
    complete = [{"filename", "caption", "negative_caption"} <= set(row) for row in _rows_of(path)]
    return f"{sum(complete):,} captions, a negative each"


def _ratings(root: Path, path: Path) -> Iterator[str]:
    """That COCO's own 25,000 pairs of a split, and more, are rated."""
    rows = read_rows(path, Faults("cxc", source=str(path)))
    rated = sum(
        bool(re.match(r"COCO_\w+:sentid:\d+$", str(row.get("caption")))) and "agg_score" in row for _, row in rows
    )
    if rated < 25000:
        yield f"{rated:,} rated pairs, each of the 25,000 of COCO's own is, and more"


def _rows_of(path: Path) -> list[dict[str, Any]]:
    try:
        content = json.loads(read_text(path))
    except (ValueError, RecursionError) as error:
        raise ItmlabError(f"not JSON ({one_line(error, 100)})", where=str(path)) from None
    rows = list(content.values()) if isinstance(content, dict) else content
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise ItmlabError("no captions by number", where=str(path), remedy="is it SugarCrepe's JSON?")
    return rows


def _sugarcrepe_pictures(root: Path, folder: Path) -> Iterator[str]:
    there = {path.name for path in _files(folder)}
    files = [inside(root, path) for item in SOURCES["sugarcrepe"].items[:-1] for path in item.paths]
    named = {str(row.get("filename")) for path in files if path.is_file() for row in _rows_of(path)}
    yield from (f"{folder.name}/{name} is missing" for name in sorted(named - there))


def _package_folder() -> Path | None:
    """Where the package `eccv_caption` has its files, if it is installed; nothing of it is run."""
    found = importlib.util.find_spec("eccv_caption")
    return Path(found.origin).parent / "data" if found and found.origin else None


# The table.

SPLITS_FROM = "https://cs.stanford.edu/people/karpathy/deepimagesent/caption_datasets.zip"
COCO_TERMS = "the photographers' own, by Flickr's terms of use (cocodataset.org/#termsofuse)"
FEATURES_FROM = "the link in the README of github.com/kuanghuei/SCAN: data.zip, f30k_precomp/ in it"
FEATURES_LICENCE = "none stated; they are of Flickr30K, so for non-commercial research and teaching"
# Sizes and SHA-256 of COCO's archives as tensorflow/datasets lists them (url_checksums/coco.txt).
COCO_ARCHIVES = {
    "train2014": (13510573713, "ede4087e640bddba550e090eae701092534b554b42b05ac33f0300b984b31775"),
    "val2014": (6645013297, "fe9be816052049c34717e077d9e34aa60814a55679f804cd043e3cbee3b9fde0"),
    "val2017": (815585330, "4f7e2ccb2866ec5041993c9cf2a952bbed69647b115d0f74da7ce8f4bef82f05"),
}
SUGARCREPE = {"add_att": 692, "add_obj": 2062, "replace_att": 788, "replace_obj": 1652, "replace_rel": 1406}
SUGARCREPE |= {"swap_att": 666, "swap_obj": 245}
SUGARCREPE = {kind: f"{count:,} captions, a negative each" for kind, count in SUGARCREPE.items()}
ECCV = {
    "eccv_image_to_caption": "22,550 positives of 1,261 queries",
    "eccv_caption_to_image": "11,279 positives of 1,332 queries",
    "original_image_to_caption": "25,000 positives of 5,000 queries",
    "original_caption_to_image": "25,000 positives of 25,000 queries",
}


def _in(folders: str, name: str) -> tuple[str, ...]:
    """A file's name in the root and in each of the folders."""
    return (name, *(f"{folder}/{name}" for folder in folders.split()))


def _splits_of(name: str, splits: dict[str, int], captions: int, licence: str) -> Item:
    told = ", ".join(f"{split} {count:,}" for split, count in splits.items())
    what = f"captions in Karpathy and Fei-Fei's splits ({told} images; {captions:,} captions)"
    paths = _in("karpathy annotations", f"dataset_{name}.json")
    return Item(paths, what, SPLITS_FROM, licence, _karpathy(splits, captions))


def _coco_pictures(name: str, count: int, check: Check) -> Item:
    size, digest = COCO_ARCHIVES[name]
    what, address = f"{count:,} photographs, {size / 1e9:.1f} GB", f"http://images.cocodataset.org/zips/{name}.zip"
    return Item((name, f"images/{name}"), what, address, COCO_TERMS, check, (f"{name}.zip", size, digest))


def _precomputed(split: str, images: int) -> tuple[Item, Item]:
    regions = f"36 regions of 2,048 numbers of {images:,} images, {images * 36 * 2048 * 4 / 1e9:.2f} GB"
    given, texts = (FEATURES_FROM, FEATURES_LICENCE), f"{5 * images:,} captions, one a line"
    arrays = Item((f"{split}_ims.npy",), regions, *given, _feature_array(images))
    return arrays, Item((f"{split}_caps.txt",), texts, *given, _published(_caption_lines, texts))


FLICKR30K = (
    _splits_of("flickr30k", {"train": 29000, "val": 1014, "test": 1000}, 155070, "none stated; captions for research"),
    Item(
        FLICKR_FOLDERS,
        "31,014 photographs of the splits (of 31,783), on request from the authors",
        "the form at https://shannon.cs.illinois.edu/DenotationGraph/",
        "Flickr's terms of use; for non-commercial research and teaching only",
        _pictures("dataset_flickr30k.json", 31014),
    ),
)
COCO = (
    _splits_of(
        "coco", {"train": 82783, "restval": 30504, "val": 5000, "test": 5000}, 616767, "captions CC BY 4.0, splits none"
    ),
    *(
        _coco_pictures(name, count, _pictures("dataset_coco.json", count))
        for name, count in {"train2014": 82783, "val2014": 40504}.items()
    ),
)
PRECOMPUTED = (*_precomputed("train", 29000), *_precomputed("dev", 1014), *_precomputed("test", 1000))
CXC_FROM = "https://github.com/google-research-datasets/Crisscrossed-Captions, data/", "CC BY 4.0", _ratings
RATED = "ratings 0 to 5 of some 44,000 pairs of an image and a caption of the split"
CXC = (
    Item((*_in("data", f"sits_{split}.csv"), f"sits_{split}.csv.gz"), f"{RATED} {split}", *CXC_FROM)
    for split in ("val", "test")
)
ECCV_FROM = "pip install eccv_caption (github.com/naver-ai/eccv-caption)"
ECCV_ITEMS = (
    Item((f"{file}.json",), told, ECCV_FROM, "MIT", _published(_positives, told)) for file, told in ECCV.items()
)
CREPE_FROM = "https://github.com/RAIVNLab/sugar-crepe, data/", "MIT; captions of COCO CC BY 4.0"
CREPE_ITEMS = (
    Item((*_in("data", f"{kind}.json"), f"{kind}.json.gz"), told, *CREPE_FROM, _published(_with_negative, told))
    for kind, told in SUGARCREPE.items()
)

SOURCES: dict[str, Source] = {
    "flickr30k": Source(
        "Flickr30K (Young et al., TACL 2014) in the splits of Karpathy and Fei-Fei (CVPR 2015)",
        FLICKR30K,
        'itmlab.load("flickr30k", {root!r})',
    ),
    "coco": Source(
        "MS-COCO captions (Lin et al., ECCV 2014; Chen et al., 2015) in the splits of Karpathy and Fei-Fei (CVPR 2015)",
        COCO,
        'itmlab.load("coco", {root!r})',
    ),
    "f30k_precomp": Source(
        "Regions of Flickr30K by bottom-up attention (Anderson et al., CVPR 2018) as SCAN published them (ECCV 2018)",
        PRECOMPUTED,
        'itmlab.load("regions", {root!r})',
    ),
    "cxc": Source(
        "Crisscrossed Captions (Parekh et al., EACL 2021): people's ratings of COCO's val and test pairs",
        tuple(CXC),
        "itmlab.studies.sam.human.crisscrossed(FILE, data.caption_ids, data.image_ids) with that split of COCO as data",
    ),
    "eccv": Source(
        "ECCV Caption (Chun et al., ECCV 2022): more positives in COCO's test split",
        tuple(ECCV_ITEMS),
        "itmlab.metrics.eccv_caption(similarity, image_ids, caption_ids) of COCO's test split",
    ),
    "sugarcrepe": Source(
        "SugarCrepe (Hsieh et al., NeurIPS 2023): seven kinds of fluent wrong captions of COCO val2017",
        (*CREPE_ITEMS, _coco_pictures("val2017", 5000, _sugarcrepe_pictures)),
        'itmlab.metrics.yardsticks.read_yardstick("sugarcrepe", {root!r})',
    ),
}
