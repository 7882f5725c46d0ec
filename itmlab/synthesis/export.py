"""Negatives of a whole caption set as a file: streamed, resumable, with a header that says how they were made."""

from collections.abc import Iterable
from dataclasses import dataclass
from glob import escape
from pathlib import Path
from typing import Any

from ..data.captionset import CaptionSet
from ..storage import atomic_file
from .export_rows import Fluency, Generate, RowMaker, Score
from .header import COUNTS, full_header, refuse_other
from .journal import Journal
from .read_formats import read_header
from .write_formats import format_of, write_file


@dataclass(frozen=True)
class Exported:
    """A file of negatives and how many are in it; `left_out` were copies, duplicates or no sentences."""

    path: Path
    captions: int
    negatives: int
    left_out: int

    def __str__(self) -> str:
        more = f" ({self.left_out} copies, duplicates and empty ones left out)" if self.left_out else ""
        return f"{self.path}: {self.negatives} negatives of {self.captions} captions{more}"


def export_negatives(
    data: CaptionSet,
    generate: Generate,
    out: str | Path,
    *,
    header: dict[str, Any],
    format: str | None = None,
    seed: int = 0,
    batch: int = 64,
    conditioned: bool = False,
    score: Score | None = None,
    fluency: Fluency | None = None,
    truth: bool = True,
    resume: bool = True,
    progress: bool = False,
) -> Exported:
    """Write the negatives that `generate(captions, graphs, image_captions, *, generator)` makes of every caption.

    `format` is "jsonl", "tsv" or "parquet" (default: by the ending of `out`). `header` says how the generator was made;
    seed, data, versions and counts are added. Random numbers depend on `seed` and the number of the batch of `batch`
    captions alone. With `conditioned` the generator is also given `numbers=`, those of the captions in `data`, to look
    at their images. `score(image numbers, sentences)` and `fluency(sentences)` fill in what the generator left open,
    and with `truth` a set with a world gives its verdicts. Work in progress lies in `out` + ".part": killed at any
    moment, the same call goes on there and ends in the same bytes; `out` itself is whole whenever it exists. An `out`
    (or part) that was made otherwise is an ItmlabError unless `resume=False`, which begins anew.
    """
    out = Path(out)
    kind = format_of(out, format)
    truth = truth and data.world is not None
    header = full_header(header, data, format=kind, seed=seed, batch=batch, truth=truth)
    part = out.with_name(f"{out.name}.part")
    if resume and out.exists():
        return _finished(out, header, part)
    maker = RowMaker(data, generate, seed=seed, conditioned=conditioned, score=score, fluency=fluency, truth=truth)
    journal = Journal(part, header, resume=resume)
    done = False
    try:
        for left in out.parent.glob(f".{escape(out.name)}.*.tmp"):
            left.unlink()  # of a process killed while writing
        starts = range(journal.batches * batch, len(data.captions), batch)
        for start in _bar(starts, journal.batches, progress):
            journal.add(*maker.rows(range(start, min(start + batch, len(data.captions)))))
        counts = dict(zip(COUNTS, (len(data.captions), journal.negatives, journal.left_out), strict=True))
        with atomic_file(out) as file:
            write_file(file, kind, {**header, **counts}, journal.rows())
        done = True
    finally:
        journal.close(remove=done)
    return Exported(out, **counts)


def _finished(out: Path, header: dict[str, Any], part: Path) -> Exported:
    """What an earlier export wrote, if it was made in the same way."""
    found = read_header(out)
    refuse_other({name: value for name, value in found.items() if name not in COUNTS}, header, out)
    part.unlink(missing_ok=True)  # of a process killed between its last two steps
    return Exported(out, **{name: found[name] for name in COUNTS})


def _bar(starts: range, done: int, progress: bool) -> Iterable[int]:
    if not progress:
        return starts
    from tqdm import tqdm

    return tqdm(starts, initial=done, total=done + len(starts), desc="making negatives", unit="batch")
