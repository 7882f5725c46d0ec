"""What lies on the disk: files that are wholly written or not there (temporary file, fsync, rename), and where.

What the system refuses is an `UnusablePath`, one line; what itmlab did not write it does not overwrite.
"""

import errno
import hashlib
import json
import logging
import math
import os
import re
import shutil
import tempfile
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from importlib.metadata import PackageNotFoundError, files
from pathlib import Path
from typing import Any, BinaryIO, Literal, TypeVar

from .errors import ItmlabError, UnusablePath

# What the system refuses, in one line: the path, the cause and the remedy.

NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)  # what may strike when much is written already
REMEDIES = {
    **dict.fromkeys(NO_ROOM, "make room on that disk and do the same again, or name another place"),
    **dict.fromkeys((errno.EACCES, errno.EPERM, errno.EROFS), "change its permissions, or name another place"),
    **dict.fromkeys((errno.ENOTDIR, errno.EEXIST), "a file stands where a folder is needed: name another place"),
    errno.EISDIR: "name a file, not a folder",
    errno.ENOENT: "is the path right?",
}


def unusable(error: OSError, path: str | Path | None = None, kept: str | Path | None = None) -> UnusablePath:
    """One line for what the system refused at `path`; where room ran out, it names what is `kept`.

    >>> print(unusable(OSError(errno.ENOSPC, "No space left on device"), "runs/a", kept=Path(".")))
    runs/a: No space left on device — make room on that disk and do the same again, or name another place; ...
    """
    if isinstance(error, UnusablePath):
        what, where, remedy = error.what, error.where, error.remedy
    else:
        what = error.strerror or next(iter(str(error).splitlines()), type(error).__name__)
        where = error.filename if path is None else path
        remedy = REMEDIES.get(error.errno)
    if kept is not None and error.errno in NO_ROOM and os.path.exists(kept) and os.path.getsize(kept):
        remedy = f"{remedy}; what is finished is kept in {kept}"
    line = UnusablePath(what, where=None if where is None else str(where), remedy=remedy)
    line.errno = error.errno
    return line


@contextmanager
def usable(path: str | Path | None = None, *, kept: str | Path | None = None) -> Iterator[None]:
    """Make one line, as `unusable`, of what the system refuses within the block."""
    try:
        yield
    except OSError as error:
        raise unusable(error, path, kept) from error


# Files, whole or not there; those of others are let be.

ENDS = 16_384  # bytes at the two ends of a file, in one of which every format has its header or metadata


def refuse_foreign(path: str | Path, mark: str, *, force: bool = False) -> bool:
    """Whether a file of itmlab's lies at `path`: one that bears `mark`, a name which itmlab writes in its header.

    Another file is an ItmlabError unless `force` lets it go; what is no file (a folder, a device) always is.
    """
    path = Path(path)
    with usable(path):
        if not os.path.lexists(path):
            return False
        if path.exists() and not path.is_file():
            raise ItmlabError("it is no file, and stays as it is", where=str(path), remedy="name a file")
        with open(path, "rb") as file:
            ends, size = file.read(ENDS), os.fstat(file.fileno()).st_size
            file.seek(max(len(ends), size - ENDS))
            ends += file.read(ENDS)
    if mark.encode() in ends:
        return True
    if force or (size <= ENDS and not ends.strip(b"\0")):  # empty, or as a power cut leaves it
        return False
    what = f"itmlab did not write this file ({mark} is not in it), so it stays as it is"
    raise ItmlabError(what, where=str(path), remedy="name another file, or remove this one (force=True, --force)")


def refuse_foreign_files(folder: str | Path, names: Sequence[str], mark: str, *, force: bool = False) -> None:
    """The same of files that belong together, all itmlab's where the first, which is written first, bears `mark`."""
    first, *others = (Path(folder) / name for name in names)
    if not refuse_foreign(first, mark, force=force):
        for path in others:
            refuse_foreign(path, mark, force=force)


@contextmanager
def atomic_file(path: str | Path) -> Iterator[BinaryIO]:
    """A binary file that takes the place of `path` in one step once it is on the disk, or leaves `path` as it was.

    What the system refuses is an UnusablePath.
    """
    path = Path(path)
    with usable(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".tmp")
        try:
            with os.fdopen(handle, "wb") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            os.chmod(temporary, 0o644)
            os.replace(temporary, path)
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise
        sync_directory(path.parent)


def sync_directory(path: Path) -> None:
    """Put a rename inside `path` on the disk (a system that cannot open directories goes without)."""
    try:
        handle = os.open(path, os.O_RDONLY)
    except OSError:
        return
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def write_bytes(path: str | Path, content: bytes) -> None:
    """Write `content` to `path` atomically."""
    with atomic_file(path) as file:
        file.write(content)


def write_json(path: str | Path, value: Any) -> None:
    """Write `value` as indented JSON to `path` atomically; NaN and infinities are a ValueError."""
    write_bytes(path, (json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False) + "\n").encode())


def ordinary(path: str | Path, *, remedy: str | None = None) -> Path:
    """`path` if it is a file; none, a folder, or a pipe or device that may never end is an ItmlabError."""
    path = Path(path)
    if not path.is_file():
        raise ItmlabError("not a file" if path.exists() else "no such file", where=str(path), remedy=remedy)
    return path


def read_json(path: str | Path, *, remedy: str | None = None) -> Any:
    """Read JSON from `path`; a missing, unreadable or malformed file is one ItmlabError with file and line."""
    try:  # with or without a byte order mark
        text = ordinary(path, remedy=remedy).read_bytes().decode("utf-8-sig")
        strange: list[float] = []  # NaN, Infinity and 1e999: nobody could write them again

        def number(said: str) -> float:
            value = float(said)
            if not math.isfinite(value):
                strange.append(value)
            return value

        found = json.loads(text, parse_float=number, parse_constant=number)
        if strange:
            raise ValueError(f"{next(_not_finite(found), '') or 'it'} is {strange[0]}, wanted a finite number")
        if _ESCAPED.search(text) and _HALF.search(json.dumps(found, ensure_ascii=False)):
            raise ValueError("half of a pair of surrogates, which no file can hold")
        return found
    except ItmlabError:
        raise
    except json.JSONDecodeError as error:
        what, where = f"not JSON: {error.msg}", f"{path}:{error.lineno}"
    except UnicodeDecodeError as error:
        what, where = f"not UTF-8 at byte {error.start}", str(path)
    except RecursionError:
        what, where = "not JSON of ours: brackets within brackets without end", str(path)
    except ValueError as error:  # Python reads no number of more than 4,300 digits
        what, where = f"not JSON of ours: {str(error).partition(';')[0]}", str(path)
    except OSError as error:
        raise unusable(error, path) from None
    raise ItmlabError(what, where=where, remedy=remedy)


_ESCAPED, _HALF = re.compile(r"\\u[dD][89a-fA-F]"), re.compile("[\ud800-\udfff]")


def _not_finite(value: Any, path: str = "") -> Iterator[str]:
    """Where in it stand numbers that are NaN or infinite: "optimiser.learning_rate"."""
    if isinstance(value, float) and not math.isfinite(value):
        yield path
    for name, inner in (
        value.items() if isinstance(value, dict) else enumerate(value if isinstance(value, list) else ())
    ):
        yield from _not_finite(inner, f"{path}.{name}".lstrip("."))


# A file that says its own SHA-256, in safetensors' metadata or a field of JSON: that of it with zeros in that place.

NO_SEAL = "0" * 64
_SEAL = re.compile(rb'"sha256": ?"([^"]*)"')  # also one that is damaged itself
_SEALED_WITHIN = 65536  # bytes from the beginning in which the seal stands


def write_sealed(path: str | Path, content: bytes) -> str:
    """Write `content`, whose field "sha256" is `NO_SEAL`, to `path` atomically with its SHA-256 there, its seal."""
    place, seal = content.index(NO_SEAL.encode()), hashlib.sha256(content).hexdigest().encode()
    with atomic_file(path) as file:
        for part in (content[:place], seal, memoryview(content)[place + len(seal) :]):
            file.write(part)
    return seal.decode()


def read_sealed(path: str | Path, *, seal: str | None = None, remedy: str | None = None) -> bytes:
    """The content of a file; an ItmlabError if it is not what was sealed, with this `seal` if it is known.

    Where none is known, what bears none passes.
    """
    content = ordinary(path, remedy=remedy).read_bytes()
    found = _SEAL.search(content, 0, _SEALED_WITHIN)
    good = seal is None
    if found:
        digest = hashlib.sha256(content[: found.start(1)] + NO_SEAL.encode())
        digest.update(memoryview(content)[found.end(1) :])
        good = digest.hexdigest().encode() == found[1] and seal in (None, digest.hexdigest())
    if not good:
        raise ItmlabError("damaged: its content is not what was written (SHA-256)", where=str(path), remedy=remedy)
    return content


def inside(root: str | Path, name: str) -> Path:
    """The path of `name` under `root`; a name that leads out of the root (also by a link) is an ItmlabError."""
    root = Path(root).resolve()
    try:
        path = (root / name).resolve()
    except (ValueError, RuntimeError):  # a NUL, half of a surrogate pair, a loop of links
        raise ItmlabError(f"{name!r} is no file's name", where=str(root)) from None
    if not path.is_relative_to(root):
        raise ItmlabError(f"the path {name!r} leaves its root", where=str(root), remedy="use a path inside the root")
    return path


# The cache: what can be made again, and is done without where it cannot be written.


def cache_directory() -> Path:
    """Where generated data is kept: ITMLAB_CACHE, else itmlab under the user's cache folder."""
    default = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "itmlab"
    return Path(os.environ.get("ITMLAB_CACHE") or default)


def keep(path: Path, write: Callable[[BinaryIO], Any]) -> bool:
    """Whether `write` could fill the file `path` of the cache; where it could not, one warning says so."""
    try:
        with atomic_file(path) as file:
            write(file)
    except OSError as error:
        _not_kept(error)
        return False
    return True


def _not_kept(error: OSError) -> None:
    # The same words from the same line, whatever the file: Python shows such a warning once.
    cause = unusable(error).what
    warnings.warn(
        f"{cache_directory()}: nothing is kept here ({cause}); ITMLAB_CACHE names another place", stacklevel=1
    )


def build_once(directory: Path, build: Callable[[Path], None]) -> Path:
    """`directory`, built by `build` into a temporary neighbour and renamed, so that it is whole whenever it exists.

    Neighbours that killed builds have left are removed. Where no folder can be made, it is built for this process alone
    and one warning says so.
    """
    if directory.exists():
        return directory
    try:
        directory.parent.mkdir(parents=True, exist_ok=True)
        begun = Path(tempfile.mkdtemp(dir=directory.parent))
    except OSError as error:
        _not_kept(error)
        return build_once(Path(_own_folder().name) / directory.name, build)
    with _held(begun):
        # Under this name only once it is held: what bears it and is not held was left by a dead process.
        temporary = begun.rename(directory.parent / f".{begun.name}{BUILDING}")
        try:
            for left in directory.parent.glob(f".*{BUILDING}"):
                with _held(left) as unheld:
                    if unheld:
                        shutil.rmtree(left, ignore_errors=True)
            work = temporary / "work"
            work.mkdir()
            with usable(directory):
                build(work)
            try:
                os.replace(work, directory)
            except OSError:
                if not directory.exists():  # else another process built the same thing first
                    raise
        finally:
            shutil.rmtree(temporary, ignore_errors=True)
    sync_directory(directory.parent)
    return directory


BUILDING = ".itmlab-building"


@contextmanager
def _held(folder: Path) -> Iterator[bool]:
    """Hold a folder until the block or the process ends; False where another holds it, or nobody can (Windows)."""
    handle = None
    try:
        import fcntl

        handle = os.open(folder, os.O_RDONLY)
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        held = True
    except (ImportError, OSError):
        held = False
    try:
        yield held
    finally:
        if handle is not None:
            os.close(handle)


@cache
def _own_folder() -> tempfile.TemporaryDirectory:
    return tempfile.TemporaryDirectory(prefix="itmlab-")  # removed as the process ends


# Published checkpoints by name or folder.

Result = TypeVar("Result")


def fetched(name: str, load: Callable[[], Result]) -> Result:
    """What `load` gives; whatever stops it (no network, no such name, no safetensors) becomes one ItmlabError."""
    from safetensors import SafetensorError

    hub = logging.getLogger("huggingface_hub")
    level = hub.level
    hub.setLevel(logging.ERROR)  # its retries are not the reader's business
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


# Where the notebooks and figures of a checkout are, which profile a notebook runs in, how many cores there are.

Profile = Literal["quick", "full"]


def project_directory() -> Path | None:
    """The checkout that this package was installed from (editable), or None for an installed copy."""
    root = Path(__file__).resolve().parent.parent
    return root if (root / "pyproject.toml").is_file() else None


@cache
def shipped_directory() -> Path | None:
    """What holds `notebooks`, `figures` and the project's pages: the checkout, or where a wheel put its copy."""
    try:
        ours = () if (root := project_directory()) else files("itmlab") or ()
    except PackageNotFoundError:
        ours = ()
    return root or next((Path(str(one.locate())).parents[1].resolve() for one in ours if one.suffix == ".ipynb"), None)


def weights_directory() -> Path:
    """What holds the weights that ship: the package, or ITMLAB_WEIGHTS while they are learnt anew."""
    return Path(os.environ.get("ITMLAB_WEIGHTS") or Path(__file__).parent)


def notebook_directory() -> Path | None:
    """The `notebooks` folder of the checkout or of an installed wheel, or None."""
    root = shipped_directory()
    return root / "notebooks" if root is not None and (root / "notebooks").is_dir() else None


def profile(name: str | None = None) -> Profile:
    """`quick` (a laptop's minute) or `full` (what made the committed figures): as named, else by ITMLAB_PROFILE."""
    where = "ITMLAB_PROFILE" if name is None else "--profile"
    name = os.environ.get("ITMLAB_PROFILE", "quick") if name is None else name
    if name not in ("quick", "full"):
        raise ItmlabError(f"unknown profile {name!r}", where=where, remedy="use quick or full")
    return name


def figure_directory() -> Path:
    """Where figures are written: ITMLAB_FIGURES, else `figures` of the checkout (or of the working directory)."""
    given = os.environ.get("ITMLAB_FIGURES")
    return Path(given) if given else (project_directory() or Path.cwd()) / "figures"


def cores() -> int:
    """How many processor cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def threads_of_a_process(count: int) -> dict[str, str]:
    """The environment in which a child process computes with so many threads, however many cores it sees."""
    libraries = ("OMP", "MKL", "OPENBLAS", "NUMBA")
    return dict.fromkeys((f"{library}_NUM_THREADS" for library in libraries), str(count))
