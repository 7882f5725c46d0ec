"""Negatives of a whole caption set as a file: streamed, resumable, with a header that says how they were made."""

import hashlib
import json
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from glob import escape
from itertools import pairwise
from pathlib import Path
from typing import Any

import torch

from ..data.captionset import CaptionSet
from ..data.entries import wrong_caption
from ..errors import ItmlabError
from ..storage import atomic_file, sync_directory
from ..text import SceneGraph, parse
from .formats import format_of, read_header, write_file
from .negative import Negative
from .rows import COUNTS, full_header, refuse_other, to_row, wrong_row

# Rows of an export: a generator asked for the negatives of some captions, and what is known of each.


Generate = Callable[..., list[list[Negative]]]
Score = Callable[[Sequence[int], Sequence[str]], Iterable[float]]  # image numbers and sentences → a match each
Fluency = Callable[[Sequence[str]], Iterable[float]]  # sentences → a perplexity each


class RowMaker:
    """The rows of some captions of a set at a time, from any generator."""

    def __init__(
        self,
        data: CaptionSet,
        generate: Generate,
        *,
        seed: int,
        conditioned: bool,
        score: Score | None,
        fluency: Fluency | None,
        truth: bool,
    ):
        self.data, self.generate, self.seed, self.conditioned = data, generate, seed, conditioned
        self.score, self.fluency, self.truth = score, fluency, truth
        self.image_of_caption = data.image_of_caption.tolist()

    def rows(self, numbers: range) -> tuple[list[dict[str, Any]], int]:
        """The rows of these captions, and how many negatives were left out."""
        made = self._made(numbers)
        kept: list[Negative] = []
        for number, negatives in zip(numbers, made, strict=True):
            found: dict[str, Negative] = {}
            for one in negatives:
                found.setdefault(one.sentence, one)
            found.pop(self.data.captions[number], None)
            sound = (one for sentence, one in found.items() if wrong_caption(sentence) is None)
            kept += [one.of(self.image_of_caption[number], number) for one in sound]
        kept = self._judged(kept)
        rows = [
            to_row(
                one, self.data.image_ids[one.image], self.data.caption_ids[one.caption], self.data.captions[one.caption]
            )
            for one in kept
        ]
        for row in rows:
            what = wrong_row(row)
            if what is not None:
                raise ItmlabError(f"its negative cannot be written: {what}", where=f"caption {row['caption_id']!r}")
        return rows, sum(map(len, made)) - len(kept)

    def _made(self, numbers: range) -> list[list[Negative]]:
        data = self.data
        captions = [data.captions[number] for number in numbers]
        of_image = [data.captions_of_image[self.image_of_caption[number]].tolist() for number in numbers]
        made = self.generate(
            captions,
            self._graphs(numbers, captions),
            [[data.captions[other] for other in others] for others in of_image],
            generator=_generator(self.seed, numbers.start),
            **({"numbers": numbers} if self.conditioned else {}),
        )
        if len(made) != len(captions):
            raise ItmlabError(f"the generator answered {len(captions)} captions with {len(made)} lists")
        return [list(negatives) for negatives in made]

    def _graphs(self, numbers: range, captions: list[str]) -> list[SceneGraph]:
        if self.data.world is not None:
            return [self.data.world.graphs[number] for number in numbers]
        return parse(captions)

    def _judged(self, negatives: list[Negative]) -> list[Negative]:
        """The same with the scores, perplexities and verdicts that were asked for and are still open."""
        if self.score is not None:
            still = [one for one in negatives if one.score is None]
            given = self.score([one.image for one in still], [one.sentence for one in still]) if still else []
            negatives = _filled(negatives, "score", given)
        if self.fluency is not None:
            still = [one for one in negatives if one.fluency is None]
            negatives = _filled(negatives, "fluency", self.fluency([one.sentence for one in still]) if still else [])
        return self._with_truth(negatives) if self.truth and negatives else negatives

    def _with_truth(self, negatives: list[Negative]) -> list[Negative]:
        parse([one.sentence for one in negatives])  # all at once into the cache that the world looks into
        images = [one.image for one in negatives]
        cuts = [0, *(at for at, (left, right) in enumerate(pairwise(images), 1) if left != right), len(images)]
        judged = []
        for start, end in pairwise(cuts):
            some = negatives[start:end]
            verdicts = self.data.world.truth([some[0].image], [one.sentence for one in some])[0].tolist()
            judged += [
                replace(one, truth=None if verdict < 0 else bool(verdict))
                for one, verdict in zip(some, verdicts, strict=True)
            ]
        return judged


def _filled(negatives: list[Negative], field: str, given: Iterable[float]) -> list[Negative]:
    values = [float(value) for value in given]
    open_ones = [at for at, one in enumerate(negatives) if getattr(one, field) is None]
    if len(values) != len(open_ones):
        raise ItmlabError(f"{len(open_ones)} sentences were given to {field}, which answered {len(values)}")
    filled = list(negatives)
    for at, value in zip(open_ones, values, strict=True):
        filled[at] = replace(filled[at], **{field: value})
    return filled


def _generator(seed: int, start: int) -> torch.Generator:
    """A generator of its own for the captions from number `start` on, whatever was made before them."""
    digest = hashlib.sha256(f"{seed}:{start}".encode()).digest()
    return torch.Generator().manual_seed(int.from_bytes(digest[:8], "little") >> 1)


# What an export has done so far: a file to which each finished batch is added as one line, on the disk at once.


class Journal:
    """A header and the rows of each finished batch, a line of JSON each, in `path`.

    Opened again after a kill at any moment it holds the batches that were finished, and a line that was cut short is
    forgotten. With `resume=False` it begins anew. One begun with another header is an ItmlabError that names what
    differs.
    """

    def __init__(self, path: Path, header: dict[str, Any], *, resume: bool = True):
        self.path = path
        self.batches = self.negatives = self.left_out = 0
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file = os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT, 0o644), "r+b")
        try:
            self._hold()
            if not resume:
                self._file.truncate(0)
            self._begin(header)
        except BaseException:
            self._file.close()
            raise

    def _hold(self) -> None:
        """Keep other processes from writing here meanwhile; the system lets go however this one ends."""
        try:
            import fcntl
        except ImportError:  # not on Windows, which goes without
            return
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ItmlabError(
                "another process is writing here", where=str(self.path), remedy="wait for it, or write to another file"
            ) from None

    def _begin(self, header: dict[str, Any]) -> None:
        whole, first = 0, True
        for line, found in self._lines():
            if first:
                refuse_other(found, header, self.path)
            else:
                self.batches += 1
                self.negatives += len(found["rows"])
                self.left_out += found["left_out"]
            whole, first = whole + len(line), False
        self._file.truncate(whole)
        self._file.seek(whole)
        if first:
            self._append(header)
            sync_directory(self.path.parent)

    def add(self, rows: list[dict[str, Any]], left_out: int) -> None:
        """Add a finished batch: its rows, and how many negatives were left out of it."""
        self._append({"rows": rows, "left_out": left_out})
        self.batches += 1
        self.negatives += len(rows)
        self.left_out += left_out

    def rows(self) -> Iterator[dict[str, Any]]:
        """Every row so far, in order."""
        for number, (_, found) in enumerate(self._lines()):
            if number:
                yield from found["rows"]

    def close(self, *, remove: bool = False) -> None:
        """Close the file, and with `remove` delete it."""
        self._file.close()
        if remove:
            self.path.unlink(missing_ok=True)

    def _append(self, value: dict[str, Any]) -> None:
        self._file.seek(0, os.SEEK_END)
        self._file.write(json.dumps(value, ensure_ascii=False, allow_nan=False).encode() + b"\n")
        self._file.flush()
        os.fsync(self._file.fileno())

    def _lines(self) -> Iterator[tuple[bytes, dict[str, Any]]]:
        """The lines that are whole, up to the first that is not."""
        self._file.seek(0)
        for line in self._file:
            try:
                found = json.loads(line) if line.endswith(b"\n") else None
            except ValueError:
                found = None
            if not isinstance(found, dict):
                return
            yield line, found


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
