"""Negatives in the columns that others train on: NegCLIP's table, sentence-transformers' and VLM2Vec's data sets.

`negclip` (Yuksekgonul et al., 2023): tab-separated, a row a pair, with `filepath` and `title` as open_clip names them,
`neg_caption`, a Python list of sentences, and `neg_image`, a list of rows of the same table whose pictures are near.
`sentence-transformers`: Parquet with `anchor`, `positive` and `negative`, or `negative_1` to `negative_n`, pictures
inside. `vlm2vec` (Jiang et al., 2025): Parquet, a row a negative, with `qry`, `pos_text`, `neg_text` and an image path
for each. Which code reads them so, and what it does where there is too little: METHODS 3.10.
"""

import csv
import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Literal

import torch

from ..data.captionset import CaptionSet
from ..errors import ItmlabError
from ..samplers.retrieved import random_negatives
from ..storage import atomic_file, build_once, refuse_foreign
from .rows import MARK, to_json

Anchors = Literal["images", "captions"]
LAYOUTS = {"negclip": ".tsv", "sentence-transformers": ".parquet", "vlm2vec": ".parquet"}
NEAR = 3  # pictures in `neg_image`, as NegCLIP's own table has
ROWS_TOGETHER = 256  # a row group of Parquet, of which each row may hold pictures
IMAGE = "<|image_1|>\n"  # where VLM2Vec puts a picture into a text
ASKED = {"images": f"{IMAGE}Find the sentence that describes this picture.", "captions": "Find the picture: "}


@dataclass(frozen=True)
class Table:
    """A table for others: its rows; `left_out` pairs had fewer negatives than a row of it needs; where pictures are."""

    path: Path
    rows: int
    left_out: int
    pictures: Path | None

    def __str__(self) -> str:
        less = f"; {self.left_out} pairs left out, which have fewer negatives than a row needs" if self.left_out else ""
        where = f"; its pictures are named as from {self.pictures}" if self.pictures else ""
        return f"{self.path}: {self.rows} rows{less}{where}"


def write_table(
    data: CaptionSet,
    out: str | Path,
    layout: str,
    sentences: Sequence[Sequence[str]],
    *,
    images: Sequence[Sequence[int]] | None = None,
    anchors: Anchors = "images",
    number: int | None = None,
    root: str | Path | None = None,
    seed: int = 0,
    force: bool = False,
) -> Table:
    """Write `sentences[caption]`, each caption's negatives, and `images[caption]`, by number, as a table of `LAYOUTS`.

    With `anchors="captions"` the negatives of a row are the images instead. "sentence-transformers" has a row a
    negative, or, with a `number`, a row a pair with so many; pairs with fewer are left out, and so are from "negclip"
    pairs with none, as its reader draws one of each; "vlm2vec" keeps them, with an empty negative. Without `images`,
    `neg_image` holds pairs of other pictures, drawn by `seed`. Paths begin at `root` where all pictures are files in
    it, else at the folder of `out`, beside which the pictures are written. ItmlabError: another layout, a `number`
    elsewhere, no row, a file at `out` that is not itmlab's, unless `force`.
    """
    out = place_of_table(out, layout, force=force)
    if anchors not in ASKED or (anchors == "captions" and images is None):
        named = f"anchors={anchors!r}" + (" without images" if images is None else "")
        raise ItmlabError(f"no table with {named}", where=str(out), remedy=f"anchors are {' or '.join(ASKED)}")
    if number is not None and (layout != "sentence-transformers" or number < 1):
        raise ItmlabError(f"number={number} of {layout}", remedy="of sentence-transformers, 1 or more; else leave it")
    found = images if anchors == "captions" else sentences
    if layout == "negclip":
        number, kept = 1, _rows_of_pairs(data, sentences, images)
    else:
        needed = number or (0 if layout == "vlm2vec" else 1)
        kept = [caption for caption, negatives in enumerate(found) if len(negatives) >= needed]
    if not kept:
        raise ItmlabError("no pair has negatives enough for a row", where=str(out), remedy="make or mine more")
    home, paths = (None, []) if layout == "sentence-transformers" else _paths(data, out, root)
    if layout == "negclip":
        near = _near(data, kept, images, seed)
        rows = zip(kept, near, strict=True)
        written = _write_negclip(data, out, ((paths, caption, list(sentences[caption]), row) for caption, row in rows))
    elif layout == "vlm2vec":
        written = _write_parquet(out, _vlm2vec(data, kept, found, anchors, paths), ())
    else:
        cells = _triplets(data, kept, found, anchors, number)
        shown = ("anchor",) if anchors == "images" else ("positive", *_negatives(number))
        written = _write_parquet(out, cells, shown)
    return Table(out, written, len(data.captions) - len(kept), home)


def place_of_table(out: str | Path, layout: str, *, force: bool = False) -> Path:
    """Where a table of this layout may be written; ItmlabError: no such layout or ending, another's file lies there."""
    if layout not in LAYOUTS:
        raise ItmlabError(f"no layout {layout!r}", where=str(out), remedy=f"there are {', '.join(LAYOUTS)}")
    if Path(out).suffix != LAYOUTS[layout]:
        what = f"{layout} is no {Path(out).suffix or 'file without an ending'}"
        raise ItmlabError(what, where=str(out), remedy=f"end the name in {LAYOUTS[layout]}")
    refuse_foreign(out, MARK, force=force)
    return Path(out)


def _rows_of_pairs(
    data: CaptionSet, sentences: Sequence[Sequence[str]], images: Sequence[Sequence[int]] | None
) -> list[int]:
    """The captions that have a negative sentence and a near picture which has a row of this kind itself."""
    kept = [caption for caption, negatives in enumerate(sentences) if negatives]
    owner = data.image_of_caption.tolist()
    while True:
        there = {owner[caption] for caption in kept}
        near = [there - {owner[caption]} if images is None else there.intersection(images[caption]) for caption in kept]
        left = [caption for caption, some in zip(kept, near, strict=True) if some]
        if len(left) == len(kept):
            return kept
        kept = left


def _near(data: CaptionSet, kept: list[int], images: Sequence[Sequence[int]] | None, seed: int) -> list[list[int]]:
    """For each row those of near pictures: the first row of each of `images`, or of other pictures by chance."""
    owner = data.image_of_caption[kept]
    if images is None:
        drawn = random_negatives(owner, owner, NEAR, generator=torch.Generator().manual_seed(seed))
        return [[row for row in rows if row >= 0] for rows in drawn.tolist()]
    first: dict[int, int] = {}
    for row, image in enumerate(owner.tolist()):
        first.setdefault(image, row)
    return [[first[image] for image in images[caption] if image in first] for caption in kept]


def _write_negclip(data: CaptionSet, out: Path, rows: Iterator[tuple[list[str], int, list[str], list[int]]]) -> int:
    count = 0
    with atomic_file(out) as file:
        text = io.TextIOWrapper(file, encoding="utf-8", newline="")
        table = csv.writer(text, delimiter="\t", lineterminator="\n")
        table.writerow([MARK, "title", "filepath", "neg_caption", "neg_image"])
        for paths, caption, negatives, near in rows:
            path = paths[int(data.image_of_caption[caption])]
            table.writerow([count, data.captions[caption], path, negatives, near])
            count += 1
        text.flush()
        text.detach()  # the file stays open for what makes it last
    return count


def _vlm2vec(
    data: CaptionSet, kept: list[int], found: Sequence[Sequence[Any]], anchors: Anchors, paths: list[str]
) -> Iterator[dict[str, Any]]:
    columns = ("qry", "qry_image_path", "pos_text", "pos_image_path", "neg_text", "neg_image_path")
    for caption in kept:
        path, text = paths[int(data.image_of_caption[caption])], data.captions[caption]
        for negative in found[caption] or [None]:
            if anchors == "images":
                cells = (ASKED[anchors], path, text, "", negative or "", "")
            else:
                other = ("", "") if negative is None else (IMAGE, paths[negative])
                cells = (ASKED[anchors] + text, "", IMAGE, path, *other)
            yield dict(zip(columns, cells, strict=True))


def _negatives(number: int | None) -> list[str]:
    return ["negative"] if number is None else [f"negative_{place}" for place in range(1, number + 1)]


def _triplets(
    data: CaptionSet, kept: list[int], found: Sequence[Sequence[Any]], anchors: Anchors, number: int | None
) -> Iterator[dict[str, Any]]:
    names = _negatives(number)
    for caption in kept:
        picture, text = _encoded(data, int(data.image_of_caption[caption])), data.captions[caption]
        pair = (picture, text) if anchors == "images" else (text, picture)
        every = found[caption] if anchors == "images" else [_encoded(data, image) for image in found[caption]]
        for some in [every[:number]] if number else [[one] for one in every]:
            yield dict(zip(["anchor", "positive", *names], [*pair, *some], strict=True))


def _encoded(data: CaptionSet, image: int) -> dict[str, Any]:
    """A picture as its own bytes, or as a PNG where the data set has none; without the path that it came from."""
    cell = data.images.cell(image) if hasattr(data.images, "cell") else {"bytes": None, "path": None}
    if cell["bytes"] is not None or cell["path"] is not None:
        return {"bytes": Path(cell["path"]).read_bytes() if cell["bytes"] is None else cell["bytes"], "path": None}
    file = io.BytesIO()
    data.images[image].save(file, format="PNG")
    return {"bytes": file.getvalue(), "path": None}


def _write_parquet(out: Path, rows: Iterator[dict[str, Any]], pictures: Sequence[str]) -> int:
    """Write rows whose columns are texts, or `pictures`, with the features by which `datasets` knows them."""
    import datasets
    import pyarrow
    from pyarrow import parquet

    rows, count, writer, schema = iter(rows), 0, None, None
    with atomic_file(out) as file:
        while some := list(islice(rows, ROWS_TOGETHER)):
            if writer is None:
                kinds = {name: datasets.Image() if name in pictures else datasets.Value("string") for name in some[0]}
                schema = datasets.Features(kinds).arrow_schema
                schema = schema.with_metadata({**schema.metadata, b"itmlab": to_json({MARK: list(kinds)})})
                writer = parquet.ParquetWriter(file, schema, compression="zstd")
            writer.write_table(pyarrow.Table.from_pylist(some, schema=schema))
            count += len(some)
        writer.close()
    return count


def _paths(data: CaptionSet, out: Path, root: str | Path | None) -> tuple[Path, list[str]]:
    """Where the paths of all pictures begin, and the paths: in `root` as they lie there, else written beside `out`."""
    if root is not None and hasattr(data.images, "cell"):
        home, found = Path(root).resolve(), [data.images.cell(image) for image in range(len(data))]
        files = [cell["path"] for cell in found if cell["bytes"] is None]
        if len(files) == len(found) and all(Path(path).resolve().is_relative_to(home) for path in files):
            return Path(root), [Path(path).resolve().relative_to(home).as_posix() for path in files]
    names = [f"{image:0{len(str(len(data)))}d}.png" for image in range(len(data))]

    def write(folder: Path) -> None:
        for picture, name in zip(data.images, names, strict=True):
            picture.convert("RGB").save(folder / name)

    folder = build_once(out.parent / f"pictures-{data.fingerprint[:12]}", write)
    return folder.parent, [f"{folder.name}/{name}" for name in names]
