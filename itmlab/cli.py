"""The commands of `python -m itmlab`: train and compare recipes, use runs, parse captions and write negatives.

An error is one line with its remedy; the variable ITMLAB_DEBUG=1 shows where it arose. What a command needs is imported
when it is called, so that help is quick.
"""

import json
import os
import platform
import re
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path
from typing import Annotated, Any

import typer

from .data.faults import one_line
from .errors import ItmlabError, printable
from .storage import cache_directory, cores, unusable

app = typer.Typer(
    name="itmlab",
    help="A workbench for image-text matching with hard, synthetic and false negatives.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

# Options that several commands share, and what they stand for: a run, a data set, pairs of names and values.

Words = list[str] | None  # the values of a repeatable option
Force = Annotated[bool, typer.Option("--force", help="Overwrite files that itmlab did not write.")]
DataName = Annotated[
    str, typer.Option("--data", help="scenes, flickr30k, coco, folder, hub, regions (see itmlab.data.load).")
]
DataRoot = Annotated[Path | None, typer.Option("--root", help="The folder of the data set.")]
DataOptions = Annotated[
    Words, typer.Option("--option", help="NAME=VALUE, for the data set (on_fault=skip); repeatable.")
]
Folds = Annotated[int, typer.Option(help="5 for COCO 1K: consecutive blocks, each ranked by itself.")]
On = Annotated[str | None, typer.Option("--on", help="pictures, regions, or photos through frozen encoders.")]
Start = Annotated[str | None, typer.Option("--start", help="towers (as in the papers), aligned, or scratch.")]
RunName = Annotated[str, typer.Argument(metavar="RUN", help="A run directory, or a pretrained name such as fne.")]
SplitName = Annotated[str, typer.Option(help="train, val, test, or all.")]


def run_and_split(run: str, split: str, data: str, root: Path | None, options: Words) -> tuple[Any, Any]:
    """Return a run (a directory's, or the pretrained one of that name) and a split of data as its model reads them."""
    from .train.run import Run, pretrained

    opened = Run(Path(run)) if Path(run).is_dir() else pretrained(run)
    return opened, load_data(data, root, options, read_by=opened, split=split)


def load_data(name: str, root: Path | None, options: Words, *, read_by: Any = None, split: str = "all") -> Any:
    """Return the data set that these options name; `scenes` as the recipe or run `read_by` needs it."""
    from .data import load

    chosen, recipe = pairs(options, "--option"), getattr(read_by, "recipe", read_by)
    settings = getattr(recipe, "data", None)
    model = recipe if settings is None else recipe.model  # a model's configuration may be given as well
    if name == "scenes":
        chosen = {**getattr(read_by, "drawn", {}), **chosen}
        if model is not None and not model.takes_pictures:
            chosen = {"regions": (settings and settings.regions) or True, **chosen}
    data = load(name, root, **chosen)
    is_whole = split == "all" or (split == "train" and not data.splits)  # as in training
    return data if is_whole else data.split(split)


def suited(names: list[str], axes: dict[str, str | None], data: str, captions: Any) -> list[Any]:
    """Return tiny recipes as they suit the data, unless `axes` say how, and print what was chosen.

    Photographs are seen through frozen encoders. Other pictures that `scenes` has not drawn are learnt from scratch.
    """
    from .models.photographs import PHOTOS, are_photographs, photos_installed
    from .train import recipe

    chosen = {name: value for name, value in axes.items() if value is not None}
    if data != "scenes" and not chosen and captions.regions is None:
        if are_photographs(captions):
            if photos_installed():
                show("photographs: on=photos (frozen encoders; --start scratch: without them)")
                return [recipe(name, on="photos") for name in names]
            show(f"the pictures are photographs, for which frozen encoders are better ({PHOTOS})")
        show("pictures that scenes has not drawn: start=scratch (random weights)")
        chosen = {"start": "scratch"}
    return [recipe(name, **chosen) for name in names]


def pairs(words: Words, flag: str) -> dict[str, Any]:
    """Return NAME=VALUE words as a dictionary. A value that is JSON is read as JSON, any other is text.

    >>> pairs(["data.epochs=3", "preset=released"], "--set")
    {'data.epochs': 3, 'preset': 'released'}
    """
    values: dict[str, Any] = {}
    for word in words or []:
        name, equals, value = word.partition("=")
        if not equals or not name:
            raise ItmlabError(f"{word!r} is not NAME=VALUE", where=flag, remedy=f"for example {flag} seed=1")
        try:
            values[name] = json.loads(value)
        except json.JSONDecodeError:
            values[name] = value
    return values


# Train one recipe, or compare several.


@app.command()
def train(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="The run directory; one that was begun is resumed.")],
    recipe: Annotated[str, typer.Option(help="A recipe's name, or a recipe's JSON file.")] = "fne",
    on: On = None,
    start: Start = None,
    size: Annotated[str, typer.Option(help="tiny, base or large.")] = "tiny",
    preset: Annotated[str, typer.Option(help="paper, or released: what the authors' code does.")] = "paper",
    change: Annotated[Words, typer.Option("--set", help="A variation, FIELD=VALUE (data.batch_size=16).")] = None,
    data: DataName = "scenes",
    root: DataRoot = None,
    option: DataOptions = None,
    max_steps: Annotated[int | None, typer.Option(help="Stop after so many steps (resumable).")] = None,
) -> None:
    """Train a recipe; `accelerate launch -m itmlab train …` does it on several devices."""
    from torch import distributed

    from .train import names
    from .train import recipe as named_recipe
    from .train.loop import train as run_training
    from .train.recipes import Recipe

    if str(run) in names() and str(run) != recipe and not run.exists():
        remedy = f"python -m itmlab train runs/{run} --recipe {run}"
        raise ItmlabError("expected a run directory, got a recipe name", where=str(run), remedy=remedy)
    is_file = recipe.endswith(".json") and preset == "paper"
    axes = {"on": on, "start": start}
    named = Recipe.load(recipe) if is_file else named_recipe(recipe, **axes, size=size, preset=preset)
    changes = pairs(change, "--set")
    # the pictures decide which recipe it is, except those of scenes
    read_by = named.replace(**changes) if data == "scenes" else named
    captions = load_data(data, root, option, read_by=read_by)
    if not is_file and (size, preset) == ("tiny", "paper"):
        [named] = suited([recipe], axes, data, captions)
    chosen = named.replace(**changes)
    try:
        with stopping():
            show(f"{run}: {progress_of(run_training(chosen, captions, run, max_steps=max_steps))}")
    finally:
        if distributed.is_available() and distributed.is_initialized():
            distributed.destroy_process_group()  # of several processes, those of gloo would abort as they end


def progress_of(run: Any) -> str:
    """Return RSum on the validation split with the weights that are kept, or how far training has come."""
    best, losses = run.kept_epoch, [record for record in run.history if "loss" in record]
    if best is None:  # nothing is held out, or it was stopped within the first epoch
        return f"step {losses[-1]['step']}, loss {losses[-1]['loss']:.3f}" if losses else "no line of history yet"
    return f"RSum {best['rsum']:.1f} (validation, epoch {best['epoch']}, whose weights are kept)"


@contextmanager
def stopping() -> Iterator[None]:
    """Print what a signal stopped, and exit with its code."""
    from .train.session import Interrupted

    try:
        yield
    except Interrupted as stop:
        show(stop)
        raise typer.Exit(stop.exit_code) from None


@app.command()
def compare(
    recipe: Annotated[list[str], typer.Option(help="A recipe's name; repeatable. Five that suit by default.")] = (),
    on: On = None,
    start: Start = None,
    seeds: Annotated[int, typer.Option(help="Runs per recipe.")] = 3,
    folds: Folds = 1,
    out: Annotated[Path, typer.Option(help="For the runs; finished ones are not trained again.")] = Path("runs"),
    data: DataName = "scenes",
    root: DataRoot = None,
    option: DataOptions = None,
    change: Annotated[Words, typer.Option("--set", help="In every recipe, FIELD=VALUE (data.batch_size=16).")] = None,
) -> None:
    """Train several recipes with several seeds and print a table: recall, differences, intervals."""
    from .train import compare as compare_recipes
    from .train import recipe as named_recipe
    from .train.named import COMPARED

    names, axes, changes = list(recipe or COMPARED), {"on": on, "start": start}, pairs(change, "--set")
    usual = [named_recipe(name, **axes) for name in names]
    read_by = next((candidate for candidate in usual if not candidate.model.takes_pictures), usual[0])
    read_by = read_by.replace(**changes) if data == "scenes" else read_by
    captions = load_data(data, root, option, read_by=read_by)
    compared = [candidate.replace(**changes) for candidate in suited(names, axes, data, captions)]
    with stopping():
        show(compare_recipes(compared, captions, seeds=seeds, folds=folds, run_root=out))


# Commands on a run: scores, answers, features, mined negatives.


@app.command()
def evaluate(
    run: RunName,
    split: SplitName = "test",
    folds: Folds = 1,
    k: Annotated[list[int], typer.Option("-k", help="-k 1 -k 5 for recall at 1 and 5.")] = (1, 5, 10),
    relevance: Annotated[str | None, typer.Option(help="cider or spice: also semantic recall (SR) and NCS.")] = None,
    truth: Annotated[bool, typer.Option("--truth", help="Also mAP@R against all that is true, and oracles.")] = False,
    protocol: Annotated[
        str, typer.Option(help="field, or corrected: captions that read the same are right.")
    ] = "field",
    data: DataName = "scenes",
    root: DataRoot = None,
    option: DataOptions = None,
) -> None:
    """Print recall in both directions, and the median and mean rank of the best positive, as JSON."""
    opened, captions = run_and_split(run, split, data, root, option)
    options = {"folds": folds, "ks": k, "relevance": relevance, "truth": truth, "protocol": protocol}
    scores = opened.evaluate(captions, split=None, **options)
    show(json.dumps(scores, indent=2))


@app.command()
def search(
    run: RunName,
    query: Annotated[str, typer.Argument(help="A sentence, or the path of a picture with --picture.")],
    picture: Annotated[bool, typer.Option("--picture", help="The query is a picture: find captions.")] = False,
    k: Annotated[int, typer.Option("-k", help="How many.")] = 5,
    split: SplitName = "test",
    data: DataName = "scenes",
    root: DataRoot = None,
    option: DataOptions = None,
) -> None:
    """Print the k best pictures for a sentence, or captions for a picture."""
    opened, captions = run_and_split(run, split, data, root, option)
    answers = opened.search(Path(query) if picture else query, k=k, data=captions)
    count = f"{len(captions)} pictures" if answers.of == "images" else f"{len(captions.captions)} captions"
    among = f"all {count}" if split == "all" else f"the {count} of the split {split} (all: --split all)"
    show(f"{answers}\nsearched among {among}")


@app.command()
def embed(
    run: RunName,
    out: Annotated[Path, typer.Argument(metavar="OUT", help="A .safetensors file: images, captions and their ids.")],
    split: SplitName = "test",
    force: Force = False,
    data: DataName = "scenes",
    root: DataRoot = None,
    option: DataOptions = None,
) -> None:
    """Write unit-length features of every image and caption as a safetensors file."""
    from .train.scores import write_embeddings

    opened, captions = run_and_split(run, split, data, root, option)
    counts = write_embeddings(opened, captions, out, force=force)
    show(f"{out}: {counts[0]} images and {counts[1]} captions")


@app.command()
def mine(
    run: RunName,
    out: Annotated[Path, typer.Option("--out", help="A .jsonl file.")],
    setting: Annotated[Words, typer.Option("--set", help="NAME=VALUE: number, skip, margin, relative_margin.")] = None,
    force: Force = False,
    split: SplitName = "train",
    data: DataName = "scenes",
    root: DataRoot = None,
    option: DataOptions = None,
) -> None:
    """Write the hard negatives that a run finds: the nearest captions of other pictures, filtered."""
    from .train.mining import mine as mine_negatives

    opened, captions = run_and_split(run, split, data, root, option)
    mined = mine_negatives(opened, captions, **pairs(setting, "--set"))
    show(mined)
    show(mined.write(out, force=force))


# Commands on captions: their scene graphs, and false sentences made from them.


@app.command()
def parse(
    captions: Annotated[Words, typer.Argument(metavar="[CAPTION]...", help="Sentences.")] = None,
    file: Annotated[Path | None, typer.Option(help="A text file, a caption per line.")] = None,
) -> None:
    """Print the objects, attributes and relations of captions."""
    from .data.tables import read_text
    from .text import parse as parse_captions

    sentences = list(captions or [])
    if file:
        sentences += [line for line in read_text(file).splitlines() if line.strip()]
    if not sentences:
        raise ItmlabError("no caption to parse", remedy='python -m itmlab parse "a dog on a sofa", or --file')
    graphs = parse_captions(sentences, progress=len(sentences) > 1000)
    for sentence, graph in zip(sentences, graphs, strict=True):
        tuples = sorted(graph.tuples(), key=lambda words: (len(words), words))  # objects, attributes, relations
        facts = ", ".join(f"({', '.join(words)})" for words in tuples)
        show(f"{sentence}\n    {facts or 'no object'}")


@app.command()
def negatives(
    out: Annotated[Path, typer.Option("--out", help="A .jsonl file.")],
    generator: Annotated[str, typer.Option(help="vse_c: swaps by rule; tags: refilled by --model.")] = "vse_c",
    model: Annotated[str, typer.Option(help="Refills and scores: a cross-encoder's name or folder.")] = "tags",
    setting: Annotated[
        Words, typer.Option("--set", help="NAME=VALUE: number (vse_c), or maskings, samples, temperature, keep (tags).")
    ] = None,
    seed: Annotated[int, typer.Option(help="Of the random draws.")] = 0,
    truth: Annotated[bool, typer.Option(help="Whether the world calls each true, where there is one (scenes).")] = True,
    force: Force = False,
    split: SplitName = "train",
    data: DataName = "scenes",
    root: DataRoot = None,
    option: DataOptions = None,
) -> None:
    """Write false sentences made from the captions of a split, as extra negatives for training."""
    from .models.base import saved_config
    from .train.directory import start_directory
    from .train.mining import write_negatives

    reader = saved_config(start_directory(model)) if generator == "tags" else None
    captions = load_data(data, root, option, read_by=reader, split=split)
    options = {"model": model, "options": pairs(setting, "--set"), "seed": seed, "truth": truth}
    show(write_negatives(captions, out, generator, force=force, progress=True, **options))


# What is installed, which device is used, what is missing and the command that installs it.


@app.command()
def doctor() -> None:
    """Print what is installed, which device is used, and what is missing with the command that installs it."""
    import torch

    from .metrics.wordnet import wordnet

    device = f"CPU, {cores()} cores, {torch.get_num_threads()} threads"
    if torch.cuda.is_available():
        device = f"CUDA: {torch.cuda.device_count()} of {torch.cuda.get_device_name()} (training in bf16)"
    synonyms = wordnet("auto")
    no_synonyms = "missing: words match themselves only  →  apt-get install wordnet-base"
    findings = {
        "Python": f"{platform.python_version()} at {sys.executable}",
        **_packages(),
        "device": device,
        "WordNet for SPICE": no_synonyms if synonyms is None else synonyms.version,
        "cache": str(cache_directory()),
    }
    for part, finding in findings.items():
        show(f"{part:<34}{finding}")


def _packages() -> dict[str, str]:
    """Return the version of each package, or the command that installs it."""
    findings = {}
    for requirement in requires("itmlab") or []:
        name, extra = re.match(r"[\w.-]+", requirement)[0], re.search(r"extra == ['\"](\w+)", requirement)
        try:
            findings[name] = version(name)
        except PackageNotFoundError:
            note, part = (f"missing (optional: {extra[1]})", f"'.[{extra[1]}]'") if extra else ("missing", ".")
            findings[name] = f"{note}  →  pip install -c constraints.txt -e {part}"
    return findings


def run_commands(app: typer.Typer) -> None:
    """Run a command line; an ItmlabError or an OSError is one line on standard error and exit status 2."""
    warnings.formatwarning = lambda message, *_, **__: f"warning: {one_line(message, 1000)}\n"  # without its source
    sys.stderr = sys.stderr or open(os.devnull, "w")  # noqa: SIM115 (a closed one is None)
    try:
        if sys.stdout is None:
            raise ItmlabError("standard output is closed", remedy="send it to a file, or to /dev/null")
        for stream in (sys.stdout, sys.stderr):
            stream.reconfigure(errors="backslashreplace")  # for what an encoding such as latin-1 cannot write
        try:
            app()
        finally:
            sys.stdout.flush()
    except (ItmlabError, OSError) as error:
        if os.environ.get("ITMLAB_DEBUG"):
            raise
        if isinstance(error, OSError) and sys.stdout is not None:
            try:
                sys.stdout.flush()
            except OSError:  # what is left goes to nowhere, as Python would fail at its end
                os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if isinstance(error, BrokenPipeError):  # as with `| head`
            sys.exit(1)
        print(f"error: {error if isinstance(error, ItmlabError) else unusable(error)}", file=sys.stderr)
        sys.exit(2)


def show(result: Any) -> None:
    """Print a result, with control characters escaped within its lines."""
    print("\n".join(map(printable, str(result).split("\n"))), flush=True)


def main() -> None:
    """Run the commands of itmlab."""
    run_commands(app)
