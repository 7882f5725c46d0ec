"""Files: atomic writes (temporary file, fsync, rename), safe reads, and the cache.

What the operating system refuses becomes an `UnusablePath`, one line. Foreign files are not overwritten.
"""

import errno
import json
import logging
import math
import os
import re
import secrets
import shutil
import stat
import tempfile
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import IO, Any, BinaryIO, TypeVar

from .errors import ItmlabError, UnusablePath

# What the system refuses, in one line: the path, the cause and the remedy.

NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)
REMEDIES = {
    **dict.fromkeys(NO_ROOM, "make room on that disk and do the same again, or name another place"),
    **dict.fromkeys((errno.EACCES, errno.EPERM, errno.EROFS), "change its permissions, or name another place"),
    **dict.fromkeys((errno.ENOTDIR, errno.EEXIST), "a file stands where a folder is needed: name another place"),
    errno.EISDIR: "name a file, not a folder",
    errno.ENOENT: "is the path right?",
}


def unusable(error: OSError, path: str | Path | None = None) -> UnusablePath:
    """Return an error of the system as one line.

    >>> print(unusable(OSError(errno.ENOSPC, "No space left on device"), "runs/a"))
    runs/a: No space left on device — make room on that disk and do the same again, or name another place
    """
    if isinstance(error, UnusablePath):
        message, where, remedy = error.what, error.where, error.remedy
    else:
        message = error.strerror or next(iter(str(error).splitlines()), type(error).__name__)
        where = error.filename if path is None else path
        remedy = REMEDIES.get(error.errno)
    refusal = UnusablePath(message, where=None if where is None else str(where), remedy=remedy)
    refusal.errno = error.errno
    return refusal


@contextmanager
def usable(path: str | Path | None = None) -> Iterator[None]:
    """Raise what the system refuses within the block as `unusable` words it."""
    try:
        yield
    except OSError as error:
        raise unusable(error, path) from error


# Files are written completely or not at all. Files that itmlab did not write are not overwritten.

HEADER_BYTES = 16_384  # read from each end of a file to find itmlab's mark


def refuse_foreign(path: str | Path, mark: str, *, force: bool = False) -> bool:
    """Check that writing to `path` overwrites nothing but a file of itmlab's.

    Args:
        path: the file that is to be written.
        mark: text that itmlab writes near the beginning or the end of such files.
        force: also overwrite regular files without the mark.

    Returns:
        Whether a file with the mark exists.

    Raises:
        ItmlabError: a folder, or a regular file without the mark that is not empty.
    """
    path = Path(path)
    with usable(path):
        if not os.path.lexists(path):
            return False
        if path.exists() and not path.is_file():
            raise ItmlabError("not a regular file; left unchanged", where=str(path), remedy="name a file")
        with open(path, "rb") as file:
            content = file.read(HEADER_BYTES)
            file.seek(-min(HEADER_BYTES, path.stat().st_size), os.SEEK_END)
            content += file.read()
    if mark.encode() in content:
        return True
    if force or not content.strip(b"\0"):  # empty, or zeros after a power failure
        return False
    message = f"not written by itmlab ({mark} is not in it); left unchanged"
    raise ItmlabError(message, where=str(path), remedy="name another file, or remove this one (force=True, --force)")


def refuse_foreign_files(folder: str | Path, names: Sequence[str], mark: str) -> None:
    """Check files that are written together: all are itmlab's if the first, written first, has the mark."""
    first, *others = (Path(folder) / name for name in names)
    if not refuse_foreign(first, mark):
        for path in others:
            refuse_foreign(path, mark)


@contextmanager
def atomic_file(path: str | Path) -> Iterator[BinaryIO]:
    """Open a binary file that replaces `path` in one step when the block ends; an error leaves `path` unchanged.

    A new file has the mode that the umask gives; one that is replaced keeps its mode.
    """
    path = Path(path)
    with usable(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        mode = stat.S_IMODE(path.stat().st_mode) if path.exists() else None
        temporary = path.parent / f".{path.name[:200]}.{secrets.token_hex(4)}.tmp"
        try:
            with open(temporary, "xb") as file:  # its mode follows the umask
                if mode is not None:
                    os.chmod(temporary, mode)
                yield file
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, path)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
        sync_directory(path.parent)


def sync_directory(path: Path) -> None:
    """Put a rename inside the directory `path` on the disk (not on Windows, which cannot open directories)."""
    try:
        handle = os.open(path, os.O_RDONLY)
    except OSError:
        return
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


LARGEST_READ = 2**29  # bytes of a file that is read as a whole; COCO's largest JSON has 448 MB


def write_bytes(path: str | Path, content: bytes) -> None:
    """Write `content` to `path` atomically."""
    with atomic_file(path) as file:
        file.write(content)


def write_json(path: str | Path, value: Any) -> None:
    """Write `value` as indented JSON to `path` atomically; NaN and infinities are a ValueError."""
    write_bytes(path, (json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False) + "\n").encode())


def ordinary(path: str | Path, *, remedy: str | None = None) -> Path:
    """Return `path` if it is a regular file; a folder, a pipe, a device or a missing file is an ItmlabError."""
    path = Path(path)
    if not path.is_file():
        raise ItmlabError("not a file" if path.exists() else "no such file", where=str(path), remedy=remedy)
    return path


def read_bytes(
    path: str | Path, *, remedy: str | None = None, opened: Callable[[Path, str], IO[bytes]] = open
) -> bytes:
    """Return the content of a regular file. One that is missing, unreadable or too large is an ItmlabError.

    Args:
        path: the file.
        remedy: what to do if it cannot be read.
        opened: opens the file; `gzip.open` unpacks it.
    """
    with usable(path), opened(ordinary(path, remedy=remedy), "rb") as file:
        too_large = os.path.getsize(path) > LARGEST_READ
        content = b"" if too_large else file.read(LARGEST_READ + 1)
    if too_large or len(content) > LARGEST_READ:
        raise ItmlabError(f"more than {LARGEST_READ:,} bytes", where=str(path), remedy=remedy)
    return content


def read_json(path: str | Path, *, remedy: str | None = None) -> Any:
    """Read JSON from `path`; a missing, unreadable or malformed file is one ItmlabError with file and line."""
    content = read_bytes(path, remedy=remedy)
    try:
        text = content.decode("utf-8-sig")  # with or without byte order mark
        value = json.loads(text, parse_float=_finite, parse_constant=_finite)
        if _ESCAPED_SURROGATE.search(text):
            json.dumps(value, ensure_ascii=False).encode()
        return value
    except (ValueError, RecursionError) as error:  # also half of a surrogate pair, and 4,300 digits or more
        where = f"{path}:{error.lineno}" if isinstance(error, json.JSONDecodeError) else str(path)
        message = f"not valid JSON: {getattr(error, 'msg', str(error).partition(';')[0])}"
        raise ItmlabError(message, where=where, remedy=remedy) from None


_ESCAPED_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")


def _finite(token: str) -> float:
    number = float(token)
    if not math.isfinite(number):
        raise ValueError(f"{token} is not a finite number")
    return number


def inside(root: str | Path, name: str, *, remedy: str = "use a path inside the root") -> Path:
    """Return the path of `name` under `root`; a name that leaves the root (also by a link) is an ItmlabError."""
    root = Path(root).resolve()
    try:
        path = (root / name).resolve()
    except (ValueError, RuntimeError):  # a NUL, half of a surrogate pair, a loop of links
        raise ItmlabError(f"{name!r} is not a file name", where=str(root)) from None
    if not path.is_relative_to(root):
        is_link = Path(os.path.normpath(root / name)).is_relative_to(root)
        message = f"the path {name!r} {'is or contains a link that' if is_link else ''} leaves its root"
        raise ItmlabError(message.replace("  ", " "), where=str(root), remedy=remedy)
    return path


# The cache: generated data, which can be generated again.


def cache_directory() -> Path:
    """Where generated data is stored: ITMLAB_CACHE, else the folder itmlab in the user's cache folder."""
    default = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "itmlab"
    return Path(os.environ.get("ITMLAB_CACHE") or default)


def keep(path: Path, write: Callable[[BinaryIO], Any]) -> bool:
    """Let `write` fill the file `path` of the cache; return False, with one warning, where that is impossible."""
    try:
        with atomic_file(path) as file:
            write(file)
    except OSError as error:
        _warn_not_cached(error)
        return False
    return True


def _warn_not_cached(error: OSError) -> None:
    # The same words from the same line for every file, so that Python shows the warning once.
    cause = unusable(error).what
    warnings.warn(f"{cache_directory()}: nothing is cached here ({cause}); set ITMLAB_CACHE", stacklevel=1)


BUILDING = ".itmlab-building"


def build_once(directory: Path, build: Callable[[Path], None]) -> Path:
    """Build `directory` unless it exists, and return it.

    `build` fills a temporary neighbour, which is renamed when it is complete. Neighbours of killed processes are
    removed. Where the folder cannot be created, it is built in a private temporary folder, with one warning.
    """
    import psutil

    if os.access(directory, os.R_OK | os.X_OK):
        return directory
    try:
        if os.path.lexists(directory):
            raise PermissionError(errno.EACCES, "the folder may not be read", str(directory))
        directory.parent.mkdir(parents=True, exist_ok=True)
        # the random part distinguishes threads, the number says which process builds
        temporary = directory.parent / f".{secrets.token_hex(4)}.{os.getpid()}{BUILDING}"
        temporary.mkdir()
    except OSError as error:
        _warn_not_cached(error)
        return build_once(Path(_private_folder().name) / directory.name, build)
    for leftover in directory.parent.glob(f".*{BUILDING}"):
        process = leftover.name.removesuffix(BUILDING).rpartition(".")[2]
        if not (process.isdigit() and psutil.pid_exists(int(process))):
            shutil.rmtree(leftover, ignore_errors=True)
    try:
        with usable(directory):
            build(temporary)
        try:
            os.replace(temporary, directory)
        except OSError:
            if not directory.exists():  # otherwise another process built the same thing first
                raise
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    sync_directory(directory.parent)
    return directory


@cache
def _private_folder() -> tempfile.TemporaryDirectory:
    return tempfile.TemporaryDirectory(prefix="itmlab-")  # removed when the process ends


# Published checkpoints by name or folder.

Result = TypeVar("Result")


def fetched(name: str, load: Callable[[], Result]) -> Result:
    """Return what `load` returns; whatever stops it (no network, no such name, bad files) is one ItmlabError."""
    from safetensors import SafetensorError

    hub = logging.getLogger("huggingface_hub")
    level = hub.level
    hub.setLevel(logging.ERROR)  # hide its messages about retries
    try:
        return load()
    except ItmlabError:
        raise
    except (OSError, ValueError, KeyError, SafetensorError, ImportError, RuntimeError) as error:
        first = next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)
        remedy = f"run once with a network: hf download {name} — or name a local folder, or train from scratch"
        if Path(name).is_dir():
            remedy = "the folder must hold config.json, the tokeniser's files and model.safetensors"
        raise ItmlabError(f"cannot load the pretrained model: {first[:200]}", where=name, remedy=remedy) from None
    finally:
        hub.setLevel(level)


# Where the shipped weights are, and how many cores there are.


def weights_directory() -> Path:
    """Return the folder of the pretrained weights: the package, or ITMLAB_WEIGHTS while they are trained again."""
    return Path(os.environ.get("ITMLAB_WEIGHTS") or Path(__file__).parent)


def cores() -> int:
    """Return how many processor cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
