"""Options that several commands share, and how they are read."""

import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from ..errors import ItmlabError

DataName = Annotated[
    str, typer.Option("--data", help="scenes, flickr30k, coco, folder, hub, regions (see itmlab.data.load).")
]
DataRoot = Annotated[Path | None, typer.Option("--root", help="Where the data set lies on the disk.")]
DataOptions = Annotated[
    list[str] | None, typer.Option("--option", help="An option of the data set, NAME=VALUE (JSON or text); repeatable.")
]
SkipFaults = Annotated[
    bool, typer.Option("--skip-faults", help="Leave faulty rows out, counted and listed, instead of stopping.")
]
RunName = Annotated[str, typer.Argument(metavar="RUN", help="A run directory, or a pretrained name such as fne.")]


def read_lines(file: Path) -> list[str]:
    """The lines of a text file that are not blank."""
    try:
        text = sys.stdin.read() if str(file) == "-" else file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ItmlabError(f"cannot be read: {error}", where=str(file), remedy="give a UTF-8 text file") from None
    return [line for line in text.splitlines() if line.strip()]


def pairs(given: list[str] | None, flag: str) -> dict[str, Any]:
    """NAME=VALUE words as a dictionary; a value that is JSON is read as JSON, any other is text."""
    pairs = {}
    for word in given or []:
        name, equals, value = word.partition("=")
        if not equals or not name:
            raise ItmlabError(f"{word!r} is not NAME=VALUE", where=flag, remedy=f"for example {flag} seed=1")
        try:
            pairs[name] = json.loads(value)
        except json.JSONDecodeError:
            pairs[name] = value
    return pairs


def load_data(
    name: str, root: Path | None, options: list[str] | None, skip_faults: bool, *, read_by: Any = None
) -> Any:
    """The data set that these options name; `scenes` with its regions where the model configuration `read_by` asks."""
    from ..data import load

    given = pairs(options, "--option")
    if name == "scenes" and getattr(read_by, "visual", "pictures") == "regions":
        given = {"regions": True, **given}
    return load(name, root, on_fault="skip" if skip_faults else "error", **given)


def one_split(data: Any, name: str) -> Any:
    return data if name == "all" else data.split(name)


def open_run(run: str) -> Any:
    from ..training import Run, pretrained

    return Run(Path(run)) if Path(run).is_dir() else pretrained(run)


def run_and_split(
    run: str, split: str, data: str, root: Path | None, options: list[str] | None, skip_faults: bool
) -> tuple[Any, Any]:
    """A run, and the split of the data set that it is asked about, with regions where its model reads those."""
    opened = open_run(run)
    return opened, one_split(load_data(data, root, options, skip_faults, read_by=opened.recipe.model), split)
