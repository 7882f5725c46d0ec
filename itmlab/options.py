"""Options that several commands share, and what they become: a run, a data set, pairs of names and values."""

import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from .errors import ItmlabError
from .workbench import Words

File = Path | None
DataName = Annotated[
    str, typer.Option("--data", help="scenes, flickr30k, coco, folder, hub, regions (see itmlab.data.load).")
]
DataRoot = Annotated[File, typer.Option("--root", help="Where the data set lies on the disk.")]
DataOptions = Annotated[Words, typer.Option("--option", help="An option of the data set, NAME=VALUE; repeatable.")]
SkipFaults = Annotated[bool, typer.Option("--skip-faults", help="Leave faulty rows out, counted and listed.")]
SplitName = Annotated[str, typer.Option(help="train, val, test, or all.")]
Photos = Annotated[bool, typer.Option(help="A folder of photographs: the recipe's form for them (extra: photos).")]
RunName = Annotated[str, typer.Argument(metavar="RUN", help="A run directory, or a pretrained name such as fne.")]


def run_and_split(
    run: str, split: str, data: str, root: Path | None, options: Words, skip_faults: bool
) -> tuple[Any, Any]:
    """A run, and the split of the data set that it is asked about, with regions where its model reads those."""
    opened = open_run(run)
    return opened, load_data(data, root, options, skip_faults, read_by=opened.recipe, split=split)


def open_run(run: str) -> Any:
    """The Run in a directory, or the pretrained one of that name."""
    from .runs.run import Run, pretrained

    return Run(Path(run)) if Path(run).is_dir() else pretrained(run)


def for_photographs(names: list[str], data: str, captions: Any) -> list[str]:
    """Recipes' names, "+photos" where those are for a folder of photographs; a line says so, or what that needs."""
    from . import recipes
    from .models.photographs import PHOTOS, are_photographs, photos_installed

    named = [f"{name}+photos" if f"{name}+photos" in recipes.names() else name for name in names]
    if data != "folder" or named == names or not are_photographs(captions):
        return names
    if not photos_installed():
        print(f"the pictures are photographs, of which frozen encoders know more ({PHOTOS}): from scratch without")
        return names
    print(f"the pictures are photographs: {', '.join(named)} (frozen encoders; --no-photos: from scratch)", flush=True)
    return named


def load_data(
    name: str, root: Path | None, options: Words, skip_faults: bool, *, read_by: Any = None, split: str = "all"
) -> Any:
    """The data set that these options name; `scenes` in the edition and with the regions that a recipe asks for."""
    from .data import load

    given, asked = pairs(options, "--option"), getattr(read_by, "data", None)
    model = getattr(read_by, "model", read_by)
    drawn = name == "scenes" and getattr(model, "photo_encoder", None) is None
    if drawn and getattr(model, "visual", "pictures") == "regions":
        given = {"regions": asked.regions if asked else True, **given}
    if name == "scenes" and asked:
        given = {"edition": asked.edition, **given}
    data = load(name, root, on_fault="skip" if skip_faults else "error", **given)
    return data if split == "all" else data.split(split)


def pairs(given: Words, flag: str) -> dict[str, Any]:
    """NAME=VALUE words as a dictionary; a value that is JSON is read as JSON, any other is text.

    >>> pairs(["data.epochs=3", "preset=released"], "--set")
    {'data.epochs': 3, 'preset': 'released'}
    """
    read: dict[str, Any] = {}
    for word in given or []:
        name, equals, value = word.partition("=")
        if not equals or not name:
            raise ItmlabError(f"{word!r} is not NAME=VALUE", where=flag, remedy=f"for example {flag} seed=1")
        try:
            read[name] = json.loads(value)
        except json.JSONDecodeError:
            read[name] = value
    return read


def read_lines(file: Path) -> list[str]:
    """The lines of a text file (- is standard input) that are not blank."""
    try:
        text = sys.stdin.read() if str(file) == "-" else file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ItmlabError(f"cannot be read: {error}", where=str(file), remedy="give a UTF-8 text file") from None
    return [line for line in text.splitlines() if line.strip()]
