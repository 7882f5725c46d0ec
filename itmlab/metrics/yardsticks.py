"""Yardsticks: sets of true and false sentences of pictures, and how often a model distinguishes them.

SugarCrepe (Hsieh et al. 2023), SugarCrepe++ (Dumpala et al. 2024), and anybody's set as JSON lines with the columns
`image`, `true`, `false` and `type`. A score is worth what it has above its controls: the same model beside another
picture, and scores that saw no picture. A tie counts against a model, as in the released code of SugarCrepe. Ties of a
control are broken at random, so that a control that knows nothing is at chance.
"""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from math import factorial, fsum
from pathlib import Path
from typing import Any

import torch
from jaxtyping import Bool, Float, Int64
from torch import Tensor

from ..data.captionset import CaptionSet
from ..data.faults import Faults, one_line
from ..data.identity import numbered
from ..data.pictures import Pictures
from ..data.readers import PICTURE_SUFFIXES
from ..data.tables import read_rows, read_text, wrong_caption
from ..errors import ItmlabError
from ..fields import check_known
from ..text.graph import tokenise
from .perplexity import fluency
from .statistics import Share, share

Match = Callable[[Sequence[int], Sequence[str]], Float[Tensor, "sentence"]]  # pictures by number, a sentence for each
Scores = Float[Tensor, "sentence"]  # of all sentences of a yardstick, one item after the other
FORMATS = {  # name -> its files, plain or gzipped, and its columns: the picture's name, true sentences, the false ones
    "sugarcrepe": (("replace_*.json", "swap_*.json", "add_*.json"), ("filename", "caption", "negative_caption")),
    "sugarcrepe++": (("replace_*.json", "swap_*.json"), ("filename", "caption", "caption2", "negative_caption")),
    "jsonl": (("*.jsonl",), ("image", "true", "false", "type")),
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

    `left_out` counts the rows that are not among the items, by reason.
    """

    name: str
    items: tuple[YardstickItem, ...] = field(repr=False)
    left_out: Mapping[str, int] = field(default_factory=dict)
    pictures: CaptionSet | None = None

    @property
    def kinds(self) -> dict[str, int]:
        """How many items there are of each kind."""
        return dict(sorted(Counter(item.kind for item in self.items).items()))

    @cached_property
    def sentences(self) -> list[str]:
        """The sentences of all items, item after item."""
        return [sentence for item in self.items for sentence in item.sentences]

    @cached_property
    def numbers(self) -> list[int | None]:
        """The number of each item's picture in `pictures`, None where it is not available."""
        names = [] if self.pictures is None else self.pictures.image_ids
        number_of = {picture_key(name): number for number, name in enumerate(names)}
        return [number_of.get(picture_key(item.image)) for item in self.items]

    def with_pictures(self, images: str | Path | CaptionSet | None = None) -> "Yardstick":
        """Return the items with an available picture; `left_out` counts those without.

        Args:
            images: a folder with the pictures (or folders of pictures), or a data set with them under their names; by
                default the pictures that it has.

        Raises:
            ItmlabError: no picture is available.
        """
        pictures = _pictures(self.name, Path(images)) if isinstance(images, str | Path) else images
        joined = replace(self, pictures=pictures or self.pictures)
        items = tuple(item for item, number in zip(self.items, joined.numbers, strict=True) if number is not None)
        if not items:
            remedy = "give images=, the folder or data set with them"
            raise ItmlabError(f"no picture of its {len(self.items)} items is available", where=self.name, remedy=remedy)
        left_out = dict(self.left_out)
        if len(items) < len(self.items):
            left_out["items without an available picture"] = len(self.items) - len(items)
        return replace(joined, items=items, left_out=left_out)


def picture_key(name: str) -> str:
    """Return the number of a photograph of COCO, the same in all its editions; of another name its last part.

    >>> picture_key("val2014/COCO_val2014_000000165831.jpg"), picture_key("000000165831.jpg"), picture_key("v7w_3.jpg")
    ('165831', '165831', 'v7w_3.jpg')
    """
    base = re.split(r"[\\/]", name)[-1]
    coco = re.fullmatch(r"(?:COCO_[a-z]+\d{4}_)?0*(\d+)(?:\.jpe?g)?", base)
    return coco[1] if coco else base


def _pictures(name: str, folder: Path) -> CaptionSet:
    """Return the pictures of a folder, and of folders in it, without captions."""
    if not folder.is_dir():
        raise ItmlabError("there is no such folder of pictures", where=str(folder), remedy="give images=")
    paths = [path for path in sorted(folder.rglob("*")) if path.suffix.lower() in PICTURE_SUFFIXES]
    names = [str(path.relative_to(folder)) for path in paths]
    empty = {"captions": [], "caption_ids": [], "image_of_caption": torch.zeros(0), "splits": {}}
    return CaptionSet(name=name, images=Pictures.from_paths(paths), image_ids=names, **empty)


def read_yardstick(name: str, root: str | Path) -> Yardstick:
    """Read a set by name (of `FORMATS`) from its folder or one file, plain or gzipped.

    A row whose false sentence has the words of a true one is not an item: `left_out` counts these rows.

    Args:
        name: "sugarcrepe", "sugarcrepe++" or "jsonl".
        root: the folder or the file.

    Raises:
        FaultyData: all faults of its files at once.
        ItmlabError: an unknown name, or none of the files is there.
    """
    check_known(name, FORMATS, "yardstick")
    root, patterns = Path(root), FORMATS[name][0]
    found = [file for pattern in patterns for ending in ("", ".gz") for file in root.rglob(pattern + ending)]
    files = [root] if root.is_file() else sorted(found)
    if not files:
        raise ItmlabError("none of its files is there", where=f"{name}, {root}", remedy=f"it has {', '.join(patterns)}")
    faults = Faults(name)
    items: list[YardstickItem] = []
    left_out: Counter[str] = Counter()
    for file in files:
        for place, row in read_rows(file, faults) if name == "jsonl" else _records(file, faults):
            with faults.noting(file, place):
                item = _item(name, row, file, place)
                if _words(item.true) & _words(item.false):
                    left_out["rows with a sentence that is both true and false"] += 1
                else:
                    items.append(item)
    faults.settle(kept=len(items))
    if not items:
        raise ItmlabError("there are no items in it", where=f"{name}, {root}")
    return Yardstick(name, tuple(items), left_out)


def _words(sentences: Sequence[str]) -> set[str]:
    return {" ".join(sentence.lower().split()) for sentence in sentences}


def _records(path: Path, faults: Faults) -> Iterator[tuple[str | int, Any]]:
    """Yield the records of a JSON file, by their keys or in a list."""
    with faults.noting(path, None):
        try:
            content = json.loads(read_text(path))
        except (ValueError, RecursionError) as error:
            raise ItmlabError(f"malformed JSON ({one_line(error, 120)})") from None
        if not isinstance(content, dict | list):
            raise ItmlabError("neither an object nor a list of records")
        yield from content.items() if isinstance(content, dict) else enumerate(content)


def _item(name: str, row: Any, file: Path, place: str | int) -> YardstickItem:
    """Return the item of a row. `true` and `false` of a JSONL row are a sentence or a list of them."""
    if not isinstance(row, dict):
        raise ItmlabError("not a record")
    columns = FORMATS[name][1]
    if missing := [column for column in columns if column not in row]:
        raise ItmlabError(f"there is no {', '.join(map(repr, missing))}")
    image, *texts = (row[column] for column in columns)
    kind = str(texts.pop()) if name == "jsonl" else file.name.split(".")[0]
    *true, false = (text if isinstance(text, list) else [text] for text in texts)
    item = YardstickItem(image, tuple(chain(*true)), tuple(false), kind, f"{file.name}:{place}")
    if not item.true or not item.false:
        raise ItmlabError("true and false need at least one sentence")
    if faulty := next(filter(None, map(wrong_caption, (image, *item.sentences))), None):
        raise ItmlabError(f"the picture's name or a sentence: {faulty}")
    return item


# How often a model is right, beside its controls.


@dataclass(frozen=True)
class YardstickRow:
    """The items of one kind: how often the model is right, by chance, and by each control.

    Attributes:
        items: how many there are.
        chance: how often scores at random are right.
        ties: items in which the model's best false score equals its worst true one.
        shares: the share of right items by "right" (every true sentence scores above every false one, by the model) and
            by each control, whose ties are broken at random.
    """

    items: int
    chance: float
    ties: int
    shares: dict[str, Share]


@dataclass(frozen=True)
class YardstickTable:
    """A row for each kind and one for "all", and why some rows of the files are not among the items."""

    name: str
    rows: dict[str, YardstickRow]
    left_out: Mapping[str, int]

    def __str__(self) -> str:
        names = "".join(f"{name:>24}" for name in self.rows["all"].shares)
        lines = [f"{self.name:15}{'items':>7}{'chance':>8}{names}"]
        for kind, row in self.rows.items():
            shares = [f"{share.percent:.1f} ({share.lower:.1f} to {share.upper:.1f})" for share in row.shares.values()]
            ties = f"   {row.ties:,} tied" if row.ties else ""
            lines.append(f"{kind:15}{row.items:7,}{100 * row.chance:8.1f}{''.join(map('{:>24}'.format, shares))}{ties}")
        return "\n".join([*lines, *(f"left out: {count:,} {reason}" for reason, count in self.left_out.items())])


def measure(
    yardstick: Yardstick, match: Match | None = None, *, text: Mapping[str, Scores] | None = None, seed: int = 0
) -> YardstickTable:
    """Return how often the true sentences of an item score above its false ones, by kind, beside its controls.

    The controls are "wrong picture", the same model beside another picture; "shorter", which takes the sentence with
    fewer words; and each of `text`. Intervals are Wilson's 95 %, clustered by picture.

    Args:
        yardstick: the items.
        match: scores pictures of `yardstick.pictures`, by number, with a sentence each; None leaves only the controls.
        text: scores of all sentences by something that sees no picture (`text_scores`).
        seed: of the wrong pictures.

    Raises:
        ItmlabError: pictures are missing, or scores are not numbers.
    """
    items = yardstick.items
    pictures = numbered([picture_key(item.image) for item in items])
    scores_of: dict[str, Scores] = {}
    if match is not None:
        if None in yardstick.numbers:
            raise ItmlabError("pictures are missing", where=yardstick.name, remedy="call with_pictures(images)")
        pictures = torch.tensor(yardstick.numbers)
        scores_of["right"] = _scores(yardstick, match, pictures)
        used = pictures.unique()
        if len(used) > 1:
            shuffled = used[torch.randperm(len(used), generator=torch.Generator().manual_seed(seed))]
            wrong = torch.zeros(int(used.max()) + 1, dtype=torch.int64).index_copy(0, shuffled, shuffled.roll(1))
            scores_of["wrong picture"] = _scores(yardstick, match, wrong[pictures])
    scores_of |= text or {}
    scores_of["shorter"] = torch.tensor([-float(len(tokenise(sentence))) for sentence in yardstick.sentences])
    right_by, ties = {}, torch.zeros(len(items))
    for name, scores in scores_of.items():
        right_by[name], tied = outcomes(items, scores)
        if name == "right":  # a tie counts against the model
            right_by[name], ties = right_by[name] == 1, tied
    rows = {}
    for kind in (*yardstick.kinds, "all"):
        chosen = torch.tensor([kind in ("all", item.kind) for item in items])
        chances = [_chance(len(item.true), len(item.false)) for item in items if kind in ("all", item.kind)]
        shares = {name: share(right[chosen], pictures[chosen]) for name, right in right_by.items()}
        rows[kind] = YardstickRow(len(chances), fsum(chances) / len(chances), int(ties[chosen].sum()), shares)
    return YardstickTable(yardstick.name, rows, yardstick.left_out)


def text_scores(yardstick: Yardstick, by: str) -> Scores:
    """Return how likely a causal language model ("gpt2", "scenes") finds each sentence: minus its perplexity."""
    return -fluency(yardstick.sentences, by).perplexity


def _scores(yardstick: Yardstick, match: Match, pictures: Int64[Tensor, "item"]) -> Scores:
    """Return the score of every sentence beside the picture given for its item."""
    sizes = torch.tensor([len(item.sentences) for item in yardstick.items])
    scores = match(pictures.repeat_interleave(sizes).tolist(), yardstick.sentences)
    return torch.as_tensor(scores).double().cpu()


def outcomes(items: Sequence[YardstickItem], scores: Scores) -> tuple[Float[Tensor, "item"], Bool[Tensor, "item"]]:
    """Return the probability that each item is right if ties are broken at random, and which items are tied.

    An item is right if its worst true sentence scores above its best false one.

    Raises:
        ItmlabError: not one score for each sentence, or a NaN.

    >>> items = [YardstickItem("a.jpg", ("a dog", "a hound"), ("a cat",), "swap")]
    >>> outcomes(items, torch.tensor([2.0, 1.5, 1.0])), round(outcomes(items, torch.ones(3))[0].item(), 3)
    ((tensor([1.]), tensor([False])), 0.333)
    """
    sizes = [len(item.sentences) for item in items]
    if scores.shape != (sum(sizes),) or bool(scores.isnan().any()):
        raise ItmlabError(f"{sum(sizes)} sentences need as many scores, and numbers", remedy="give one for each")
    right, tied = [], []
    for item, part in zip(items, scores.split(sizes), strict=True):
        true, false = part[: len(item.true)], part[len(item.true) :]
        worst, best = true.min(), false.max()
        tied.append(bool(worst == best))
        right.append(_chance(int((true == worst).sum()), int((false == best).sum())) if tied[-1] else worst > best)
    return torch.tensor(right, dtype=torch.float32), torch.tensor(tied)


def _chance(true: int, false: int) -> float:
    """Return how often a random order has every true sentence before every false one."""
    return factorial(true) * factorial(false) / factorial(true + false)
