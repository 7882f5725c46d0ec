"""Data sets published as region features: `{split}_ims.npy` with `{split}_caps.txt`, or one .npz file an image."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import ItmlabError
from ..storage import inside
from .caption_tables import read_captions
from .captionset import CaptionSet
from .entries import Caption, Entry, assemble
from .faults import Faults
from .pictures import NoPictures
from .region_files import check_npz, read_npy
from .regions import ArrayRow, Regions
from .tables import find_table
from .verify import decodes, each_checked, locate


def load_regions(
    root: Path,
    faults: Faults,
    *,
    captions: str | Path | None = None,
    features: str | Path | None = None,
    captions_per_image: int | None = None,
    confidence: float = 0.2,
    fewest: int = 10,
    most: int = 100,
    verify: str | None = None,
    proportions: Sequence[float] = (0.8, 0.1, 0.1),
    seed: int = 0,
) -> CaptionSet:
    """Region features in either published format; the set has `regions` and no pictures.

    With `{split}_ims.npy` in `root`, lines of `{split}_caps.txt` belong to the images in order, as many each as the
    counts say (five in the published files; where an array repeats each image once a caption, `captions_per_image`
    says how often, 5 if the rows repeat so). Otherwise `root` has a table of captions (as load("folder")) and
    `regions/NAME.npz` for each image NAME, its suffix replaced; `features` names another folder. Of those files the
    regions above `confidence` are kept, at least `fewest` and at most `most`.
    """
    arrays = sorted(root.glob("*_ims.npy"))
    if arrays:
        entries = [entry for path in arrays for entry in _array_entries(root, path, captions_per_image, verify, faults)]
    else:
        entries = _file_entries(root, captions, features, faults)

    def check(sources: list[Any]) -> list[str | None]:
        decode = decodes(verify, len(sources))
        if arrays:
            return _not_finite(sources) if decode else [None] * len(sources)
        return each_checked(sources, lambda path: check_npz(path, decode=decode))

    return assemble(
        faults.name,
        entries,
        faults,
        pictures=lambda sources: NoPictures(
            len(sources), why="this set has region features and no pictures", remedy="use its regions"
        ),
        regions=lambda sources: Regions(sources, confidence=confidence, fewest=fewest, most=most),
        check=check,
        proportions=proportions,
        seed=seed,
    )


def _array_entries(
    root: Path, path: Path, captions_per_image: int | None, verify: str | None, faults: Faults
) -> list[Entry]:
    split = path.name.removesuffix("_ims.npy")
    texts = root / f"{split}_caps.txt"
    try:
        array = read_npy(inside(root, path.name))
        lines = _lines(inside(root, texts.name))
        each, step = _shares(path, array, len(lines), captions_per_image)
    except ItmlabError as error:
        faults.add(error.where or path, None, f"{error.what} (so the split {split!r} cannot be read)")
        return []
    return [
        Entry(
            file=str(path),
            row=image * step,
            image_id=f"{split}/{image}",
            source=ArrayRow(path, image * step),
            captions=[
                Caption(lines[line], row=line + 1, file=str(texts)) for line in range(image * each, (image + 1) * each)
            ],
            split=split,
        )
        for image in range(len(array) // step)
    ]


def _shares(path: Path, array: np.ndarray, line_count: int, given: int | None) -> tuple[int, int]:
    """(captions an image, rows an image) of an array of images beside `line_count` captions."""
    row_count = len(array)
    if row_count and line_count == row_count:
        repeats = given or (
            5 if row_count % 5 == 0 and all((array[row] == array[0]).all() for row in range(1, 5)) else 1
        )
        if row_count % repeats == 0:
            return repeats, repeats
    elif row_count and line_count and line_count % row_count == 0 and given in (None, line_count // row_count):
        return line_count // row_count, 1
    raise ItmlabError(f"{row_count} images beside {line_count} captions do not divide evenly", where=str(path))


def _lines(path: Path) -> list[str]:
    try:
        text = path.read_bytes().decode("utf-8", errors="surrogateescape").removeprefix("\ufeff")
    except OSError as error:
        raise ItmlabError(f"cannot be read ({error.strerror})", where=str(path)) from None
    lines = [line.removesuffix("\r") for line in text.split("\n")]
    return lines[:-1] if lines[-1] == "" else lines


def _file_entries(root: Path, captions: str | Path | None, features: str | Path | None, faults: Faults) -> list[Entry]:
    table = Path(captions) if captions is not None else find_table(root)
    folder = Path(features) if features is not None else inside(root, "regions")
    if table is None or not folder.is_dir():
        raise ItmlabError(
            "neither {split}_ims.npy with {split}_caps.txt, nor a table of captions with a folder regions/ of .npz",
            where=str(root),
            remedy="name them with captions= and features=",
        )
    return read_captions(table, faults, lambda name: locate(folder, f"{Path(name).with_suffix('.npz')}"))


def _not_finite(sources: list[ArrayRow]) -> list[str | None]:
    regions = Regions(sources)
    finite = (bool(regions[index].features.isfinite().all()) for index in range(len(regions)))
    return [None if good else "the features are not finite numbers" for good in finite]
