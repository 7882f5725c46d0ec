"""`load(name, root, **options)`: the one entrance to all data sets."""

import inspect
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import ItmlabError
from ..fields import did_you_mean
from .faults import Faults

if TYPE_CHECKING:
    from .captionset import CaptionSet

READERS = {  # functions of `readers` and `hub`
    "flickr30k": "read_karpathy",
    "coco": "read_karpathy",
    "folder": "read_folder",
    "photos": "read_folder",
    "hub": "read_hub",
    "regions": "read_regions",
}


def names() -> list[str]:
    """Return the names of the data sets.

    >>> names()
    ['scenes', 'flickr30k', 'coco', 'folder', 'photos', 'hub', 'regions']
    """
    return ["scenes", *READERS]


def load(
    name: str,
    root: str | Path | None = None,
    *,
    split: str | None = None,
    on_fault: str = "error",
    train_share: float = 1.0,
    **options: Any,
) -> "CaptionSet":
    """Load a data set. All faults in its files come in one ItmlabError.

    Args:
        name: one of `names()`.
        root: the folder of the files; "photos" without one are the photographs that ship with the package.
        split: take this split only.
        on_fault: "error", or "skip" to leave faulty rows out, with a warning that counts them.
        train_share: keep this share of the training split (`CaptionSet.reduced`).
        options: of the reader or of `itmlab.scenes.load`; files also take `held_out`, see `readers.assemble`.

    Raises:
        ItmlabError: an unknown name or option, files that are missing, or faults in them.

    >>> load("flickr30k", split="test")
    Traceback (most recent call last):
    itmlab.errors.ItmlabError: flickr30k: no root was given — give root=, the folder of the files
    """
    from ..session import usual_defaults

    if name not in names():
        raise ItmlabError(f"there is no data set {name!r}", remedy=did_you_mean(name, names()))
    with usual_defaults():
        if name == "scenes":
            data = _drawn(root, options)
        else:
            data = _read(name, root, Faults(name, on_fault=on_fault), options)
        if train_share != 1:
            data = data.reduced(train_share)
        return data if split is None else data.split(split)


def _drawn(root: str | Path | None, options: dict[str, Any]) -> "CaptionSet":
    """Return the drawn world."""
    scenes = import_module("itmlab.scenes")  # by name, as it stands above this room
    if root is not None:
        raise ItmlabError("scenes is not read from files", where="scenes", remedy="leave root out")
    _check_options("scenes", scenes.load, options)
    return scenes.load(**options)


def _read(name: str, root: str | Path | None, faults: Faults, options: dict[str, Any]) -> "CaptionSet":
    """Read a data set from its files, or from the `datasets` library."""
    from . import hub, readers

    reader = getattr(hub if name == "hub" else readers, READERS[name])
    held_out = options.pop("held_out", 0.1)
    _check_options(name, reader, options)
    is_shipped = name == "photos" and root is None
    root = readers.SHIPPED if is_shipped else root
    if name != "hub" and (root is None or not Path(root).exists()):
        message = "no root was given" if root is None else f"there is no {str(root)!r}"
        raise ItmlabError(message, where=name, remedy="give root=, the folder of the files")
    files = reader(root if name == "hub" else Path(root), faults, **options)
    if is_shipped:
        files.regions = readers.shipped_features
    return readers.assemble(files, faults, held_out)


def _check_options(name: str, function: Callable[..., Any], options: dict[str, Any]) -> None:
    parameters = inspect.signature(function).parameters.values()
    known = [parameter.name for parameter in parameters if parameter.kind is inspect.Parameter.KEYWORD_ONLY]
    for option in options:
        if option not in known:
            raise ItmlabError(f"there is no option {option!r}", where=name, remedy=did_you_mean(option, known))
