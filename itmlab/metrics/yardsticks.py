"""Yardsticks: sets of true and false sentences of pictures, read from files.

SugarCrepe (Hsieh et al. 2023), SugarCrepe++ (Dumpala et al. 2024), and anybody's set as JSON lines with the columns
`image`, `true`, `false` and `type`. `yardstick_scores` measures how often a model distinguishes true from false.
"""

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import torch

from ..data.captionset import CaptionSet
from ..data.faults import Faults, one_line
from ..data.pictures import Pictures, check_pictures
from ..data.readers import PICTURE_SUFFIXES
from ..data.tables import read_rows, read_text, wrong_caption
from ..errors import ItmlabError
from ..fields import did_you_mean

FORMATS = {  # name -> its files, plain or gzipped
    "sugarcrepe": ("replace_*.json", "swap_*.json", "add_*.json"),
    "sugarcrepe++": ("replace_*.json", "swap_*.json"),
    "jsonl": ("*.jsonl",),
}


@dataclass(frozen=True)
class YardstickItem:
    """A picture by its file's name, sentences that are true of it and sentences that are false.

    `source` is the file and row of the item.
    """

    image: str
    true: tuple[str, ...]
    false: tuple[str, ...]
    kind: str
    source: str = ""

    @property
    def sentences(self) -> tuple[str, ...]:
        """The true sentences, then the false ones."""
        return self.true + self.false


@dataclass(frozen=True, eq=False)
class Yardstick:
    """The items of a set, with `pictures` where they are available.

    `left_out` counts rows that are not items here, by reason; `whole` holds all items that were read.
    """

    name: str
    items: tuple[YardstickItem, ...]
    left_out: Mapping[str, int] = field(default_factory=dict)
    pictures: CaptionSet | None = None
    whole: tuple[YardstickItem, ...] = ()

    def __repr__(self) -> str:
        left = "".join(f"; left out: {count:,} {reason}" for reason, count in self.left_out.items())
        return f"Yardstick({self.name}: {len(self.items):,} items of {len(self.kinds)} kinds{left})"

    @property
    def kinds(self) -> dict[str, int]:
        """How many items there are of each kind."""
        return dict(sorted(Counter(item.kind for item in self.items).items()))

    @cached_property
    def sentences(self) -> list[str]:
        """The sentences of all items, item after item."""
        return [sentence for item in self.items for sentence in item.sentences]

    @cached_property
    def _numbers(self) -> dict[str, int]:
        """The number of each picture, by its name and by its `picture_key`."""
        ids = [] if self.pictures is None else self.pictures.image_ids
        return {picture_key(name): at for at, name in enumerate(ids)} | {name: at for at, name in enumerate(ids)}

    def number(self, image: str) -> int | None:
        """The number of a picture in `pictures`, None where it is not available."""
        return self._numbers.get(image, self._numbers.get(picture_key(image)))

    def with_pictures(self, images: str | Path | CaptionSet | None = None) -> "Yardstick":
        """The items with an available picture; how many have none is counted in `left_out`.

        Args:
            images: a folder with the pictures (or folders of pictures), or a data set with them under their names.
                None keeps those that the yardstick came with.

        Raises:
            ItmlabError: no picture is available, or one cannot be read.
        """
        chosen = self
        if isinstance(images, CaptionSet):
            chosen = replace(self, pictures=images)
        elif images is not None:
            chosen = replace(self, pictures=_pictures(self, Path(images)))
        items = tuple(item for item in self.items if chosen.number(item.image) is not None)
        if not items:
            wanted = one_line(self.items[0].image, 60) if self.items else "them"
            remedy = f"give --images, or images=, the folder or data set with {wanted}"
            raise ItmlabError("none of its pictures is available", where=self.name, remedy=remedy)
        left_out = dict(self.left_out)
        if missing := len(self.items) - len(items):
            left_out["items without an available picture"] = missing
        return replace(chosen, items=items, left_out=left_out, whole=self.whole or self.items)


def picture_key(name: str) -> str:
    """The number of a photograph of COCO, the same in all its editions; any other name without its folder.

    >>> picture_key("val2014/COCO_val2014_000000165831.jpg"), picture_key("000000165831.jpg"), picture_key("v7w_3.jpg")
    ('165831', '165831', 'v7w_3.jpg')
    """
    base = re.split(r"[\\/]", name)[-1]
    coco = re.fullmatch(r"(?:COCO_[a-z]+\d{4}_)?0*(\d+)(?:\.jpe?g)?", base)
    return coco[1] if coco else base


def _pictures(yardstick: Yardstick, folder: Path) -> CaptionSet:
    """The pictures of a folder that items are about, with the true sentences as their captions."""
    if not folder.is_dir():
        raise ItmlabError("there is no such folder of pictures", where=str(folder), remedy="give --images, or images=")
    inner = (path for path in sorted(folder.iterdir()) if path.is_dir() and not path.name.startswith("."))
    files = {
        picture_key(file.name): file
        for home in (*inner, folder)
        for file in sorted(home.iterdir())
        if file.suffix.lower() in PICTURE_SUFFIXES
    }
    sentences: dict[str, dict[str, None]] = {}
    for item in yardstick.items:
        if picture_key(item.image) in files:
            sentences.setdefault(picture_key(item.image), {}).update(dict.fromkeys(item.true))
    paths = [files[key] for key in sentences]
    faults = [fault for fault in check_pictures(paths) if fault is not None]
    if faults:
        raise ItmlabError(f"{len(faults)} of its pictures cannot be read: {faults[0]}", where=str(folder))
    return CaptionSet(
        name=yardstick.name,
        images=Pictures.from_paths(paths),
        image_ids=[path.name for path in paths],
        captions=[text for texts in sentences.values() for text in texts],
        caption_ids=[f"{key}#{number}" for key, texts in sentences.items() for number in range(len(texts))],
        image_of_caption=torch.tensor(
            [at for at, texts in enumerate(sentences.values()) for _ in texts], dtype=torch.int64
        ),
        splits={},
    )


def read_yardstick(name: str, root: str | Path, *, on_fault: str = "error") -> Yardstick:
    """A set by name (of `FORMATS`) from its folder or one file, plain or gzipped.

    Raises:
        FaultyData: all faults of its files at once; with on_fault="skip" they are left out, counted and listed.
        ItmlabError: an unknown name, or none of the files is there.
    """
    if name not in FORMATS:
        raise ItmlabError(f"no yardstick {name!r}", remedy=did_you_mean(name, (*FORMATS, "scenes")))
    root = Path(root)
    patterns = [pattern + ending for pattern in FORMATS[name] for ending in ("", ".gz")]
    folders = (root, root / name, root / "data")
    matches = (sorted({file for pattern in patterns for file in folder.glob(pattern)}) for folder in folders)
    files = [root] if root.is_file() else next(filter(None, matches), [])
    if not files:
        message = "none of its files was found" if root.is_dir() else "there is no such file or folder"
        raise ItmlabError(message, where=f"{name}, {root}", remedy=f"it has {', '.join(FORMATS[name])}")
    faults = Faults(name, on_fault=on_fault, source=str(root))
    items: list[YardstickItem] = []
    for file in files:
        rows = read_rows(file, faults) if name == "jsonl" else _records(file, faults)
        for place, row in rows:
            item = _item(name, row, file)
            fault = item if isinstance(item, str) else _fault(item)
            if fault is None:
                items.append(replace(item, source=f"{file.name}:{place}"))
            else:
                faults.add(file, place, fault)
    faults.settle(kept=len(items))
    if not items:
        raise ItmlabError("there are no items in it", where=f"{name}, {root}")
    return Yardstick(name, tuple(items))


def _fault(item: YardstickItem) -> str | None:
    """Return what makes an item unfit, or None."""
    if not isinstance(item.image, str) or not item.image.strip():
        return f"not the name of a picture: {one_line(repr(item.image), 60)}"
    for kind, sentences in (("true", item.true), ("false", item.false)):
        for text in sentences:
            if fault := wrong_caption(text):
                return f"a {kind} sentence: {fault}"
    true, false = ({" ".join(text.lower().split()) for text in texts} for texts in (item.true, item.false))
    return "a false sentence says the same as a true one" if true & false else None


def _records(path: Path, faults: Faults) -> Iterator[tuple[str | int, dict[str, Any]]]:
    """Yield the records of a JSON file, by their keys or in a list."""
    try:
        content = json.loads(read_text(path))
    except (ValueError, RecursionError) as error:
        faults.add(path, None, f"malformed JSON ({one_line(error, 120)})")
        return
    if not isinstance(content, dict | list):
        faults.add(path, None, "neither an object nor a list of records")
        return
    for key, row in content.items() if isinstance(content, dict) else enumerate(content):
        if isinstance(row, dict):
            yield key, row
        else:
            faults.add(path, key, "not a record")


COLUMNS = {  # of a row: the picture's name, true sentences, the false ones
    "sugarcrepe": ("filename", "caption", "negative_caption"),
    "sugarcrepe++": ("filename", "caption", "caption2", "negative_caption"),
    "jsonl": ("image", "true", "false", "type"),
}


def _item(name: str, row: Mapping[str, Any], file: Path) -> YardstickItem | str:
    """Return the item of a row, or its fault. `true` and `false` of a JSONL row are a sentence or a list of them."""
    missing = [column for column in COLUMNS[name] if column not in row]
    if missing:
        return f"there is no {', '.join(map(repr, missing))}"
    image, *texts = (row[column] for column in COLUMNS[name])
    if name != "jsonl":
        return YardstickItem(image, tuple(texts[:-1]), (texts[-1],), file.name.split(".")[0])
    true, false = (tuple(text) if isinstance(text, list) else (text,) for text in texts[:2])
    if not true or not false:
        return "true and false need at least one sentence"
    return YardstickItem(image, true, false, str(texts[2]))
