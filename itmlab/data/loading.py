"""One door to all data, `load(name, root, **options)`: file formats, and data sets that installed packages register.

Any package adds a data set by an entry point in its pyproject.toml:

    [project.entry-points."itmlab.data"]
    fruit = "fruit_shop.photographs:load"

Once it is installed, `names()` lists "fruit" and `load("fruit")` gives it, here and wherever a data set is named. The
function returns a CaptionSet and takes one of two forms; its keyword-only parameters are the options of `load`, which
takes the function itself, too, or where it is to be imported from ("fruit_shop.photographs:load"):

    def load(*, ripe: bool = True) -> CaptionSet                               # made: there is no root to give
    def load(root: Path, faults: Faults, *, ripe: bool = True) -> CaptionSet   # read from what lies under `root`

In the second form, whatever is wrong in the files goes to `faults.add(file, row, what)`, and `entries.assemble` settles
it all at once. `folder.load_folder` is an example of thirty lines. A name in FORMATS stays the file format it is.
"""

import difflib
import importlib
import inspect
import json
import os
import warnings
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from ..errors import ItmlabError
from .faults import Faults, one_line

if TYPE_CHECKING:
    from .captionset import CaptionSet

GROUP = "itmlab.data"
FORMATS = {  # name -> module and function; imported when asked for, so that `import itmlab.data` costs nothing
    "flickr30k": (".karpathy", "load_flickr30k"),
    "coco": (".karpathy", "load_coco"),
    "folder": (".folder", "load_folder"),
    "captions": (".folder", "load_captions"),
    "hub": (".hub", "load_hub"),
    "regions": (".regions", "load_regions"),
}
HOW_TO_GET = {
    "flickr30k": "give root=, the folder with dataset_flickr30k.json and images/ (the photographs are had on "
    "request from their authors), or a data set of the hub with dataset=",
    "coco": "give root=, the folder with dataset_coco.json or captions.json and the pictures "
    "(cocodataset.org/#download), or a data set of the hub with dataset=",
    "hub": "give dataset=, a Dataset, a path or a name on the hub",
}
ON_THE_HUB = ("flickr30k", "coco")  # also read from a data set of the hub that has their columns


def names() -> list[str]:
    """The names that `load` knows: those that installed packages register, then the file formats.

    >>> names()[-6:]
    ['flickr30k', 'coco', 'folder', 'captions', 'hub', 'regions']
    """
    return [*_registered(), *FORMATS]


def load(
    name: "str | Callable[..., CaptionSet]",
    root: str | Path | None = None,
    *,
    split: str | None = None,
    on_fault: str = "error",
    skipped_to: str | Path | None = None,
    train_share: float = 1.0,
    share_seed: int = 0,
    noise: float = 0.0,
    noise_seed: int = 0,
    **options: Any,
) -> "CaptionSet":
    """The data set `name` (one of `names()`), read from `root` where it lies in files; `split` takes one split of it.

    In the place of a name may stand an own function that gives a CaptionSet, or its import path "module:function".

    `train_share=0.1` keeps a tenth of the training split, drawn by `share_seed` (`CaptionSet.reduced`).
    `noise=0.2` takes a fifth of that split's captions to images they do not describe (`CaptionSet.with_noise`).

    All faults of the data come in one ItmlabError; `on_fault="skip"` leaves the faulty rows out, says how many and
    lists them in `skipped_to` (default: a file in the cache). `options` are those of the loader (`itmlab.data.folder`,
    `karpathy`, `hub`, `regions`) or of what was registered; an unknown name or option is an ItmlabError.

    >>> load("flickr30k", split="test")
    Traceback (most recent call last):
    itmlab.errors.ItmlabError: flickr30k: no root was given — give root=, the folder with dataset_flickr30k.json ...
    """
    given = {"name": name, "root": root, "split": split, "on_fault": on_fault, **options}
    given |= {"train_share": train_share, "share_seed": share_seed, "noise": noise, "noise_seed": noise_seed}
    if callable(name) or ":" in name:
        loader = name if callable(name) else _loaded(name, EntryPoint(name, name, GROUP))
        name = getattr(name, "__name__", str(name))
    elif name not in names():
        raise ItmlabError(f"there is no data set {name!r}", remedy=_did_you_mean(name, names(), "the data sets are"))
    else:
        loader = _loader("hub" if name in ON_THE_HUB and options.get("dataset") is not None else name)
    parameters = inspect.signature(loader).parameters
    known = [each.name for each in parameters.values() if each.kind is inspect.Parameter.KEYWORD_ONLY]
    reads_files = len(known) < len(parameters)  # it takes a root and the list of faults, not options alone
    known += ["dataset"] if name in ON_THE_HUB and "dataset" not in known else []
    for option in options:
        if option not in known:
            remedy = _did_you_mean(option, known, "the options are")
            raise ItmlabError(f"there is no option {option!r}", where=name, remedy=remedy)
    if reads_files:
        on_disk = root is not None and Path(root).exists()
        if options.get("dataset") is None and not on_disk and not (name == "hub" and root is not None):
            what = "no root was given" if root is None else f"there is no {str(root)!r}"
            raise ItmlabError(what, where=name, remedy=HOW_TO_GET.get(name, "give root=, where the files are"))
        faults = Faults(name, on_fault=on_fault, skipped_to=skipped_to, source=str(root if on_disk else name))
        found = loader(Path(root) if on_disk else root, faults, **options)
    elif root is None:
        found = loader(**options)
    else:
        raise ItmlabError(f"{name} is made, not read from files", where=name, remedy="leave root out")
    if not hasattr(found, "captions_of_image"):
        raise ItmlabError(f"it gives {type(found).__name__}, not an itmlab.data.captionset.CaptionSet", where=name)
    if train_share != 1:
        found = found.reduced(train_share, share_seed)
    if noise != 0:
        found = found.with_noise(noise, noise_seed)
    return made_by(found if split is None else found.split(split), given)


# How a data set was loaded, by which another process can load it, too.

_ORIGINS: "WeakKeyDictionary[CaptionSet, tuple[dict[str, Any], Any]]" = WeakKeyDictionary()


def made_by(data: "CaptionSet", given: dict[str, Any]) -> "CaptionSet":
    """The data set, of which it is kept that `load(**given)` makes it, where JSON can say so."""
    given = {**given, "root": None if given["root"] is None else str(Path(given["root"]).resolve())}
    if isinstance(given["name"], str):
        with suppress(TypeError, ValueError):
            _ORIGINS[data] = json.loads(json.dumps(given, allow_nan=False, default=os.fspath)), _state(data)
    return data


def origin_of(data: "CaptionSet") -> dict[str, Any] | None:
    """What `load` is to be given for the same data set; None where it was made otherwise, or changed since."""
    given, state = _ORIGINS.get(data, (None, None))
    return given if given is not None and state == _state(data) else None


STEPS = {"train_share": 1.0, "noise": 0.0, "split": None}  # what `load` does last, in order, and what leaves it undone


def changed_from(data: "CaptionSet", part: "CaptionSet", **step: Any) -> "CaptionSet":
    """`part` of `data`, of which it is kept that `load` makes it with this step: train_share=, or noise=, and its seed.

    It is not kept where `data` went through this step or a later one of `load`, which would then not make it.
    """
    given, names = origin_of(data), list(STEPS)
    later = names[names.index(next(iter(step))) :]
    if given is not None and all(given[name] == STEPS[name] for name in later):
        made_by(part, {**given, **step})
    return part


def _state(data: "CaptionSet") -> Any:
    parts = (data.images, data.captions, data.image_of_caption, data.world, data.regions)
    return [id(part) for part in parts], {name: indices.tolist() for name, indices in data.splits.items()}


@cache
def _registered() -> dict[str, EntryPoint]:
    """The entry points of all installed packages by name."""
    found = {}
    for point in entry_points(group=GROUP):
        if point.name in FORMATS:
            warnings.warn(f"{point.value} registers {point.name!r}, a file format of itmlab: left out", stacklevel=3)
        else:
            found[point.name] = point
    return found


def _loader(name: str) -> Callable[..., "CaptionSet"]:
    if name in FORMATS:
        module, function = FORMATS[name]
        return getattr(importlib.import_module(module, __package__), function)
    return _loaded(name, _registered()[name])


def _loaded(name: str, point: EntryPoint) -> Callable[..., "CaptionSet"]:
    """What an entry point stands for."""
    try:
        loader = point.load()
        inspect.signature(loader)
    except ItmlabError:
        raise
    except Exception as error:  # importing somebody's module may fail in any way
        raise ItmlabError(
            f"what registers it cannot be used ({type(error).__name__}: {one_line(error, 200)})",
            where=f"{name} ({point.value})",
            remedy="mend or remove the package that has it",
        ) from error
    return loader


def _did_you_mean(word: str, known: list[str], otherwise: str) -> str:
    close = difflib.get_close_matches(str(word), known, n=1)
    listed = f"{otherwise}: {', '.join(known)}"
    return f"did you mean {close[0]!r}? {listed}" if close else listed
