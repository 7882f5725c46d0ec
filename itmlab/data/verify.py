"""Every picture of a set checked before the first is used, and the answer remembered while the files stay the same."""

import hashlib
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from ..errors import ItmlabError
from ..storage import cache_directory, inside, write_bytes
from .faults import one_line
from .images import check_image

DECODED_UP_TO = 1000  # images; a larger set is checked by headers and end markers unless verify="decode"


def decodes(verify: str | None, count: int) -> bool:
    """Whether `count` images are checked to the last value: "decode" always, "header" never, None for small sets."""
    if verify not in (None, "header", "decode"):
        raise ItmlabError(f"verify={verify!r} is not a way of checking", remedy='use "header" or "decode"')
    return verify == "decode" or (verify is None and count <= DECODED_UP_TO)


def each_checked(sources: Sequence[Any], check: Callable[[Any], None]) -> list[str | None]:
    """For each source the message of the ItmlabError that `check` raises for it, or None; on all cores."""

    def wrong(source: Any) -> str | None:
        try:
            check(source)
        except ItmlabError as error:
            return str(error)
        return None

    with ThreadPoolExecutor() as threads:
        return list(threads.map(wrong, sources))


def check_picture_files(paths: Sequence[Path], verify: str | None) -> list[str | None]:
    """For each picture file what is wrong with it, or None.

    `verify` "header" reads headers and end markers, "decode" every pixel, None decodes sets of up to 1,000 pictures.
    A set without faults is remembered in the cache by path, size and time of change, and not read again.
    """
    decode = decodes(verify, len(paths))
    stamp = cache_directory() / "checked" / _state(paths, decode)
    if stamp.exists():
        return [None] * len(paths)
    wrong = each_checked(paths, lambda path: check_image(path, decode=decode))
    if paths and not any(wrong):
        write_bytes(stamp, b"")
    return wrong


def named_folder(path: str | Path) -> Path:
    """The folder that an option names; one that is not there is an ItmlabError."""
    if not Path(path).is_dir():
        raise ItmlabError("there is no such folder", where=str(path))
    return Path(path)


def locate(folder: Path, name: Any) -> Path:
    """The file `name` in `folder`; a name that is none, or that leads out of the folder, is an ItmlabError."""
    if not isinstance(name, str) or not name.strip() or "\0" in name or not _encodable(name):
        raise ItmlabError(f"not the name of a file: {one_line(repr(name), 80)}", where=str(folder))
    try:
        return inside(folder, name)
    except (OSError, RuntimeError) as error:  # a name too long, a loop of links
        raise ItmlabError(f"cannot be opened ({one_line(error, 120)})", where=str(folder)) from None


def _encodable(text: str) -> bool:
    return not any("\ud800" <= character <= "\udfff" for character in text)


def _state(paths: Sequence[Path], decode: bool) -> str:
    digest = hashlib.sha256(b"decoded" if decode else b"headers")
    for path in paths:
        try:
            status = os.stat(path)
            digest.update(f"{path}\0{status.st_size}\0{status.st_mtime_ns}\n".encode())
        except OSError:
            digest.update(f"{path}\0missing\n".encode())
    return digest.hexdigest()
