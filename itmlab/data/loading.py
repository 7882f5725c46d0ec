"""`load(name, root, **options)`: the one entrance to all data sets."""

import importlib
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import ItmlabError
from ..fields import did_you_mean
from .faults import Faults

if TYPE_CHECKING:
    from .captionset import CaptionSet

READERS = {  # functions of `readers`
    "flickr30k": "read_karpathy",
    "coco": "read_karpathy",
    "folder": "read_folder",
    "photos": "read_photos",
    "hub": "read_hub",
    "regions": "read_regions",
}
SHARED_OPTIONS = ("proportions", "seed")  # of everything that is read from files, see `readers.assemble`


def names() -> list[str]:
    """Return the names of the data sets.

    >>> names()
    ['scenes', 'flickr30k', 'coco', 'folder', 'photos', 'hub', 'regions']
    """
    return ["scenes", *READERS]


def load(
    name: "str | Callable[..., CaptionSet] | CaptionSet",
    root: str | Path | None = None,
    *,
    split: str | None = None,
    on_fault: str = "error",
    train_share: float = 1.0,
    share_seed: int = 0,
    **options: Any,
) -> "CaptionSet":
    """Load a data set. All faults in its files come in one ItmlabError.

    Args:
        name: one of `names()`, or your own CaptionSet, or a function that returns one.
        root: the folder of the files; "photos" without one are the photographs that ship with the package.
        split: take this split only.
        on_fault: "error", or "skip" to leave faulty rows out, with a warning that counts them.
        train_share: keep this share of the training split, drawn by `share_seed` (`CaptionSet.reduced`).
        share_seed: see `train_share`.
        options: of the reader, of `itmlab.scenes.load` or of your function; files also take `proportions` and `seed`.

    Raises:
        ItmlabError: an unknown name or option, files that are missing, or faults in them.

    >>> load("flickr30k", split="test")
    Traceback (most recent call last):
    itmlab.errors.ItmlabError: flickr30k: no root was given — give root=, the folder of the files
    """
    from ..session import usual_defaults

    with usual_defaults():
        if isinstance(name, str) and name in READERS:
            data = _read(name, root, Faults(name, on_fault=on_fault), options)
        else:
            data = _made(name, root, options)
        if train_share != 1:
            data = data.reduced(train_share, share_seed)
        return data if split is None else data.split(split)


def _read(name: str, root: str | Path | None, faults: Faults, options: dict[str, Any]) -> "CaptionSet":
    """Read a data set from its files, or from the `datasets` library."""
    from . import hub, photos, readers

    room = {"hub": hub, "photos": photos}.get(name, readers)
    reader = getattr(room, READERS[name])
    if name == "photos" and root is None:
        root = photos.SHIPPED
    _check_options(name, reader, options, *SHARED_OPTIONS)
    if name != "hub" and (root is None or not Path(root).exists()):
        message = "no root was given" if root is None else f"there is no {str(root)!r}"
        raise ItmlabError(message, where=name, remedy="give root=, the folder of the files")
    shared = {option: options.pop(option) for option in SHARED_OPTIONS if option in options}
    files = reader(root if name == "hub" else Path(root), faults, **options)
    return readers.assemble(files, faults, **shared)


def _made(name: Any, root: Any, options: dict[str, Any]) -> "CaptionSet":
    """Return a data set that is not read from files: scenes, your own CaptionSet, or what your function returns."""
    from .captionset import CaptionSet

    if isinstance(name, str) and name != "scenes":
        raise ItmlabError(f"there is no data set {name!r}", remedy=did_you_mean(name, names()))
    label = name if isinstance(name, str) else getattr(name, "__name__", type(name).__name__)
    if root is not None:
        raise ItmlabError(f"{label} is not read from files", where=label, remedy="leave root out")
    function = importlib.import_module("itmlab.scenes").load if name == "scenes" else name
    if callable(function):
        _check_options(label, function, options)
        data = function(**options)
    else:
        data = function
    if not isinstance(data, CaptionSet):
        raise ItmlabError(f"expected a CaptionSet, got {type(data).__name__}", where=label)
    return data


def _check_options(name: str, function: Callable[..., Any], options: dict[str, Any], *more: str) -> None:
    parameters = inspect.signature(function).parameters.values()
    known = [parameter.name for parameter in parameters if parameter.kind is inspect.Parameter.KEYWORD_ONLY]
    known += [option for option in more if option not in known]
    for option in options:
        if option not in known:
            raise ItmlabError(f"there is no option {option!r}", where=name, remedy=did_you_mean(option, known))
