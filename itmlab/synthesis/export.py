"""Negatives of a whole caption set as a file: streamed, resumable, with a header that says how they were made."""

import hashlib
import json
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from glob import escape
from itertools import groupby
from pathlib import Path

import torch
from tqdm import tqdm

from ..data.captionset import CaptionSet
from ..data.entries import wrong_caption
from ..errors import ItmlabError
from ..storage import atomic_file, refuse_foreign, sync_directory, usable
from ..text import SceneGraph, parse
from .formats import format_of, read_header, write_file
from .negative import Generate, Negative
from .rows import COUNTS, MARK, Header, Row, full_header, refuse_other, to_json, to_row, wrong_row

Score = Callable[[Sequence[int], Sequence[str]], Iterable[float]]  # image numbers and sentences → a match each
Fluency = Callable[[Sequence[str]], Iterable[float]]  # sentences → a perplexity each


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
    header: Header,
    format: str | None = None,
    seed: int = 0,
    batch: int = 64,
    conditioned: bool = False,
    parsed: bool = True,
    score: Score | None = None,
    fluency: Fluency | None = None,
    truth: bool = True,
    resume: bool = True,
    force: bool = False,
    progress: bool = False,
) -> Exported:
    """Write the negatives that `generate(captions, graphs, image_captions, *, generator)` makes of every caption.

    `format` is "jsonl", "tsv" or "parquet" (default: by the ending of `out`). `header` says how the generator was made;
    seed, data, versions and counts are added. Random numbers depend on `seed` and the number of the batch of `batch`
    captions alone. With `conditioned` the generator is also given `numbers=`, those of the captions in `data`, to look
    at their images; without `parsed` it is given no graphs, so that no caption is parsed. `score(image numbers,
    sentences)` and `fluency(sentences)` fill in what the generator left open, and with `truth` a set with a world gives
    its labels. Work in progress lies in `out` + ".part": killed at any moment, the same call goes on there and ends in
    the same bytes; `out` itself is whole whenever it exists. An `out` (or part) that was made otherwise is an
    ItmlabError unless `resume=False`, which begins anew, and one that is no
    file of negatives unless `force=True`.
    """
    out = Path(out)
    kind = format_of(out, format)
    truth = truth and data.world is not None
    header = full_header(header, data, format=kind, seed=seed, batch=batch, truth=truth)
    part = out.with_name(f"{out.name}.part")
    there, begun = (refuse_foreign(path, MARK, force=force) for path in (out, part))
    if resume and there:
        found = read_header(out)
        refuse_other({name: value for name, value in found.items() if name not in COUNTS}, header, out)
        part.unlink(missing_ok=True)  # of a process killed between its last two steps
        return Exported(out, **{name: found[name] for name in COUNTS})
    maker = RowMaker(data, generate, seed, conditioned, parsed, score, fluency, truth)
    with usable(kept=part):
        journal, number = Journal(part, header, resume=resume and begun), len(data.captions)
        finished = False
        try:
            for left in out.parent.glob(f".{escape(out.name)}.*.tmp"):
                left.unlink()  # of a process killed while writing
            done = journal.counts["batches"]
            starts = range(done * batch, number, batch)
            told = {"initial": done, "total": done + len(starts), "disable": not progress}
            for start in tqdm(starts, desc="making negatives", unit="batch", **told):
                journal.add(*maker.rows(range(start, min(start + batch, number))))
            counts = {name: number if name == "captions" else journal.counts[name] for name in COUNTS}
            with atomic_file(out) as file:
                write_file(file, kind, {**header, **counts}, journal.rows())
            finished = True
        finally:
            journal.close(remove=finished)
    return Exported(out, **counts)


@dataclass(frozen=True)
class RowMaker:
    """The rows of some captions of a set at a time, from any generator."""

    data: CaptionSet
    generate: Generate
    seed: int
    conditioned: bool
    parsed: bool
    score: Score | None
    fluency: Fluency | None
    truth: bool

    def rows(self, numbers: range) -> tuple[list[Row], int]:
        """The rows of these captions, and how many negatives were left out."""
        data, kept = self.data, []
        images = data.image_of_caption[numbers.start : numbers.stop].tolist()
        made = self._made(numbers, images)
        for number, image, negatives in zip(numbers, images, made, strict=True):
            found: dict[str, Negative | None] = {data.captions[number]: None}
            for one in negatives:
                if wrong_caption(one.sentence) is None:
                    found.setdefault(one.sentence, one.of(image, number))
            kept += list(found.values())[1:]
        rows = [
            to_row(one, data.image_ids[one.image], data.caption_ids[one.caption], data.captions[one.caption])
            for one in self._judged(kept)
        ]
        for row in rows:
            if what := wrong_row(row):
                raise ItmlabError(f"its negative cannot be written: {what}", where=f"caption {row['caption_id']!r}")
        return rows, sum(map(len, made)) - len(kept)

    def _made(self, numbers: range, images: list[int]) -> list[list[Negative]]:
        data, captions = self.data, [self.data.captions[number] for number in numbers]
        graphs = self._graphs(captions, numbers) if self.parsed else []
        # random numbers of their own for these captions, whatever was made before them (or before a kill)
        digest = hashlib.sha256(f"{self.seed}:{numbers.start}".encode()).digest()
        generator = torch.Generator().manual_seed(int.from_bytes(digest[:8], "little") >> 1)
        others = data.captions_of(images)
        more = {"numbers": numbers} if self.conditioned else {}
        made = self.generate(captions, graphs, others, generator=generator, **more)
        if len(made) != len(captions):
            raise ItmlabError(f"the generator answered {len(captions)} captions with {len(made)} lists")
        return [list(negatives) for negatives in made]

    def _graphs(self, captions: list[str], numbers: range) -> list[SceneGraph]:
        world = self.data.world
        return parse(captions) if world is None else [world.graphs[number] for number in numbers]

    def _judged(self, negatives: list[Negative]) -> list[Negative]:
        """The same with the scores, perplexities and labels that were asked for and are still open."""
        if self.score is not None:
            negatives = _filled(negatives, "score", self.score, "image", "sentence")
        if self.fluency is not None:
            negatives = _filled(negatives, "fluency", self.fluency, "sentence")
        if not self.truth or not negatives:
            return negatives
        parse([one.sentence for one in negatives])  # all at once into the cache that the world looks into
        judged = []
        for image, group in groupby(negatives, key=lambda one: one.image):
            some = list(group)
            labels = self.data.world.truth([image], [one.sentence for one in some])[0].tolist()
            known = [None if label < 0 else bool(label) for label in labels]
            judged += [replace(one, truth=truth) for one, truth in zip(some, known, strict=True)]
        return judged


def _filled(negatives: list[Negative], field: str, ask: Callable, *of: str) -> list[Negative]:
    """The same with what `ask` answers of those whose `field` is open; it is given their fields `of`."""
    still = [one for one in negatives if getattr(one, field) is None]
    given = [[getattr(one, name) for one in still] for name in of]
    values = [float(value) for value in ask(*given)] if still else []
    if len(values) != len(still):
        raise ItmlabError(f"{len(still)} sentences were given to {field}, which answered {len(values)}")
    left = iter(values)
    return [replace(one, **{field: next(left)}) if getattr(one, field) is None else one for one in negatives]


class Journal:
    """What an export has done so far, in `path`: a header and the rows of each finished batch, a line of JSON each.

    Each line is on the disk before the next batch begins. Opened again after a kill at any moment it holds what was
    finished, without a line that was cut short; with `resume=False` it begins anew. Another header is an ItmlabError.
    """

    def __init__(self, path: Path, header: Header, *, resume: bool = True):
        self.path, self.counts = path, Counter()
        with usable(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT, 0o644), "r+b")
        beginning = False
        try:
            self._hold()
            whole = 0  # bytes of the lines that were finished
            for line, found in self._lines() if resume else ():
                if whole == 0:
                    refuse_other(found, header, path)
                else:
                    self._count(found)
                whole += len(line)
            self._file.truncate(whole)
            if beginning := whole == 0:
                self._append(header)
                sync_directory(path.parent)
        except BaseException:
            with suppress(OSError):  # again, of what there was no room for
                self._file.close()
            if beginning:
                os.truncate(path, 0)  # a piece of a header would be a file of nobody's
            raise

    def _hold(self) -> None:
        """Keep other processes from writing here meanwhile; the system lets go however this one ends."""
        try:
            import fcntl

            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except ImportError:  # not on Windows, which goes without
            return
        except BlockingIOError:
            raise ItmlabError(
                "another process is writing here", where=str(self.path), remedy="wait for it, or write to another file"
            ) from None

    def add(self, rows: list[Row], left_out: int) -> None:
        """Add a finished batch: its rows, and how many negatives were left out of it."""
        batch = {"rows": rows, "left_out": left_out}
        self._append(batch)
        self._count(batch)

    def rows(self) -> Iterator[Row]:
        """Every row so far, in order."""
        for number, (_, found) in enumerate(self._lines()):
            if number:
                yield from found["rows"]

    def close(self, *, remove: bool = False) -> None:
        """Close the file, and with `remove` delete it."""
        with usable(self.path):
            self._file.close()
            if remove:
                self.path.unlink(missing_ok=True)

    def _count(self, batch: dict) -> None:
        self.counts.update(batches=1, negatives=len(batch["rows"]), left_out=batch["left_out"])

    def _append(self, value: dict) -> None:
        with usable(self.path):
            self._file.seek(0, os.SEEK_END)
            self._file.write(to_json(value) + b"\n")
            self._file.flush()
            os.fsync(self._file.fileno())

    def _lines(self) -> Iterator[tuple[bytes, dict]]:
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
