"""Negatives read back from a file, by the caption they were made of, as extra negatives for training."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from ..data.captionset import CaptionSet
from ..data.faults import Fault, Faults, one_line
from ..errors import ItmlabError
from .formats import read_file
from .negative import Negative
from .rows import Header, from_row, wrong_row


class Origin(NamedTuple):
    """The caption that negatives were made of, and the id of its image."""

    image_id: str
    caption: str


@dataclass(frozen=True)
class NegativeFile:
    """Negatives by caption id, in the order of the file; `origins` says what each caption was.

    `header` says how they were made; `skipped` are the faults that reading passed over on request.
    """

    path: Path
    header: Header
    negatives: dict[str, list[Negative]]
    origins: dict[str, Origin]
    skipped: list[Fault] = field(default_factory=list)

    def __len__(self) -> int:
        """The number of negatives."""
        return sum(map(len, self.negatives.values()))

    def of(self, data: CaptionSet) -> list[list[Negative]]:
        """For each caption of `data` its negatives, numbered as there; none where the file has none of it.

        A caption that reads otherwise than when its negatives were made, or belongs to another image, or a file with
        nothing about these captions, is an ItmlabError.
        """
        aligned, other = [], []
        places = zip(data.caption_ids, data.captions, data.image_of_caption.tolist(), strict=True)
        for number, (identifier, caption, image) in enumerate(places):
            found = self.negatives.get(identifier, [])
            if found and self.origins[identifier] != (data.image_ids[image], caption):
                other.append(identifier)
            aligned.append([one.of(image, number) for one in found])
        if other:
            first = one_line(repr(other[0]), 60)
            what = f"{len(other)} captions of {data.name} are not those that the negatives were made of, first {first}"
            raise ItmlabError(what, where=str(self.path), remedy="make the negatives of this data set")
        if not any(aligned):
            raise ItmlabError(f"no negative is of a caption of {data.name}", where=str(self.path), remedy="do ids fit?")
        return aligned


def read_negatives(path: str | Path, *, on_fault: str = "error", skipped_to: str | Path | None = None) -> NegativeFile:
    """The negatives of a JSON-lines, TSV or Parquet file that `export_negatives` wrote, whatever it is called.

    Every fault is told at once with its line (Parquet: row); with `on_fault="skip"` faulty rows are left out, counted
    and listed. Fewer rows than the header says is a fault too: the file was cut short.
    """
    path = Path(path)
    faults = Faults("negatives", on_fault=on_fault, skipped_to=skipped_to, source=str(path))
    header, rows = read_file(path, faults)
    result = NegativeFile(path, header, {}, {}, faults.found)
    seen: dict[tuple[str, str], int] = {}
    for number, row in rows:
        what = wrong_row(row)
        if what is None:
            identifier, origin = row["caption_id"], Origin(row["image_id"], row["source"])
            first = seen.setdefault((identifier, row["negative"]), number)
            if result.origins.setdefault(identifier, origin) != origin:
                what = f"the caption {one_line(repr(identifier), 60)} has another image or text in a row before"
            elif first != number:
                what = f"the same negative as in row {first}"
        if what is None:
            result.negatives.setdefault(identifier, []).append(from_row(row))
        else:
            faults.add(path, number, what)
    found = len(result) + len(faults.found)
    if found < header["negatives"]:
        faults.add(path, None, f"{found} rows, and {header['negatives']} by its header: it was cut short")
    faults.settle(kept=len({origin.image_id for origin in result.origins.values()}))
    return result
