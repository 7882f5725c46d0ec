"""The published files of region features, opened without pickle and checked before they are used."""

import zipfile
from pathlib import Path

import numpy as np

from ..errors import ItmlabError
from .faults import one_line

LARGEST_MEMBER = 2**30  # bytes of one array in an .npz: 2**30 is 60,000 regions of 2,048 numbers twice over


def read_npy(path: Path) -> np.ndarray:
    """The `(image, region, feature)` array of an .npy file, memory-mapped; `(image, feature)` counts as one region."""
    try:
        array = np.load(path, mmap_mode="r", allow_pickle=False)
    except FileNotFoundError:
        raise ItmlabError("no such file", where=str(path)) from None
    except Exception as error:  # numpy answers damage with ValueError, OSError, EOFError, SyntaxError, …
        raise ItmlabError(f"not a readable .npy array ({one_line(error, 160)})", where=str(path)) from None
    if not isinstance(array, np.ndarray) or array.ndim not in (2, 3) or array.dtype.kind != "f":
        shape = f"{array.dtype} of shape {array.shape}" if isinstance(array, np.ndarray) else "an archive"
        raise ItmlabError(f"not an array of numbers (image, region, feature) but {shape}", where=str(path))
    return array if array.ndim == 3 else array[:, None, :]


def read_npz(path: Path) -> dict[str, np.ndarray]:
    """`features`, `norm_bb` and (where it has one) `conf` of one image's .npz file, their lengths checked."""
    try:
        with np.load(path, allow_pickle=False) as archive:
            content = {name: archive[name] for name in _members(path)}
    except FileNotFoundError:
        raise ItmlabError("no such file", where=str(path)) from None
    except ItmlabError:
        raise
    except Exception as error:  # as above, and the zip module's
        raise ItmlabError(f"not a readable .npz of arrays ({one_line(error, 160)})", where=str(path)) from None
    lengths = {name: len(array) for name, array in content.items()}
    if any(content[name].ndim != 2 for name in ("features", "norm_bb")) or len(set(lengths.values())) != 1:
        shapes = ", ".join(f"{name} {array.shape}" for name, array in content.items())
        raise ItmlabError(f"arrays that do not belong together: {shapes}", where=str(path))
    if content["norm_bb"].shape[1] not in (4, 6, 7):
        raise ItmlabError(f"boxes of {content['norm_bb'].shape[1]} numbers, not 4, 6 or 7", where=str(path))
    for name, array in content.items():
        if array.dtype.kind != "f" or not np.isfinite(array).all():
            raise ItmlabError(f"{name!r} is not an array of finite numbers", where=str(path))
    return content


def check_npz(path: Path, *, decode: bool) -> None:
    """Raise ItmlabError unless the file has the arrays; with `decode` they are read whole."""
    if decode:
        read_npz(path)
    else:
        _members(path)


def _members(path: Path) -> list[str]:
    try:
        with zipfile.ZipFile(path) as archive:
            sizes = {member.filename: member.file_size for member in archive.infolist()}
    except FileNotFoundError:
        raise ItmlabError("no such file", where=str(path)) from None
    except (OSError, zipfile.BadZipFile, NotImplementedError) as error:
        raise ItmlabError(f"not a readable .npz ({one_line(error, 160)})", where=str(path)) from None
    for name in ("features", "norm_bb"):
        if f"{name}.npy" not in sizes:
            raise ItmlabError(f"there is no {name!r} in it", where=str(path))
    members = [name for name in ("features", "norm_bb", "conf") if f"{name}.npy" in sizes]
    if any(sizes[f"{name}.npy"] > LARGEST_MEMBER for name in members):
        raise ItmlabError(f"an array of more than {LARGEST_MEMBER} bytes", where=str(path))
    return members
