"""Any folder of pictures with a table of captions beside it, and captions that come without their pictures."""

import re
from collections.abc import Sequence
from pathlib import Path

from ..errors import ItmlabError
from ..storage import inside
from .caption_tables import read_captions
from .captionset import CaptionSet
from .entries import Entry, assemble
from .faults import Faults
from .pictures import NoPictures, Pictures
from .tables import SUFFIXES, find_table
from .verify import check_picture_files, locate, named_folder

PICTURE_SUFFIXES = {".jpg", ".jpeg", ".png", ".apng", ".gif", ".webp", ".bmp", ".tif", ".tiff", ".jp2", ".avif"}


def load_folder(
    root: Path,
    faults: Faults,
    *,
    captions: str | Path | None = None,
    images: str | Path | None = None,
    verify: str | None = None,
    proportions: Sequence[float] = (0.8, 0.1, 0.1),
    seed: int = 0,
) -> CaptionSet:
    """`root` with `images/` and `captions.jsonl` or `captions.csv` (columns: `caption_tables.read_captions`).

    `captions` and `images` name another table or folder, which may lie elsewhere. A picture in the folder that the
    table does not name is a fault (an image without captions); hidden files and other kinds of files are not looked at.
    """
    table = Path(captions) if captions is not None else find_table(root)
    if table is None:
        raise ItmlabError(
            "there is no captions.jsonl or captions.csv",
            where=str(root),
            remedy="write one with the columns image and caption, or name it with captions=",
        )
    if images is None and not (root / "images").is_dir():
        raise ItmlabError("there is no folder images/", where=str(root), remedy="name another with images=")
    folder = named_folder(images) if images is not None else inside(root, "images")
    entries = read_captions(table, faults, lambda name: locate(folder, name))
    _note_unnamed(folder, entries, table, faults)
    return assemble(
        faults.name,
        entries,
        faults,
        pictures=Pictures.from_paths,
        check=lambda paths: check_picture_files(paths, verify),
        proportions=proportions,
        seed=seed,
    )


def load_captions(
    root: Path, faults: Faults, *, proportions: Sequence[float] = (0.8, 0.1, 0.1), seed: int = 0
) -> CaptionSet:
    """Captions without pictures: one table, or every `captions*` table of a folder, plain or gzipped.

    A table whose name says train, val or test is that split (`captions_train.jsonl.gz`), unless its rows say more.
    Asking such a set for a picture is an ItmlabError.
    """
    tables = [root] if root.is_file() else sorted(p for p in root.glob("captions*") if p.name.endswith(SUFFIXES))
    if not tables:
        raise ItmlabError("there is no captions*.jsonl, .csv or .gz of these", where=str(root))
    entries: list[Entry] = []
    for table in tables:
        rows = read_captions(table, faults, lambda image: image)
        split = re.search(r"(?<![a-z])(train|val|test)", table.name)
        for entry in rows:
            entry.split = entry.split or (split and split.group(1))
        entries += rows
    return assemble(
        faults.name,
        entries,
        faults,
        pictures=lambda sources: NoPictures(
            len(sources),
            why=f"{faults.name} was loaded from captions alone and has no pictures",
            remedy='give the pictures too, for example with load("folder", …) or load("flickr30k", …)',
        ),
        proportions=proportions,
        seed=seed,
    )


def _note_unnamed(folder: Path, entries: list[Entry], table: Path, faults: Faults) -> None:
    named = {entry.source for entry in entries}
    for path in sorted(folder.rglob("*")):
        hidden = any(part.startswith(".") for part in path.relative_to(folder).parts)
        if path.suffix.lower() in PICTURE_SUFFIXES and not hidden and path.is_file() and path.resolve() not in named:
            faults.add(path, None, f"an image without captions: {table.name} does not name it")
