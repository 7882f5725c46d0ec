"""Features of image regions in the two published layouts, read from disk when used and never by pickle.

SCAN's (Lee et al., 2018) are arrays `{split}_ims.npy` of shape (image, region, feature). UNITER's (Chen et al., 2020)
are one .npz file per image, with boxes of 4 to 7 numbers and confidences (METHODS 5). Object tags, which OSCAR (Li et
al., 2020) reads, come with these files.
"""

import zipfile
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from ..errors import ItmlabError
from ..storage import ordinary
from .faults import one_line
from .identity import digest_of, file_digest, file_version

SLACK = 0.05  # how far a box may reach over the edge, as a share of the image
LARGEST = 2**28  # bytes of all arrays in an .npz: 30,000 regions of 2,048 numbers
# The arrays that are read from an .npz: numbers of dimensions, kinds of dtypes.
ARRAYS = {"features": ((2,), "f"), "norm_bb": ((2,), "f"), "conf": ((1, 2), "f"), "objects": ((1,), "US")}
CONFIDENCE, FEWEST, MOST = 0.2, 10, 100  # which regions of a detector are kept


class RegionFeatures(NamedTuple):
    """The regions of one image.

    Attributes:
        features: one vector per region.
        boxes: x1, y1, x2, y2, width, height and area as shares of the image.
        confidence: of the detector, per region.
        tags: the names of the detected objects, in the order of the regions, or None if they are unknown.
    """

    features: Float[Tensor, "region feature"]
    boxes: Float[Tensor, "region 7"] | None
    confidence: Float[Tensor, "region"] | None
    tags: tuple[str, ...] | None = None


class ArrayRow(NamedTuple):
    """One image's regions in an array of shape (image, region, feature) on disk."""

    file: Path
    row: int


class Regions(Sequence[RegionFeatures]):
    """The regions of each image: rows of memory-mapped .npy arrays, or one .npz file per image.

    Of a file with confidences, the regions above `CONFIDENCE` are kept, most confident first, but at least `FEWEST` and
    at most `MOST`, as in UNITER.

    Args:
        sources: for each image where its regions are.

    Raises:
        ItmlabError: on indexing, if the file is damaged or holds pickles, wrong shapes, or numbers that are not finite.
    """

    def __init__(self, sources: Sequence[ArrayRow | Path]):
        self._sources = list(sources)
        self._arrays: dict[Path, np.ndarray] = {}

    def __len__(self) -> int:
        return len(self._sources)

    def __getitem__(self, index: int) -> RegionFeatures:
        source = self._sources[index]
        if isinstance(source, ArrayRow):
            if source.file not in self._arrays:
                self._arrays[source.file] = read_npy(source.file)
            features = _tensor(self._arrays[source.file][source.row])
            if not features.isfinite().all():
                raise ItmlabError("the features are not finite numbers", where=f"{source.file}:{source.row}")
            return RegionFeatures(features, None, None)
        arrays = read_npz(source)
        chosen, confidence = np.arange(len(arrays["features"])), None
        if "conf" in arrays:
            confidence = arrays["conf"].max(axis=1) if arrays["conf"].ndim == 2 else arrays["conf"]
            count = min(max(FEWEST, int((confidence > CONFIDENCE).sum())), MOST)
            chosen = np.argsort(-confidence, kind="stable")[:count]
            confidence = _tensor(confidence[chosen])
        boxes = _tensor(with_area(arrays["norm_bb"])[chosen])
        tags = tuple(arrays["objects"][chosen].astype(str).tolist()) if "objects" in arrays else None
        return RegionFeatures(_tensor(arrays["features"][chosen]), boxes, confidence, tags)

    def digests(self) -> list[bytes]:
        """Return a digest of each image's features: of its .npz file, or of its row of an array."""
        arrays = {source.file for source in self._sources if isinstance(source, ArrayRow)}
        rows = {file: _row_digests(file, file_version(file)) for file in arrays}
        return [
            rows[source.file][source.row] if isinstance(source, ArrayRow) else file_digest(source)
            for source in self._sources
        ]

    def select(self, indices: Sequence[int]) -> "Regions":
        """Return the regions of these images in this order, still on disk."""
        return Regions([self._sources[int(i)] for i in indices])


@lru_cache(maxsize=64)
def _row_digests(path: Path, version: tuple[int, ...]) -> list[bytes]:
    return [digest_of(row) for row in read_npy(path)]


def with_area(boxes: Float[np.ndarray, "region coordinate"]) -> Float[np.ndarray, "region 7"]:
    """Extend boxes of 4 (corners), 6 (and width, height) or 7 numbers to the 7 that UNITER uses (and area).

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
    """Return the (image, region, feature) array of an .npy file, memory-mapped; (image, feature) has one region."""
    try:
        array = np.load(ordinary(path), mmap_mode="r", allow_pickle=False)
    except ItmlabError:
        raise
    except Exception as error:  # numpy raises many types for damaged files
        raise ItmlabError(f"not a readable .npy array ({_damage(error)})", where=str(path)) from None
    if not isinstance(array, np.ndarray) or array.ndim not in (2, 3) or array.dtype.kind != "f":
        raise ItmlabError("not an array of numbers (image, region, feature)", where=str(path))
    array = array if array.ndim == 3 else array[:, None, :]
    if not array.shape[1]:
        raise ItmlabError("its images have no region", where=str(path))
    return array


def read_npz(path: Path) -> dict[str, np.ndarray]:
    """Return those of `ARRAYS` that one image's .npz holds, all checked.

    Raises:
        ItmlabError: a damaged file, pickles, missing arrays, wrong shapes or values, or more than `LARGEST` bytes.
    """
    try:
        with zipfile.ZipFile(ordinary(path)) as archive:  # sizes are checked before anything is unpacked
            members = [(member.filename.removesuffix(".npy"), member.file_size) for member in archive.infolist()]
        sizes = [(name, size) for name, size in members if name in ARRAYS]
        for name in ("features", "norm_bb"):
            if name not in dict(sizes):
                raise ItmlabError(f"there is no {name!r} in it", where=str(path))
        if sum(size for _, size in sizes) > LARGEST:
            raise ItmlabError(f"its arrays have more than {LARGEST} bytes", where=str(path))
        with np.load(path, allow_pickle=False) as archive:
            arrays = {name: np.asarray(archive[name]) for name, _ in sizes}
    except ItmlabError:
        raise
    except Exception as error:  # numpy and zipfile raise many types for damaged files
        raise ItmlabError(f"not a readable .npz of arrays ({_damage(error)})", where=str(path)) from None
    counts = {array.shape[:1] for array in arrays.values()}
    for name, array in arrays.items():
        dimensions, kinds = ARRAYS[name]
        if len(counts) > 1 or array.ndim not in dimensions or 0 in array.shape:
            shapes = ", ".join(f"{name} {array.shape}" for name, array in arrays.items())
            raise ItmlabError(f"arrays that do not belong together: {shapes}", where=str(path))
        if array.dtype.kind not in kinds or (kinds == "f" and not np.isfinite(array).all()):
            wanted = "finite numbers" if kinds == "f" else "names, one per region"
            raise ItmlabError(f"{name!r} is not an array of {wanted}", where=str(path))
    boxes = arrays["norm_bb"]
    if boxes.shape[1] not in (4, 6, 7):
        raise ItmlabError(f"boxes of {boxes.shape[1]} numbers, not 4, 6 or 7", where=str(path))
    if boxes.min() < -SLACK or boxes.max() > 1 + SLACK:
        message = f"boxes from {boxes.min():g} to {boxes.max():g}, not shares of the image: in pixels?"
        raise ItmlabError(message, where=str(path))
    return arrays


def _damage(error: Exception) -> str:
    """Return why numpy cannot read a file, without its advice to allow pickles."""
    return "it may hold Python objects" if "pickle" in str(error) else one_line(error, 160)
