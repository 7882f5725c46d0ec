"""Yardsticks: published sets of true sentences beside false ones, read where they lie.

SugarCrepe (Hsieh et al. 2023), SugarCrepe++ (Dumpala et al. 2024), VALSE (Parcalabescu et al. 2022), VSR (Liu et al.
2023), BiVLC (Miranda et al. 2024) and the validation file of NegCLIP (Yuksekgonul et al. 2023). How often a model tells
the true sentences, `yardstick_scores` says.
"""

import ast
import csv
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import torch

from ..data.captionset import CaptionSet
from ..data.entries import LONGEST_CELL, json_object, read_lines, read_text, wrong_caption
from ..data.faults import Fault, Faults, one_line
from ..data.folder import PICTURE_SUFFIXES
from ..data.pictures import Pictures, check_picture_files
from ..errors import ItmlabError
from ..fields import did_you_mean


@dataclass(frozen=True)
class YardstickItem:
    """A picture by its file's name, sentences that are true of it and sentences that are false.

    `source` is the file and row that it comes from. `false_image` is a picture of which the first false sentence is
    true and the true one false (BiVLC). `truth` is what a world says of the false sentences, where one was asked.
    """

    image: str
    true: tuple[str, ...]
    false: tuple[str, ...]
    kind: str
    source: str = ""
    false_image: str = ""
    truth: bool | None = None

    @property
    def sentences(self) -> tuple[str, ...]:
        """The true ones, then the false ones."""
        return self.true + self.false


@dataclass(frozen=True, eq=False)
class Yardstick:
    """The items of one set, with `pictures` where these are at hand.

    `left_out` says why rows are no items here, and how many; `whole` are all items that were read.
    """

    name: str
    items: tuple[YardstickItem, ...]
    left_out: Mapping[str, int] = field(default_factory=dict)
    skipped: Sequence[Fault] = ()
    pictures: CaptionSet | None = None
    whole: tuple[YardstickItem, ...] = ()

    def __repr__(self) -> str:
        left = "".join(f"; left out: {count:,} {why}" for why, count in self.left_out.items())
        return f"Yardstick({self.name}: {len(self.items):,} items of {len(self.kinds)} kinds{left})"

    @property
    def kinds(self) -> dict[str, int]:
        """How many items there are of each kind."""
        return dict(sorted(Counter(item.kind for item in self.items).items()))

    @cached_property
    def sentences(self) -> list[str]:
        """The sentences of all items, one item after the other."""
        return [sentence for item in self.items for sentence in item.sentences]

    @cached_property
    def place(self) -> dict[str, int]:
        """The number of each picture by its name and, as the same photograph has many, by `picture_key`."""
        ids = [] if self.pictures is None else self.pictures.image_ids
        return {picture_key(name): at for at, name in enumerate(ids)} | {name: at for at, name in enumerate(ids)}

    def number(self, image: str) -> int | None:
        """The number of a picture in `pictures`, None where it is not at hand."""
        return self.place.get(image, self.place.get(picture_key(image)))

    def with_pictures(self, images: str | Path | CaptionSet | None = None) -> "Yardstick":
        """The items whose pictures are at hand, and how many are not; without `images`, of those that came with it.

        `images` is a folder (pictures in it, or in folders in it), or a data set that knows them by their names. None
        at hand is an ItmlabError.
        """
        at_hand = self
        if isinstance(images, CaptionSet):
            at_hand = replace(self, pictures=images)
        elif images is not None:
            at_hand = replace(self, pictures=_pictures(self, Path(images)))
        found = [
            item
            for item in self.items
            if at_hand.number(item.image) is not None
            and (not item.false_image or at_hand.number(item.false_image) is not None)
        ]
        if not found:
            wanted = one_line(self.items[0].image, 60) if self.items else "them"
            remedy = f"give --images, or images=, the folder or data set that has {wanted}"
            raise ItmlabError("none of its pictures is at hand", where=self.name, remedy=remedy)
        missing = len(self.items) - len(found)
        left = {**self.left_out, **({"items whose picture is not at hand": missing} if missing else {})}
        return replace(at_hand, items=tuple(found), left_out=left, whole=self.whole or self.items)


def picture_key(name: str) -> str:
    """The name that a photograph has in all editions of COCO, its number; any other name without its folder.

    >>> picture_key("val2014/COCO_val2014_000000165831.jpg"), picture_key("000000165831.jpg"), picture_key("v7w_3.jpg")
    ('165831', '165831', 'v7w_3.jpg')
    """
    base = re.split(r"[\\/]", name)[-1]
    coco = re.fullmatch(r"(?:COCO_[a-z]+\d{4}_)?0*(\d+)(?:\.jpe?g)?", base)
    return coco[1] if coco else base


def _pictures(yardstick: Yardstick, folder: Path) -> CaptionSet:
    """The pictures of a folder that some item is about, with the true sentences as their captions."""
    if not folder.is_dir():
        raise ItmlabError("there is no such folder of pictures", where=str(folder), remedy="give --images, or images=")
    inner = (each for each in sorted(folder.iterdir()) if each.is_dir() and not each.name.startswith("."))
    files = {
        picture_key(file.name): file
        for home in (*inner, folder)
        for file in sorted(home.iterdir())
        if file.suffix.lower() in PICTURE_SUFFIXES
    }
    said: dict[str, dict[str, None]] = {}
    for item in yardstick.items:
        said.setdefault(picture_key(item.image), {}).update(dict.fromkeys(item.true))
        if item.false_image:
            said.setdefault(picture_key(item.false_image), {})
    named = [key for key in said if key in files]
    wrong = check_picture_files([files[key] for key in named], None)
    if faulty := [what for what in wrong if what is not None]:
        raise ItmlabError(f"{len(faulty)} of its pictures cannot be read: {faulty[0]}", where=str(folder))
    rows = [(at, f"{key}#{number}", text) for at, key in enumerate(named) for number, text in enumerate(said[key])]
    return CaptionSet(
        name=yardstick.name,
        images=Pictures.from_paths([files[key] for key in named]),
        image_ids=[files[key].name for key in named],
        captions=[text for *_, text in rows],
        caption_ids=[name for _, name, _ in rows],
        image_of_caption=torch.tensor([at for at, *_ in rows], dtype=torch.int64),
        splits={},
    )


# Reading. Each set's reader gives (row, item or why it is left out) of one file; what is wrong raises, and is a fault.

Read = Iterator[tuple[str | int, YardstickItem | str]]


def read_yardstick(
    name: str, root: str | Path, *, on_fault: str = "error", skipped_to: str | Path | None = None
) -> Yardstick:
    """A set by name (one of FORMATS), from its folder or one file of it, plain or gzipped.

    All that is wrong in its files is told at once, or with on_fault="skip" left out, counted and listed. ItmlabError:
    another name, none of the files there.
    """
    if name not in FORMATS:
        raise ItmlabError(f"no yardstick {name!r}", remedy=did_you_mean(name, (*FORMATS, "scenes")))
    expected, read = FORMATS[name]
    root = Path(root)
    inner = [root, *(root / each for each in (name, "data", "original_data", "temp_data"))]
    patterns = [one + end for one in expected for end in ("", ".gz")]
    there = (sorted({file for one in patterns for file in folder.glob(one)}) for folder in inner)
    found = [root] if root.is_file() else next(filter(None, there), [])
    if not found:
        told = "there is none of its files" if root.is_dir() else "there is no such file or folder"
        raise ItmlabError(told, where=f"{name}, {root}", remedy=f"it has {', '.join(expected)}; see the book's page")
    faults = Faults(name, on_fault=on_fault, skipped_to=skipped_to, source=str(root))
    pictures, streams = None, [(file, read(file, faults)) for file in found] if name != "bivlc" else []
    if name == "bivlc":
        pictures, rows = _bivlc(found)
        streams = [(found[0], rows)]
    items: list[YardstickItem] = []
    left_out: Counter[str] = Counter()
    for file, rows in streams:
        for row, one in rows:
            if isinstance(one, str):
                left_out[one] += 1
            elif what := _wrong(one):
                faults.add(file, row, what)
            else:
                items.append(replace(one, source=f"{file.name}:{row}"))
    skipped = faults.settle(kept=len(items))
    if not items:
        raise ItmlabError("there are no items in it", where=f"{name}, {root}")
    return Yardstick(name, tuple(items), dict(left_out), skipped, pictures)


def _wrong(item: YardstickItem) -> str | None:
    """What makes an item unfit, or None."""
    if not isinstance(item.image, str) or not item.image.strip():
        return f"no name of a picture but {one_line(repr(item.image), 60)}"
    for kind, sentences in (("true", item.true), ("false", item.false)):
        for text in sentences:
            if what := wrong_caption(text):
                return f"a {kind} sentence: {what}"
    plain = [{" ".join(text.lower().split()) for text in some} for some in (item.true, item.false)]
    return "a false sentence says the same as a true one" if plain[0] & plain[1] else None


def _objects(path: Path, faults: Faults) -> Iterator[tuple[str | int, dict[str, Any]]]:
    """The records of a JSON file, by their keys (of which some may have been taken out) or in a list."""
    twice: list[str] = []

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        twice.extend(name for name, times in Counter(name for name, _ in pairs).items() if times > 1)
        return dict(pairs)

    try:
        whole = json.loads(read_text(path), object_pairs_hook=once)
    except (ValueError, RecursionError) as error:
        faults.add(path, None, f"malformed JSON ({one_line(error, 120)})")
        return
    for name in twice:  # json would keep the last without a word
        faults.add(path, name, "the key stands twice")
    if not isinstance(whole, dict | list):
        faults.add(path, None, "neither an object nor a list of records")
        return
    for key, row in whole.items() if isinstance(whole, dict) else enumerate(whole):
        if isinstance(row, dict):
            yield key, row
        else:
            faults.add(path, key, "not a record")


def _has(faults: Faults, path: Path, key: str | int, row: Mapping[str, Any], *names: str) -> bool:
    lacking = [name for name in names if name not in row]
    if lacking:
        faults.add(path, key, f"there is no {', '.join(map(repr, lacking))}")
    return not lacking


def _sugarcrepe(path: Path, faults: Faults, true: Sequence[str] = ("caption",)) -> Read:
    for key, row in _objects(path, faults):
        if _has(faults, path, key, row, "filename", *true, "negative_caption"):
            said = tuple(row[name] for name in true)
            yield key, YardstickItem(row["filename"], said, (row["negative_caption"],), path.name.split(".")[0])


def _valse(path: Path, faults: Faults) -> Read:
    """Valid are, as in the paper, the foils of which at least two of three people took the caption alone for true."""
    for key, row in _objects(path, faults):
        if _has(faults, path, key, row, "image_file", "caption", "foil"):
            votes = row.get("mturk") or {}
            valid = not isinstance(votes.get("caption"), int) or votes["caption"] >= 2
            item = YardstickItem(row["image_file"], (row["caption"],), (row["foil"],), path.name.split(".")[0])
            yield key, item if valid else "rows of which fewer than two of three people took the caption alone for true"


VSR_KINDS = {  # its Table 1
    "adjacency": "adjacent to, alongside, at the side of, at the right side of, at the left side of, attached to, "
    "at the back of, ahead of, against, at the edge of",
    "directional": "off, past, toward, down, away from, along, around, into, across, across from, through, down from",
    "orientation": "facing, facing away from, parallel to, perpendicular to",
    "projective": "on top of, beneath, beside, behind, left of, right of, under, in front of, below, above, over, "
    "in the middle of",
    "proximity": "by, close to, near, far from, far away from",
    "topological": "connected to, detached from, has as a part, part of, contains, within, at, on, in, with, "
    "surrounding, among, consists of, out of, between, inside, outside, touching",
}
_KIND_OF = {relation: kind for kind, relations in VSR_KINDS.items() for relation in relations.split(", ")}


def _vsr(path: Path, faults: Faults) -> Read:
    """One sentence a row, true or false."""
    for number, line in enumerate(read_lines(path), start=1):
        row = json_object(path, number, line, faults) if line.strip() else None
        if row is not None and _has(faults, path, number, row, "image", "caption", "label", "relation"):
            if row["label"] in (0, 1):
                sides = ((row["caption"],), ()) if row["label"] else ((), (row["caption"],))
                yield number, YardstickItem(row["image"], *sides, _KIND_OF.get(str(row["relation"]), "unallocated"))
            else:
                faults.add(path, number, f"the label is neither 0 nor 1 but {one_line(repr(row['label']), 40)}")


def _negclip(path: Path, faults: Faults) -> Read:
    """Rows of title, filepath and neg_caption, which is a list as Python writes it."""
    csv.field_size_limit(max(csv.field_size_limit(), LONGEST_CELL))
    lines = read_lines(path, newline="")
    tabs = ".tsv" in path.name
    rows = csv.DictReader(lines, delimiter="\t" if tabs else ",", strict=True, restkey="more")
    try:
        for row in rows:
            if _has(faults, path, rows.line_num, row, "title", "filepath", "neg_caption"):
                false = _listed(row["neg_caption"])
                if false is None:
                    faults.add(path, rows.line_num, "neg_caption is not a list of sentences")
                elif false:
                    yield rows.line_num, YardstickItem(row["filepath"], (row["title"],), false, "swap")
                else:
                    yield rows.line_num, "rows without a false sentence"
    except csv.Error as error:
        faults.add(path, rows.line_num, f"malformed {'TSV' if tabs else 'CSV'} ({error})")


def _listed(cell: str | None) -> tuple[str, ...] | None:
    try:
        found = ast.literal_eval(cell) if cell and len(cell) < 2**16 else None
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        return None
    return tuple(found) if isinstance(found, list) and all(isinstance(each, str) for each in found) else None


def _bivlc(files: Sequence[Path]) -> tuple[CaptionSet, Read]:
    """Parquet files with both pictures of each row in them."""
    from datasets import Image, concatenate_datasets, load_dataset

    try:
        table = load_dataset("parquet", data_files=[str(file) for file in files], split="train")
        sides = [table.select_columns([name]).rename_columns({name: "image"}) for name in ("image", "negative_image")]
        both = concatenate_datasets([side.cast_column("image", Image(decode=False)) for side in sides])
        records = list(table.select_columns(["caption", "negative_caption", "type", "subtype"]))
    except Exception as error:  # Arrow's and the library's own, by what the file holds instead
        raise ItmlabError(f"cannot be read as BiVLC's table ({one_line(error, 160)})", where=str(files[0])) from None
    names = [f"{row}{side}" for side in ("", " negative") for row in range(len(records))]
    pictures = CaptionSet(
        name="bivlc",
        images=Pictures(both),
        image_ids=names,
        captions=[str(row[name]) for name in ("caption", "negative_caption") for row in records],
        caption_ids=names,
        image_of_caption=torch.arange(len(names)),
        splits={},
    )
    rows = (
        YardstickItem(
            str(at), (row["caption"],), (row["negative_caption"],), f"{row['type']}_{row['subtype']}", "", other
        )
        for at, row, other in zip(range(len(records)), records, names[len(records) :], strict=True)
    )
    return pictures, enumerate(rows)


_KINDS = ("replace_*.json", "swap_*.json")
_VALSE = ("existence", "plurals", "counting-*", "relations", "action-*", "actant-*", "coreference-*", "foil-it")
FORMATS: dict[str, tuple[tuple[str, ...], Any]] = {  # name -> its files, and what reads one
    "sugarcrepe": ((*_KINDS, "add_*.json"), _sugarcrepe),
    "sugarcrepe++": (_KINDS, partial(_sugarcrepe, true=("caption", "caption2"))),
    "valse": (tuple(f"{part}.json" for part in _VALSE), _valse),
    "vsr": (("*test*.jsonl",), _vsr),
    "bivlc": (("test-*.parquet",), None),
    "negclip": (("*neg_clip*.[tc]sv", "*negclip*.[tc]sv"), _negclip),
}
