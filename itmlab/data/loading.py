"""One door to all data: `load(name, root, **options)`."""

import difflib
import importlib
import inspect
from collections.abc import Callable
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import ItmlabError

if TYPE_CHECKING:
    from .captionset import CaptionSet


LOADERS = {  # name -> module and function; imported when asked for
    "flickr30k": (".karpathy", "load_flickr30k"),
    "coco": (".karpathy", "load_coco"),
    "folder": (".folder", "load_folder"),
    "captions": (".folder", "load_captions"),
    "hub": (".hub", "load_hub"),
    "regions": (".regions", "load_regions"),
}
ON_THE_HUB = ("flickr30k", "coco")


REGISTRY = "itmlab.data"  # the group of entry points by which a package adds a data set: `scenes` comes by it too


@cache
def _registered() -> dict[str, EntryPoint]:
    return {point.name: point for point in entry_points(group=REGISTRY)}


def names() -> list[str]:
    """The names that `load` knows: those that installed packages register, then the file formats."""
    return [*_registered(), *LOADERS]


def load(
    name: str,
    root: str | Path | None = None,
    *,
    split: str | None = None,
    on_fault: str = "error",
    skipped_to: str | Path | None = None,
    train_share: float = 1.0,
    share_seed: int = 0,
    **options: Any,
) -> "CaptionSet":
    """The data set `name` (one of `names()`), read from `root` where it lies in files; `split` takes one split of it.

    `train_share=0.1` keeps a tenth of the training split, drawn by `share_seed` (`CaptionSet.reduced`).

    All faults of the data come in one ItmlabError; `on_fault="skip"` leaves the faulty rows out, says how many and
    lists them in `skipped_to` (default: a file in the cache). `options` are those of the loader (`itmlab.data.folder`,
    `karpathy`, `hub`, `regions`) or of what was registered; an unknown name or option is an ItmlabError.
    """
    if name not in names():
        raise ItmlabError(f"there is no data set {name!r}", remedy=_did_you_mean(name, names(), "the data sets are"))
    from_hub = name in ON_THE_HUB and options.get("dataset") is not None
    loader = _loader("hub" if from_hub else name)
    _check_options(name, loader, options)
    if _reads_files(loader):
        found = _read(name, loader, root, on_fault, skipped_to, options)
    elif root is None:
        found = loader(**options)
    else:
        raise ItmlabError(f"{name} is made, not read from files", where=name, remedy="leave root out")
    if train_share != 1:
        found = found.reduced(train_share, share_seed)
    return found if split is None else found.split(split)


def _read(
    name: str,
    loader: Callable[..., "CaptionSet"],
    root: str | Path | None,
    on_fault: str,
    skipped_to: str | Path | None,
    options: dict[str, Any],
) -> "CaptionSet":
    from .faults import Faults

    on_disk = root is not None and Path(root).exists()
    if options.get("dataset") is None and not on_disk and not (name == "hub" and root is not None):
        what = "no root was given" if root is None else f"there is no {str(root)!r}"
        raise ItmlabError(what, where=name, remedy=_how_to_get(name))
    faults = Faults(name, on_fault=on_fault, skipped_to=skipped_to, source=str(root if on_disk else name))
    return loader(Path(root) if on_disk else root, faults, **options)


def _loader(name: str) -> Callable[..., "CaptionSet"]:
    if name in _registered():
        return _registered()[name].load()
    module, function = LOADERS[name]
    return getattr(importlib.import_module(module, __package__), function)


def _reads_files(loader: Callable[..., Any]) -> bool:
    """Whether a loader takes a root and the list of faults, or, as that of a drawn world, options alone."""
    kinds = (parameter.kind for parameter in inspect.signature(loader).parameters.values())
    return any(kind is not inspect.Parameter.KEYWORD_ONLY for kind in kinds)


def _check_options(name: str, loader: Callable[..., Any], options: dict[str, Any]) -> None:
    parameters = inspect.signature(loader).parameters.values()
    known = [each.name for each in parameters if each.kind is inspect.Parameter.KEYWORD_ONLY]
    known += ["dataset"] if name in ON_THE_HUB and "dataset" not in known else []
    for option in options:
        if option not in known:
            raise ItmlabError(
                f"there is no option {option!r}", where=name, remedy=_did_you_mean(option, known, "the options are")
            )


def _did_you_mean(word: str, known: list[str], otherwise: str) -> str:
    close = difflib.get_close_matches(str(word), known, n=1)
    listed = f"{otherwise}: {', '.join(known)}"
    return f"did you mean {close[0]!r}? {listed}" if close else listed


def _how_to_get(name: str) -> str:
    return {
        "flickr30k": "give root=, the folder with dataset_flickr30k.json and images/ (the photographs are had on "
        "request from their authors), or a data set of the hub with dataset=",
        "coco": "give root=, the folder with dataset_coco.json or captions.json and the pictures "
        "(cocodataset.org/#download), or a data set of the hub with dataset=",
        "hub": "give dataset=, a Dataset, a path or a name on the hub",
    }.get(name, "give root=, where the files are")
