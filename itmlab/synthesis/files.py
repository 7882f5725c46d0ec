"""Negatives of a whole data set: made by any generator, measured, written to a file of JSON lines, and read.

The file has a row for each negative, with the caption that it was made from. `datasets.Dataset.from_json(path)` reads
it as a table, for everything that itmlab does not do with it.
"""

import json
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, get_type_hints

import torch
from tqdm import tqdm

from ..data.captionset import CaptionSet
from ..data.faults import Faults, one_line
from ..data.tables import json_object, wrong_caption
from ..errors import ItmlabError
from ..fields import typed
from ..storage import atomic_file, ordinary, refuse_foreign, usable
from ..text import Span, parse
from .negative import Generate, Negative
from .tags import graphs_of

BATCH = 64  # captions that a generator gets at a time


def generate_negatives(
    data: CaptionSet,
    generate: Generate,
    *,
    seed: int = 0,
    conditioned: bool = False,
    truth: bool = True,
    progress: bool = False,
) -> Iterator[Negative]:
    """Yield the negatives that `generate(captions, graphs, image_captions, *, generator)` makes of every caption.

    Args:
        data: the data set.
        generate: the generator; it is called with a batch of captions at a time.
        seed: of the random numbers.
        conditioned: pass `numbers=` as well, the captions' positions in `data`, to a generator that looks at images.
        truth: label each negative by the data set's world, if it has one.
        progress: show a progress bar.
    """
    generator = torch.Generator().manual_seed(seed)
    for start in tqdm(range(0, len(data.captions), BATCH), desc="negatives", unit="batch", disable=not progress):
        numbers = range(start, min(start + BATCH, len(data.captions)))
        captions, images = [data.captions[number] for number in numbers], data.image_of_caption[list(numbers)].tolist()
        options = {"numbers": numbers} if conditioned else {}
        rows = generate(captions, graphs_of(data, numbers), data.captions_of(images), generator=generator, **options)
        negatives = [
            negative.of(image, number)
            for number, image, row in zip(numbers, images, rows, strict=True)
            for negative in row
            if wrong_caption(negative.sentence) is None
        ]
        if truth and data.world is not None:
            parse([negative.sentence for negative in negatives])  # into the cache that the world looks into
            negatives = [replace(row, truth=data.world.entails(row.image, row.sentence)) for row in negatives]
        yield from negatives


# The file.

Row = dict[str, Any]

REQUIRED = ("caption_id", "image_id", "caption", "negative")
OPTIONAL = ("spans", "source", "replacement", "kind", "score", "fluency", "truth")  # fields of `Negative`
HINTS = get_type_hints(Negative) | {"spans": tuple[tuple[int, int], ...]}
PLACES = ("spans", "source", "replacement", "kind")  # with an entry for each changed place, or empty
MARK = '"negative"'  # stands in every row, so in the beginning of every file that itmlab wrote


@dataclass(frozen=True)
class NegativeFile:
    """The negatives in a file.

    Attributes:
        path: the file.
        negatives: the negatives by caption id.
        origins: the image's id and the caption, by caption id.
    """

    path: Path
    negatives: dict[str, list[Negative]]
    origins: dict[str, tuple[str, str]]

    def __len__(self) -> int:
        """The number of negatives."""
        return sum(map(len, self.negatives.values()))

    def __str__(self) -> str:
        return f"{self.path}: {len(self)} negatives of {len(self.negatives)} captions"

    def of(self, data: CaptionSet) -> list[list[Negative]]:
        """Return the negatives of each caption of a data set, numbered as there; empty where the file has none.

        A warning says how many captions matched if some are not in `data`.

        Raises:
            ItmlabError: a caption of the file has another text or image in `data`, or no caption of the file is there.
        """
        rows: list[list[Negative]] = []
        captions = zip(data.caption_ids, data.captions, data.image_of_caption.tolist(), strict=True)
        for number, (caption_id, caption, image) in enumerate(captions):
            origin = data.image_ids[image], caption
            if self.origins.get(caption_id, origin) != origin:
                message = f"the caption {one_line(repr(caption_id), 60)} differs from that of {data.name}"
                raise ItmlabError(message, where=str(self.path), remedy="make the negatives of this data set")
            rows.append([negative.of(image, number) for negative in self.negatives.get(caption_id, [])])
        if not any(rows):
            remedy = "check that the caption ids are those of this data set"
            raise ItmlabError(f"no negative belongs to a caption of {data.name}", where=str(self.path), remedy=remedy)
        matched = len(self.negatives.keys() & set(data.caption_ids))
        if matched < len(self.negatives):
            message = f"{matched} of {len(self.negatives)} captions of {self.path} are in {data.name}"
            warnings.warn(f"{message}; the others are unused", stacklevel=2)
        return rows


def write_negatives(
    path: str | Path, data: CaptionSet, negatives: Iterable[Negative], *, made_by: str = "", force: bool = False
) -> NegativeFile:
    """Write negatives of captions of a data set, and return the file's content.

    Copies of the caption, duplicates and sentences without a word are left out. The file appears under its name when
    it is complete.

    Args:
        path: the file.
        data: the data set that the negatives are numbered by.
        negatives: the negatives.
        made_by: how the negatives were made; a column of every row.
        force: overwrite a file that itmlab did not write.

    Raises:
        ItmlabError: nothing to write, a negative that does not fit the columns, another file at `path`.
    """
    path = Path(path)
    refuse_foreign(path, MARK, force=force)
    written: set[tuple[int, str]] = set()
    with atomic_file(path) as file:
        for negative in negatives:
            caption, key = data.captions[negative.caption], (negative.caption, negative.sentence)
            if key in written or negative.sentence == caption or wrong_caption(negative.sentence):
                continue
            written.add(key)
            ids = data.caption_ids[negative.caption], data.image_ids[negative.image]
            row: Row = dict(zip(REQUIRED, (*ids, caption, negative.sentence), strict=True))
            row |= {name: getattr(negative, name) for name in OPTIONAL}
            _negative(row)  # refuses what a file cannot hold
            line = json.dumps(row | {"made_by": made_by}, ensure_ascii=False, allow_nan=False)
            # half of a surrogate pair, which UTF-8 cannot hold, becomes an escape of JSON
            file.write(line.encode(errors="backslashreplace") + b"\n")
        if not written:
            remedy = "take more captions or another generator"
            raise ItmlabError("there are no negatives to write", where=str(path), remedy=remedy)
    return read_negatives(path)


def read_negatives(path: str | Path) -> NegativeFile:
    """Read a file that `write_negatives` wrote, or another one with at least the columns `REQUIRED`.

    Raises:
        FaultyData: all faults at once, with the line of each.
        ItmlabError: the file has no negatives.
    """
    path = Path(path)
    faults = Faults("negatives")
    result = NegativeFile(path, {}, {})
    with usable(path), open(ordinary(path), encoding="utf-8", errors="surrogateescape", newline="\n") as lines:
        rows = [(number, json_object(path, number, line, faults)) for number, line in enumerate(lines, start=1)]
    for number, row in rows:
        if row is None:
            continue
        with faults.noting(path, number):
            negative = _negative(row)
            caption_id, origin = row["caption_id"], (row["image_id"], row["caption"])
            if result.origins.setdefault(caption_id, origin) != origin:
                raise ItmlabError("its caption has another image or text in an earlier row")
            result.negatives.setdefault(caption_id, []).append(negative)
    faults.settle(kept=len(result.negatives))
    if not result.negatives:
        raise ItmlabError("there are no negatives in it", where=str(path), remedy="write it again")
    return result


def _negative(row: Row) -> Negative:
    """The negative of a row. Unknown columns are ignored; the first fault is an ItmlabError."""
    for name in REQUIRED:
        if fault := wrong_caption(row.get(name)):
            raise ItmlabError(f"{name}: {fault}")
    if row["negative"] == row["caption"]:
        raise ItmlabError("the negative is the caption itself")
    columns = {name: typed(HINTS[name], row[name], name) for name in OPTIONAL if name in row}
    if len({len(columns[name]) for name in PLACES if columns.get(name)}) > 1:
        raise ItmlabError(f"{', '.join(PLACES)} must be empty or lists of the same length")
    columns["spans"] = tuple(Span(start, end) for start, end in columns.get("spans", ()))
    for span in columns["spans"]:
        if not 0 <= span.start <= span.end:
            raise ItmlabError(f"the span {list(span)} is not two token numbers in order")
    return Negative(row["negative"], **columns)
