"""`python -m itmlab`: the commands. An error is one line with its remedy; --debug shows where it arose."""

import json
import os
import subprocess
import sys
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated, Any

import typer

from .errors import ItmlabError
from .storage import atomic_file

app = typer.Typer(
    name="itmlab",
    help="A workbench for image-text matching with hard, synthetic and false negatives.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

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


@app.callback()
def _options(debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False) -> None:
    if debug:
        os.environ["ITMLAB_DEBUG"] = "1"


@app.command()
def tour(
    profile: Annotated[str, typer.Option(help="quick: minutes; full: what made the committed figures.")] = "quick",
    only: Annotated[
        list[str] | None, typer.Option(help="Only notebooks whose names begin so (04); repeatable.")
    ] = None,
    out: Annotated[Path, typer.Option(help="Where the executed notebooks go.")] = Path("runs/tour"),
) -> None:
    """Run the ordered notebooks without a screen; figures and executed copies stay on disk."""
    from . import tour as touring
    from .data import load

    notebooks = touring.find_notebooks(only)
    print("drawing the scenes world (once; later runs read it from the cache) …", flush=True)
    load("scenes")
    stops = touring.tour(notebooks, out.resolve(), profile=profile, say=lambda line: print(line, flush=True))
    print("\n" + touring.summary(stops, out.resolve(), profile=profile))
    if not all(stop.passed for stop in stops):
        raise typer.Exit(1)


@app.command(context_settings={"allow_extra_args": True, "ignore_unknown_options": True})
def lab(context: typer.Context) -> None:
    """Open JupyterLab on the first notebook (further arguments go to JupyterLab)."""
    from .project import notebook_directory

    directory = notebook_directory()
    if directory is None:
        raise ItmlabError(
            "the notebooks are not beside the package", remedy="git clone the project, then pip install -e ."
        )
    first = sorted(directory.glob("00_*.ipynb"))[0]
    command = [sys.executable, "-m", "jupyterlab", str(first), *context.args]
    raise typer.Exit(subprocess.call(command, cwd=directory))


@app.command()
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
    from . import recipes
    from .training import Interrupted, Recipe, tracked
    from .training import train as run_training

    chosen = Recipe.load(recipe) if recipe.endswith(".json") else recipes.get(recipe, size=size)
    variations = {name.replace(".", "__"): value for name, value in _pairs(change, "--set").items()}
    chosen = chosen.replace(**variations)
    captions = _load(data, root, option, skip_faults)
    tracking = tracked(track, chosen, run) if track else nullcontext()
    try:
        with tracking as on_record:
            done = run_training(chosen, captions, run, resume=resume, max_steps=max_steps, on_record=on_record)
    except Interrupted as stop:
        print(stop)
        raise typer.Exit(stop.exit_code) from None
    print(f"{done.directory}: {json.dumps(done.history[-1]) if done.history else 'no line of history yet'}")


@app.command()
def evaluate(
    run: RunName,
    split: Annotated[str, typer.Option(help="train, val, test, or all.")] = "test",
    folds: Annotated[int, typer.Option(help="5 for COCO 1K: consecutive blocks, averaged.")] = 1,
    relevance: Annotated[str | None, typer.Option(help="cider or spice: also semantic recall (SR) and NCS.")] = None,
    data: DataName = "scenes",
    root: DataRoot = None,
    option: DataOptions = None,
    skip_faults: SkipFaults = False,
) -> None:
    """Recall in both directions, as JSON."""
    if relevance not in (None, "cider", "spice"):
        raise ItmlabError(f"no relevance {relevance!r}", where="--relevance", remedy="cider or spice")
    opened, captions = _open(run), _split(_load(data, root, option, skip_faults), split)
    print(json.dumps(opened.evaluate(captions, split=None, folds=folds, relevance=relevance), indent=2))


@app.command()
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
    opened, captions = _open(run), _split(_load(data, root, option, skip_faults), split)
    print(opened.search(Path(query) if picture else query, k=k, data=captions))


@app.command()
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
    from .training import write_embeddings

    counts = write_embeddings(_open(run), _split(_load(data, root, option, skip_faults), split), out)
    print(f"{out}: {counts[0]} images and {counts[1]} captions")


@app.command()
def attend(
    run: RunName,
    picture: Annotated[Path, typer.Argument(help="A picture file.")],
    caption: Annotated[str, typer.Argument(help="A sentence about it.")],
    out: Annotated[Path, typer.Argument(metavar="OUT", help="A .html, .json or .png file.")],
) -> None:
    """Draw where each word of a sentence lands in a picture."""
    from .data.images import read_image
    from .explain import word_maps
    from .figures import attention_maps, write_figure

    opened = _open(run)
    pixels = read_image(picture, where=str(picture))
    maps = word_maps(opened.model, pixels, caption)
    print(write_figure(attention_maps({run: maps}), out))


@app.command()
def export(
    run: RunName,
    out: Annotated[Path, typer.Argument(metavar="OUT", help="The directory to write.")],
    dtype: Annotated[str, typer.Option(help="float16 (half the size) or float32.")] = "float16",
) -> None:
    """Write a run without what only resuming needs: what ships in itmlab/pretrained was made so."""
    print(_open(run).export(out, dtype=dtype).directory)


@app.command()
def parse(
    captions: Annotated[list[str] | None, typer.Argument(metavar="[CAPTION]...", help="Sentences.")] = None,
    file: Annotated[
        Path | None, typer.Option("--file", help="A text file, a caption a line (- is standard input).")
    ] = None,
    parser: Annotated[str, typer.Option(help="english, a spaCy pipeline, or factual[:NAME_OR_FOLDER].")] = "english",
    out: Annotated[
        Path | None, typer.Option("--out", help="Write whole graphs, with token spans, as JSON lines.")
    ] = None,
) -> None:
    """What captions say: their objects, attributes and relations."""
    from .text import parse as parse_captions

    sentences = [*(captions or []), *(_lines(file) if file else [])]
    if not sentences:
        raise ItmlabError("no caption to parse", remedy='python -m itmlab parse "a dog on a sofa", or --file')
    graphs = parse_captions(sentences, parser=parser, progress=len(sentences) > 1000)
    if out is None:
        for sentence, graph in zip(sentences, graphs, strict=True):
            said = ", ".join(
                f"({', '.join(words)})" for words in sorted(graph.tuples(), key=lambda words: (len(words), words))
            )
            print(f"{sentence}\n    {said or 'no object'}")
        return
    with atomic_file(out) as written:
        for sentence, graph in zip(sentences, graphs, strict=True):
            written.write(json.dumps({"caption": sentence, "graph": graph.to_dict()}).encode() + b"\n")
    print(f"{out}: {len(graphs)} graphs")


@app.command()
def figures() -> None:
    """Write the interactive page of every figure in `figures`, and the index, from the committed JSON."""
    from .figures import write_pages
    from .project import figure_directory

    print(write_pages(figure_directory()))


@app.command()
def doctor() -> None:
    """What is installed, which device is used, and what is missing with the command that brings it."""
    from .doctor import examine

    findings = examine()
    width = max(len(finding.part) for finding in findings)
    for finding in findings:
        line = f"{finding.part:<{width}}  {finding.found}"
        print(line if finding.remedy is None else f"{line}  →  {finding.remedy}")
    if any(finding.required for finding in findings):
        raise typer.Exit(1)


def main() -> None:
    """Run a command; an ItmlabError is one line on standard error and exit status 2."""
    if "--debug" in sys.argv[1:]:  # wherever it stands
        sys.argv = [sys.argv[0], "--debug", *(word for word in sys.argv[1:] if word != "--debug")]
    try:
        app()
    except ItmlabError as error:
        if os.environ.get("ITMLAB_DEBUG"):
            raise
        print(f"error: {error}", file=sys.stderr)
        sys.exit(2)


def _lines(file: Path) -> list[str]:
    """The lines of a text file that are not blank."""
    try:
        text = sys.stdin.read() if str(file) == "-" else file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ItmlabError(f"cannot be read: {error}", where=str(file), remedy="give a UTF-8 text file") from None
    return [line for line in text.splitlines() if line.strip()]


def _pairs(given: list[str] | None, flag: str) -> dict[str, Any]:
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


def _load(name: str, root: Path | None, options: list[str] | None, skip_faults: bool) -> Any:
    from .data import load

    return load(name, root, on_fault="skip" if skip_faults else "error", **_pairs(options, "--option"))


def _split(data: Any, name: str) -> Any:
    return data if name == "all" else data.split(name)


def _open(run: str) -> Any:
    from .training import Run, pretrained

    return Run(Path(run)) if Path(run).is_dir() else pretrained(run)
