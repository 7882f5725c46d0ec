"""Features of image regions, in the two published layouts; read from the disk when asked for, never by pickle.

SCAN's (Lee et al., 2018) are arrays `{split}_ims.npy` of shape (image, region, feature) beside `{split}_caps.txt`.
UNITER's (Chen et al., 2020) are one .npz file an image, with boxes of 4 to 7 numbers and confidences (METHODS 5).
Object tags, which OSCAR (Li et al., 2020) reads, come with these files or from a table like VinVL's.
"""

import json
import zipfile
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from ..errors import ItmlabError
from ..storage import inside, ordinary
from .captionset import CaptionSet
from .entries import Caption, Entry, assemble, find_table, locate, read_text
from .faults import Faults, one_line
from .folder import read_captions
from .pictures import NoPictures, decodes, each_checked

VOCABULARY = "objects_vocab.txt"
OBJECTS = {"objects": "US", "objects_id": "iuf"}  # arrays that name objects, with their kinds of values
SLACK = 0.05  # a box may reach so far over the edge, as shares of the image
LARGEST = 2**28  # bytes of all arrays in an .npz: 30,000 regions of 2,048 numbers


class RegionFeatures(NamedTuple):
    """The regions of one image; boxes are x1, y1, x2, y2, width, height and area as shares of the image.

    `tags` name the objects seen, in the order of the regions; None where nobody says.
    """

    features: Float[Tensor, "region feature"]
    boxes: Float[Tensor, "region 7"] | None
    confidence: Float[Tensor, "region"] | None
    tags: tuple[str, ...] | None = None


class ArrayRow(NamedTuple):
    """One image's regions in a shared `(image, region, feature)` array on the disk."""

    file: Path
    row: int


def load_regions(
    root: Path,
    faults: Faults,
    *,
    captions: str | Path | None = None,
    features: str | Path | None = None,
    tags: str | Path | None = None,
    captions_per_image: int | None = None,
    confidence: float = 0.2,
    fewest: int = 10,
    most: int = 100,
    verify: str | None = None,
    proportions: Sequence[float] = (0.8, 0.1, 0.1),
    seed: int = 0,
) -> CaptionSet:
    """Region features in either published layout; the set has `regions` and no pictures.

    With `{split}_ims.npy` in `root`, lines of `{split}_caps.txt` belong to the images in order, as many each as the
    counts say (five in the published files; where an array repeats each image once a caption, `captions_per_image`
    says how often, 5 if the rows repeat so). Otherwise `root` has a table of captions (as load("folder")) and
    `regions/NAME.npz` for each image NAME, its suffix replaced; `features` names another folder. Of those files the
    regions above `confidence` are kept, at least `fewest` and at most `most`. Their tags are the `objects` of these
    files, names or, as `objects_id`, lines of `objects_vocab.txt` in their folder or in `root` (Anderson et al., 2018);
    or those of the file `tags`, see `read_tags`. A file without a region, or with boxes in pixels, is a fault of its
    row; numbers that are not finite are one where a set is checked to the last value (`verify`).
    """
    if min(fewest, most) < 1:
        raise ItmlabError(f"fewest={fewest} and most={most} regions", remedy="an image has at least one region")
    arrays = sorted(root.glob("*_ims.npy"))
    if arrays and tags is not None:
        raise ItmlabError(f"a table of tags beside {arrays[0].name}, whose images have no names", where=str(tags))
    labels = None if tags is None else read_tags(Path(tags))
    folder = root / "regions" if features is None else Path(features)
    vocabulary = next((path for path in (folder / VOCABULARY, root / VOCABULARY) if path.is_file()), None)
    names = () if vocabulary is None else read_vocabulary(vocabulary)
    if arrays:
        entries = [entry for path in arrays for entry in _array_entries(root, path, captions_per_image, faults)]
    else:
        entries = _file_entries(root, captions, features, faults)

    def check(sources: list[Any]) -> list[str | None]:
        decode = decodes(verify, len(sources))
        if not arrays:
            numbered = len(names) if labels is None else 0
            return each_checked(sources, partial(read_npz, **({"named": numbered} if decode else {"only": "norm_bb"})))
        if not decode:
            return [None] * len(sources)
        finite = (bool(found.features.isfinite().all()) for found in Regions(sources))
        return [None if good else "the features are not finite numbers" for good in finite]

    why, remedy = "this set has region features and no pictures", "use its regions"
    return assemble(
        entries,
        faults,
        pictures=lambda sources: NoPictures(len(sources), why=why, remedy=remedy),
        regions=lambda sources: Regions(
            sources, confidence=confidence, fewest=fewest, most=most, vocabulary=names, labels=labels
        ),
        check=check,
        proportions=proportions,
        seed=seed,
    )


def _array_entries(root: Path, path: Path, captions_per_image: int | None, faults: Faults) -> list[Entry]:
    split = path.name.removesuffix("_ims.npy")
    texts = root / f"{split}_caps.txt"
    try:
        array = read_npy(whole := inside(root, path.name))
        lines = [line.removesuffix("\r") for line in read_text(inside(root, texts.name)).split("\n")]
        lines = lines[:-1] if lines[-1] == "" else lines
        each, step = _shares(path, array, len(lines), captions_per_image)
    except ItmlabError as error:
        faults.add(error.where or path, None, f"{error.what} (so the split {split!r} cannot be read)")
        return []
    entries = []
    for image in range(len(array) // step):
        own = [Caption(lines[at], row=at + 1, file=str(texts)) for at in range(image * each, (image + 1) * each)]
        row = image * step
        entries.append(Entry(str(path), row, f"{split}/{image}", ArrayRow(whole, row), captions=own, split=split))
    return entries


def _shares(path: Path, array: np.ndarray, line_count: int, given: int | None) -> tuple[int, int]:
    """(captions an image, rows an image) of an array of images beside `line_count` captions."""
    row_count = len(array)
    if row_count and line_count == row_count:
        by_five = row_count % 5 == 0 and all((array[row] == array[0]).all() for row in range(1, 5))
        repeats = given or (5 if by_five else 1)
        if row_count % repeats == 0:
            return repeats, repeats
    elif row_count and line_count and line_count % row_count == 0 and given in (None, line_count // row_count):
        return line_count // row_count, 1
    raise ItmlabError(f"{row_count} images beside {line_count} captions do not divide evenly", where=str(path))


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


class Regions(Sequence[RegionFeatures]):
    """The regions of each image: rows of memory-mapped .npy arrays, or one .npz file an image.

    Of a file with confidences the regions above `confidence` are kept, most confident first, at least `fewest` and at
    most `most` (UNITER's 0.2, 10 and 100). `vocabulary` names objects by number; `labels` are tags by a file's name,
    in place of its own. A file that cannot be read is an ItmlabError.
    """

    def __init__(
        self,
        sources: Sequence[ArrayRow | Path],
        *,
        confidence: float = 0.2,
        fewest: int = 10,
        most: int = 100,
        vocabulary: Sequence[str] = (),
        labels: Mapping[str, tuple[str, ...]] | None = None,
    ):
        self._sources, self._limits = list(sources), {"confidence": confidence, "fewest": fewest, "most": most}
        self._names = {"vocabulary": vocabulary, "labels": labels}
        self._arrays: dict[Path, np.ndarray] = {}

    def __len__(self) -> int:
        return len(self._sources)

    def __getitem__(self, index: int) -> RegionFeatures:
        source = self._sources[index]
        if isinstance(source, ArrayRow):
            if source.file not in self._arrays:
                self._arrays[source.file] = read_npy(source.file)
            return RegionFeatures(_tensor(self._arrays[source.file][source.row]), None, None)
        vocabulary, labels = self._names.values()
        content = read_npz(source, named=len(vocabulary) if labels is None else 0)
        features, boxes, confidence = content["features"], with_area(content["norm_bb"]), content.get("conf")
        names = self._tags(source, content)
        if confidence is None:
            return RegionFeatures(_tensor(features), _tensor(boxes), None, names)
        least, fewest, most = self._limits.values()
        confidence = confidence.max(axis=1) if confidence.ndim == 2 else confidence
        count = min(max(fewest, int((confidence > least).sum())), most)
        kept = np.argsort(-confidence, kind="stable")[:count]
        if names is not None and self._names["labels"] is None:
            names = tuple(names[at] for at in kept)
        return RegionFeatures(_tensor(features[kept]), _tensor(boxes[kept]), _tensor(confidence[kept]), names)

    def _tags(self, source: Path, content: dict[str, np.ndarray]) -> tuple[str, ...] | None:
        """What the objects of a file are called: by the table, by themselves, or by their numbers."""
        vocabulary, labels = self._names.values()
        if labels is not None:
            return labels.get(source.stem)
        if "objects" in content:
            return tuple(content["objects"].astype(str).tolist())
        if "objects_id" not in content or not len(vocabulary):
            return None
        return tuple(vocabulary[number] for number in content["objects_id"].astype(int).tolist())

    def select(self, indices: Sequence[int]) -> "Regions":
        """The regions of these images in this order, still on the disk."""
        return Regions([self._sources[int(i)] for i in indices], **self._limits, **self._names)


def read_vocabulary(path: Path) -> list[str]:
    """The names of bottom-up attention's objects, one a line, of several for one the first."""
    return [line.split(",")[0].strip().lower() for line in read_text(path).splitlines()]


def read_tags(path: Path) -> dict[str, tuple[str, ...]]:
    """Tags by image from a table like VinVL's: a name, a tab, and JSON objects with a "class" (or a list "objects")."""
    found = {}
    for number, line in enumerate(read_text(path).splitlines(), 1):
        name, _, value = line.partition("\t")
        try:
            objects = json.loads(value)
            objects = objects["objects"] if isinstance(objects, dict) else objects
            found[Path(name).stem] = tuple(str(one["class"]) for one in objects)
        except (ValueError, TypeError, KeyError, RecursionError):
            raise ItmlabError("no name, tab and JSON objects with a class", where=f"{path}:{number}") from None
    return found


def with_area(boxes: Float[np.ndarray, "region coordinate"]) -> Float[np.ndarray, "region 7"]:
    """Boxes of 4 (corners), 6 (and width, height) or 7 numbers as the 7 that UNITER uses (and area).

    >>> with_area(np.array([[0.0, 0.5, 0.5, 1.0]])).tolist()
    [[0.0, 0.5, 0.5, 1.0, 0.5, 0.5, 0.25]]
    """
    boxes = boxes.astype(np.float32)
    if boxes.shape[1] == 4:
        boxes = np.concatenate([boxes, boxes[:, 2:] - boxes[:, :2]], axis=1)
    return boxes if boxes.shape[1] == 7 else np.concatenate([boxes, boxes[:, 4:5] * boxes[:, 5:6]], axis=1)


def _tensor(values: np.ndarray) -> Tensor:
    return torch.from_numpy(np.array(values, dtype=np.float32))


def read_npy(path: Path) -> np.ndarray:
    """The `(image, region, feature)` array of an .npy file, memory-mapped; `(image, feature)` counts as one region."""
    try:
        array = np.load(ordinary(path), mmap_mode="r", allow_pickle=False)
    except ItmlabError:
        raise
    except Exception as error:  # numpy answers damage with ValueError, OSError, EOFError, SyntaxError, …
        raise ItmlabError(f"not a readable .npy array ({_damage(error)})", where=str(path)) from None
    if not isinstance(array, np.ndarray) or array.ndim not in (2, 3) or array.dtype.kind != "f":
        shape = f"{array.dtype} of shape {array.shape}" if isinstance(array, np.ndarray) else "an archive"
        raise ItmlabError(f"not an array of numbers (image, region, feature) but {shape}", where=str(path))
    array = array if array.ndim == 3 else array[:, None, :]
    if not array.shape[1]:
        raise ItmlabError("its images have no region", where=str(path))
    return array


def read_npz(path: Path, *, only: str | None = None, named: int = 0) -> dict[str, np.ndarray]:
    """`features`, `norm_bb` and (where there are) `conf`, `objects`, `objects_id` of one image's .npz, all checked.

    Objects are names or numbers, of which as many are `named` (0: none need be). `only` reads and checks a single one.
    """
    members = [name for name in _members(path) if only in (None, name)]
    try:
        with np.load(path, allow_pickle=False) as archive:
            content = {name: np.asarray(archive[name]) for name in members}  # of what is no array numpy gives bytes
    except Exception as error:  # as above, and the zip module's
        raise ItmlabError(f"not a readable .npz of arrays ({_damage(error)})", where=str(path)) from None
    lengths = {len(array) if array.ndim else None for array in content.values()}
    dimensions = {"features": (2,), "norm_bb": (2,), "conf": (1, 2)}
    flat = any(
        array.ndim not in dimensions.get(name, (1, 2)) or 0 in array.shape[1:] for name, array in content.items()
    )
    if flat or None in lengths or len(lengths) != 1:
        shapes = ", ".join(f"{name} {array.shape}" for name, array in content.items())
        raise ItmlabError(f"arrays that do not belong together: {shapes}", where=str(path))
    if lengths == {0}:
        raise ItmlabError("no region in it", where=str(path))
    if content["norm_bb"].shape[1] not in (4, 6, 7):
        raise ItmlabError(f"boxes of {content['norm_bb'].shape[1]} numbers, not 4, 6 or 7", where=str(path))
    for name, array in content.items():
        if name in OBJECTS:
            if array.ndim != 1 or array.dtype.kind not in OBJECTS[name]:
                raise ItmlabError(f"{name!r} is not one name or number a region", where=str(path))
        elif array.dtype.kind != "f" or not np.isfinite(array).all():
            raise ItmlabError(f"{name!r} is not an array of finite numbers", where=str(path))
    least, most = content["norm_bb"].min(), content["norm_bb"].max()
    if least < -SLACK or most > 1 + SLACK:
        raise ItmlabError(f"boxes from {least:g} to {most:g}, not shares of the image: in pixels?", where=str(path))
    if named and "objects" not in content and "objects_id" in content:
        numbers = content["objects_id"].astype(int)
        if not 0 <= numbers.min() <= numbers.max() < named:
            raise ItmlabError(f"objects outside 0…{named - 1}, the lines of {VOCABULARY}", where=str(path))
    return content


def _members(path: Path) -> list[str]:
    """The arrays to read, by the archive's list alone: a file is refused by its size before it is unpacked."""
    try:
        with zipfile.ZipFile(ordinary(path)) as archive:
            listed = [(member.filename, member.file_size) for member in archive.infolist()]
    except ItmlabError:
        raise
    except Exception as error:
        raise ItmlabError(f"not a readable .npz ({_damage(error)})", where=str(path)) from None
    sizes = dict(listed)
    if len(sizes) != len(listed):
        raise ItmlabError("two arrays of one name in it", where=str(path))
    members = [name for name in ("features", "norm_bb", "conf", *OBJECTS) if f"{name}.npy" in sizes]
    for name in ("features", "norm_bb"):
        if name not in members:
            raise ItmlabError(f"there is no {name!r} in it", where=str(path))
    if sum(sizes[f"{name}.npy"] for name in members) > LARGEST:
        raise ItmlabError(f"its arrays have more than {LARGEST} bytes", where=str(path))
    return members


def _damage(error: Exception) -> str:
    """Why numpy cannot read a file; never its advice to allow pickles."""
    return "it may hold Python objects" if "pickle" in str(error) else one_line(error, 160)
