"""Negatives as a file of JSON lines: a row for each negative, beside the caption that it was made of.

`datasets.Dataset.from_json(path)` reads the same file as a table, for everything that itmlab does not do with it.
"""

import json
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from ..data.captionset import CaptionSet
from ..data.faults import Faults, one_line
from ..data.tables import json_object, wrong_caption
from ..errors import ItmlabError
from ..storage import atomic_file, ordinary, refuse_foreign, usable
from ..text import Span
from .negative import Negative

Row = dict[str, Any]

REQUIRED = ("caption_id", "image_id", "caption", "negative")
PLACES = ("spans", "source", "replacement", "kind")  # lists with an entry for each changed place, or empty
MARK = '"negative"'  # stands in every row, so in the beginning of every file that itmlab wrote


class Origin(NamedTuple):
    """The caption that negatives were made of, and the id of its image."""

    image_id: str
    caption: str


@dataclass(frozen=True)
class NegativeFile:
    """The negatives in a file by caption id, and what each of these captions was."""

    path: Path
    negatives: dict[str, list[Negative]]
    origins: dict[str, Origin]

    def __len__(self) -> int:
        """The number of negatives."""
        return sum(map(len, self.negatives.values()))

    def __str__(self) -> str:
        return f"{self.path}: {len(self)} negatives of {len(self.negatives)} captions"

    def of(self, data: CaptionSet) -> list[list[Negative]]:
        """The negatives of each caption of `data`, numbered as there; empty where the file has none.

        Raises:
            ItmlabError: a caption of the file has another text or image in `data`, or no caption of the file is there.
        """
        aligned, changed = [], []
        captions = zip(data.caption_ids, data.captions, data.image_of_caption.tolist(), strict=True)
        for number, (caption_id, caption, image) in enumerate(captions):
            negatives = self.negatives.get(caption_id, [])
            if negatives and self.origins[caption_id] != Origin(data.image_ids[image], caption):
                changed.append(caption_id)
            aligned.append([negative.of(image, number) for negative in negatives])
        if changed:
            first = one_line(repr(changed[0]), 60)
            message = f"{len(changed)} captions differ from those of {data.name}, the first is {first}"
            raise ItmlabError(message, where=str(self.path), remedy="make the negatives of this data set")
        if not any(aligned):
            remedy = "check that the caption ids are those of this data set"
            raise ItmlabError(f"no negative belongs to a caption of {data.name}", where=str(self.path), remedy=remedy)
        return aligned


def write_negatives(
    path: str | Path, data: CaptionSet, negatives: Iterable[Negative], *, made_by: str = "", force: bool = False
) -> NegativeFile:
    """Write negatives of captions of `data`, which are numbered as there, and return what the file holds.

    Copies of the caption, duplicates and sentences without a word are left out. The file appears under its name when
    it is complete.

    Args:
        made_by: how the negatives were made, in words; stands in every row.
        force: overwrite a file that itmlab did not write.

    Raises:
        ItmlabError: nothing to write, a negative that does not fit the columns, another file at `path`.
    """
    path, count = Path(path), 0
    refuse_foreign(path, MARK, force=force)
    with atomic_file(path) as file:
        for row in rows_of(data, negatives, made_by=made_by):
            # half of a surrogate pair, which UTF-8 cannot hold, becomes an escape of JSON
            file.write(json.dumps(row, ensure_ascii=False, allow_nan=False).encode(errors="backslashreplace") + b"\n")
            count += 1
        if count == 0:
            remedy = "take more captions or another generator"
            raise ItmlabError("there are no negatives to write", where=str(path), remedy=remedy)
    return read_negatives(path)


def rows_of(data: CaptionSet, negatives: Iterable[Negative], *, made_by: str = "") -> Iterator[Row]:
    """The rows of a file of these negatives; also what `datasets.Dataset.from_list` takes."""
    seen: set[tuple[int, str]] = set()
    for negative in negatives:
        caption, key = data.captions[negative.caption], (negative.caption, negative.sentence)
        if key in seen or negative.sentence == caption or wrong_caption(negative.sentence):
            continue
        seen.add(key)
        row = {
            "caption_id": data.caption_ids[negative.caption],
            "image_id": data.image_ids[negative.image],
            "caption": caption,
            "negative": negative.sentence,
            "spans": [[span.start, span.end] for span in negative.spans],
            "source": list(negative.source),
            "replacement": list(negative.replacement),
            "kind": list(negative.kind),
            "score": negative.score,
            "fluency": negative.fluency,
            "truth": negative.truth,
            "made_by": made_by,
        }
        if fault := _fault(row):
            raise ItmlabError(f"a negative cannot be written: {fault}", where=f"caption {row['caption_id']!r}")
        yield row


def read_negatives(path: str | Path) -> NegativeFile:
    """The negatives in a file that `write_negatives` wrote, or anybody's with at least the columns `REQUIRED`.

    Raises:
        FaultyData: all faults at once, with the line of each.
    """
    path = Path(path)
    faults = Faults("negatives", source=str(path))
    result = NegativeFile(path, {}, {})
    first_rows: dict[tuple[str, str], int] = {}
    for number, row in _rows(path, faults):
        fault = _fault(row)
        if fault is None:
            caption_id, origin = row["caption_id"], Origin(row["image_id"], row["caption"])
            first = first_rows.setdefault((caption_id, row["negative"]), number)
            if result.origins.setdefault(caption_id, origin) != origin:
                fault = f"the caption {one_line(repr(caption_id), 60)} has another image or text in an earlier row"
            elif first != number:
                fault = f"the same negative as in row {first}"
        if fault is None:
            result.negatives.setdefault(caption_id, []).append(_from_row(row))
        else:
            faults.add(path, number, fault)
    faults.settle(kept=len(result.negatives))
    if not result.negatives:
        raise ItmlabError("there are no negatives in it", where=str(path), remedy="write it again")
    return result


def _rows(path: Path, faults: Faults) -> Iterator[tuple[int, Row]]:
    """(line number, row) of every line that is a JSON object; the other lines are faults."""
    with usable(path), open(ordinary(path), encoding="utf-8", errors="surrogateescape", newline="\n") as lines:
        for number, line in enumerate(lines, start=1):
            if (row := json_object(path, number, line, faults)) is not None:
                yield number, row


def _from_row(row: Row) -> Negative:
    return Negative(
        row["negative"],
        spans=tuple(Span(start, end) for start, end in row.get("spans", ())),
        source=tuple(row.get("source", ())),
        replacement=tuple(row.get("replacement", ())),
        kind=tuple(row.get("kind", ())),
        score=row.get("score"),
        fluency=row.get("fluency"),
        truth=row.get("truth"),
    )


def _fault(row: Row) -> str | None:
    """The first fault of a row, or None; unknown columns are ignored."""
    if missing := [name for name in REQUIRED if name not in row]:
        return f"no {', '.join(map(repr, missing))}"
    for name in REQUIRED:
        if fault := wrong_caption(row[name]):
            return f"{name}: {fault}"
    if row["negative"] == row["caption"]:
        return "the negative is the caption itself"
    places = [row.get(name, []) for name in PLACES]
    if not all(isinstance(values, list) for values in places) or len({len(values) for values in places if values}) > 1:
        return f"{', '.join(PLACES)} must be empty or lists of the same length"
    spans, *texts = places
    for span in spans:
        is_pair = isinstance(span, list) and len(span) == 2 and all(type(place) is int for place in span)
        if not is_pair or not 0 <= span[0] <= span[1]:
            return f"the span {one_line(repr(span), 60)} is not two token numbers in order"
    if not all(isinstance(text, str) for values in texts for text in values):
        return f"{', '.join(PLACES[1:])} must hold texts"
    for name in ("score", "fluency"):
        value = row.get(name)
        if value is not None and (type(value) not in (int, float) or not math.isfinite(value)):
            return f"the {name} is {one_line(repr(value), 60)}, not a number"
    if row.get("truth") is not None and not isinstance(row["truth"], bool):
        return f"the truth is {one_line(repr(row['truth']), 60)}, not true, false or null"
    return None
