"""What lies on the disk: files that are wholly written or not there (temporary file, fsync, rename), and where."""

import json
import logging
import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, Literal, TypeVar

from .errors import ItmlabError


@contextmanager
def atomic_file(path: str | Path) -> Iterator[BinaryIO]:
    """A binary file that takes the place of `path` in one step once it is on the disk, or leaves `path` as it was."""
    path = Path(path)
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


def read_json(path: str | Path, *, remedy: str | None = None) -> Any:
    """Read JSON from `path`; a missing or malformed file is one ItmlabError with file and line."""
    try:
        return json.loads(Path(path).read_bytes().decode("utf-8-sig"))  # with or without a byte order mark
    except FileNotFoundError:
        what, where = "no such file", str(path)
    except json.JSONDecodeError as error:
        what, where = f"not JSON: {error.msg}", f"{path}:{error.lineno}"
    except UnicodeDecodeError as error:
        what, where = f"not UTF-8 at byte {error.start}", str(path)
    raise ItmlabError(what, where=where, remedy=remedy)


def inside(root: str | Path, name: str) -> Path:
    """The path of `name` under `root`; a name that leads out of the root (also by a link) is an ItmlabError."""
    root = Path(root).resolve()
    path = (root / name).resolve()
    if not path.is_relative_to(root):
        raise ItmlabError(f"the path {name!r} leaves its root", where=str(root), remedy="use a path inside the root")
    return path


def cache_directory() -> Path:
    """Where generated data is kept: ITMLAB_CACHE, else itmlab under the user's cache folder."""
    default = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "itmlab"
    return Path(os.environ.get("ITMLAB_CACHE") or default)


def build_once(directory: Path, build: Callable[[Path], None]) -> Path:
    """`directory`, built by `build` into a temporary neighbour and renamed, so that it is whole whenever it exists."""
    if directory.exists():
        return directory
    directory.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=directory.parent, prefix=f".{directory.name}.") as temporary:
        work = Path(temporary) / "work"
        work.mkdir()
        build(work)
        try:
            os.replace(work, directory)
        except OSError:
            if not directory.exists():  # else another process built the same thing first
                raise
    sync_directory(directory.parent)
    return directory


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


# Where the notebooks and figures of a checkout are, and which profile a notebook runs in.

Profile = Literal["quick", "full"]


def project_directory() -> Path | None:
    """The checkout that this package was installed from (editable), or None for an installed copy."""
    root = Path(__file__).resolve().parent.parent
    return root if (root / "pyproject.toml").is_file() else None


def notebook_directory() -> Path | None:
    """The checkout's `notebooks` folder, or None."""
    root = project_directory()
    return root / "notebooks" if root is not None and (root / "notebooks").is_dir() else None


def profile() -> Profile:
    """`quick` (the default: a laptop's minute) or `full` (what made the committed figures), by ITMLAB_PROFILE."""
    name = os.environ.get("ITMLAB_PROFILE", "quick")
    if name not in ("quick", "full"):
        raise ItmlabError(f"unknown profile {name!r}", where="ITMLAB_PROFILE", remedy="use quick or full")
    return name


def figure_directory() -> Path:
    """Where figures are written: ITMLAB_FIGURES, else `figures` of the checkout (or of the working directory)."""
    given = os.environ.get("ITMLAB_FIGURES")
    return Path(given) if given else (project_directory() or Path.cwd()) / "figures"
