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
Folds = Annotated[int, typer.Option(help="5 for COCO 1K: consecutive blocks, each ranked by itself.")]
SplitName = Annotated[str, typer.Option(help="train, val, test, or all.")]
On = Annotated[str | None, typer.Option("--on", help="pictures, regions, or photos through frozen encoders.")]
Start = Annotated[str | None, typer.Option("--start", help="towers (as in the papers), aligned, or scratch.")]
Photos = Annotated[bool, typer.Option(help="A folder of photographs: the recipe's form for them (extra: photos).")]
RunName = Annotated[str, typer.Argument(metavar="RUN", help="A run directory, or a pretrained name such as fne.")]


def run_and_split(
    run: str, split: str, data: str, root: Path | None, options: Words, skip_faults: bool
) -> tuple[Any, Any]:
    """A run, and the split of the data set that it is asked about, with regions where its model reads those."""
    opened = open_run(run)
    return opened, load_data(data, root, options, skip_faults, read_by=opened, split=split)


def open_run(run: str) -> Any:
    """The Run in a directory, or the pretrained one of that name."""
    from .runs.run import Run, pretrained

    return Run(Path(run)) if Path(run).is_dir() else pretrained(run)


def suited(names: list[str], axes: dict[str, str | None], data: str, captions: Any, photos: bool = True) -> list[Any]:
    """Tiny recipes as they suit the data, unless `axes` say how; a line says what was chosen, or what that needs.

    Photographs are seen through frozen encoders. Other pictures that `scenes` has not drawn are learnt from scratch.
    """
    from .models.photographs import PHOTOS, are_photographs, photos_installed
    from .recipes import recipe

    chosen = {name: value for name, value in axes.items() if value is not None}
    if data != "scenes" and not chosen and captions.regions is None:
        seen = photos and are_photographs(captions)
        if seen and photos_installed():
            print("photographs: on=photos (frozen encoders; --no-photos: from scratch)", flush=True)
            return [recipe(name, on="photos") for name in names]
        if seen:
            print(f"the pictures are photographs, of which frozen encoders know more ({PHOTOS}): from scratch without")
        print("pictures that scenes has not drawn: start=scratch (random weights)", flush=True)
        chosen = {"start": "scratch"}
    return [recipe(name, **chosen) for name in names]


def load_data(
    name: str, root: Path | None, options: Words, skip_faults: bool, *, read_by: Any = None, split: str = "all"
) -> Any:
    """The data set that these options name; `scenes` as a recipe asks for it, or as a run's was drawn."""
    from .data import load

    given, recipe = pairs(options, "--option"), getattr(read_by, "recipe", read_by)
    asked, model = getattr(recipe, "data", None), getattr(recipe, "model", recipe)
    drawn = name == "scenes" and getattr(model, "photo_encoder", None) is None
    if name == "scenes":
        given = {**getattr(read_by, "drawn", {}), **given}
    if drawn and getattr(model, "visual", "pictures") == "regions":
        given = {"regions": (asked and asked.regions) or True, **given}
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


def changes_of(given: Words) -> dict[str, Any]:
    """The changes of a recipe that --set names, as `Recipe.replace` takes them."""
    return {name.replace(".", "__"): value for name, value in pairs(given, "--set").items()}


def read_lines(file: Path) -> list[str]:
    """The lines of a text file (- is standard input) that are not blank."""
    try:
        text = sys.stdin.read() if str(file) == "-" else file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ItmlabError(f"cannot be read: {error}", where=str(file), remedy="give a UTF-8 text file") from None
    return [line for line in text.splitlines() if line.strip()]
