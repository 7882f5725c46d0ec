"""Commands that train a recipe, and ask things of a run."""

import json
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated

import typer

from ..errors import ItmlabError
from .options import (
    DataName,
    DataOptions,
    DataRoot,
    RunName,
    SkipFaults,
    load_data,
    open_run,
    pairs,
    run_and_split,
)


def train(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="The run directory; one already begun is resumed.")],
    recipe: Annotated[str, typer.Option(help="A recipe's name, or a recipe's JSON file.")] = "fne",
    size: Annotated[str, typer.Option(help="tiny, base or large.")] = "tiny",
    change: Annotated[
        list[str] | None, typer.Option("--set", help="A variation, FIELD=VALUE (data.epochs=3); repeatable.")
    ] = None,
    data: DataName = "scenes",
    root: DataRoot = None,
    option: DataOptions = None,
    skip_faults: SkipFaults = False,
    max_steps: Annotated[int | None, typer.Option(help="Stop after so many steps (resumable).")] = None,
    resume: Annotated[bool, typer.Option(help="Go on where the run directory left off.")] = True,
    track: Annotated[str | None, typer.Option(help="Also log to this trackio project (extra: track).")] = None,
) -> None:
    """Train a recipe; `accelerate launch -m itmlab train …` does it on several devices."""
    from .. import recipes
    from ..training import Interrupted, Recipe, tracked
    from ..training import train as run_training

    chosen = Recipe.load(recipe) if recipe.endswith(".json") else recipes.get(recipe, size=size)
    variations = {name.replace(".", "__"): value for name, value in pairs(change, "--set").items()}
    chosen = chosen.replace(**variations)
    captions = load_data(data, root, option, skip_faults, read_by=chosen.model)
    tracking = tracked(track, chosen, run) if track else nullcontext()
    try:
        with tracking as on_record:
            done = run_training(chosen, captions, run, resume=resume, max_steps=max_steps, on_record=on_record)
    except Interrupted as stop:
        print(stop)
        raise typer.Exit(stop.exit_code) from None
    print(f"{done.directory}: {json.dumps(done.history[-1]) if done.history else 'no line of history yet'}")


def evaluate(
    run: RunName,
    split: Annotated[str, typer.Option(help="train, val, test, or all.")] = "test",
    folds: Annotated[int, typer.Option(help="5 for COCO 1K: consecutive blocks, averaged.")] = 1,
    relevance: Annotated[str | None, typer.Option(help="cider or spice: also semantic recall (SR) and NCS.")] = None,
    scores: Annotated[
        Path | None, typer.Option(help="A file that keeps what a one-tower model has scored, to go on from.")
    ] = None,
    data: DataName = "scenes",
    root: DataRoot = None,
    option: DataOptions = None,
    skip_faults: SkipFaults = False,
) -> None:
    """Recall in both directions, as JSON."""
    if relevance not in (None, "cider", "spice"):
        raise ItmlabError(f"no relevance {relevance!r}", where="--relevance", remedy="cider or spice")
    opened, captions = run_and_split(run, split, data, root, option, skip_faults)
    found = opened.evaluate(captions, split=None, folds=folds, relevance=relevance, resume=scores)
    print(json.dumps(found, indent=2))


def search(
    run: RunName,
    query: Annotated[str, typer.Argument(help="A sentence, or the path of a picture with --picture.")],
    picture: Annotated[bool, typer.Option("--picture", help="The query is a picture: find captions.")] = False,
    k: Annotated[int, typer.Option("-k", help="How many.")] = 5,
    split: Annotated[str, typer.Option(help="train, val, test, or all.")] = "test",
    data: DataName = "scenes",
    root: DataRoot = None,
    option: DataOptions = None,
    skip_faults: SkipFaults = False,
) -> None:
    """The k best pictures for a sentence, or captions for a picture."""
    opened, captions = run_and_split(run, split, data, root, option, skip_faults)
    print(opened.search(Path(query) if picture else query, k=k, data=captions))


def embed(
    run: RunName,
    out: Annotated[Path, typer.Argument(metavar="OUT", help="A .safetensors file: images, captions and their ids.")],
    split: Annotated[str, typer.Option(help="train, val, test, or all.")] = "test",
    data: DataName = "scenes",
    root: DataRoot = None,
    option: DataOptions = None,
    skip_faults: SkipFaults = False,
) -> None:
    """Unit-length features of every image and caption, as a safetensors file."""
    from ..training import write_embeddings

    opened, captions = run_and_split(run, split, data, root, option, skip_faults)
    counts = write_embeddings(opened, captions, out)
    print(f"{out}: {counts[0]} images and {counts[1]} captions")


def attend(
    run: RunName,
    picture: Annotated[Path, typer.Argument(help="A picture file.")],
    caption: Annotated[str, typer.Argument(help="A sentence about it.")],
    out: Annotated[Path, typer.Argument(metavar="OUT", help="A .html, .json or .png file.")],
) -> None:
    """Draw where each word of a sentence lands in a picture."""
    from ..data.images import read_image
    from ..explain import word_maps
    from ..figures import attention_maps, write_figure

    opened = open_run(run)
    pixels = read_image(picture, where=str(picture))
    maps = word_maps(opened.model, pixels, caption)
    print(write_figure(attention_maps({run: maps}), out))


def export(
    run: RunName,
    out: Annotated[Path, typer.Argument(metavar="OUT", help="The directory to write.")],
    dtype: Annotated[str, typer.Option(help="float16 (half the size) or float32.")] = "float16",
) -> None:
    """Write a run without what only resuming needs: what ships in itmlab/pretrained was made so."""
    print(open_run(run).export(out, dtype=dtype).directory)
