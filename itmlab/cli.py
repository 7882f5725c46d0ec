"""The commands of `python -m itmlab`: train a recipe, ask things of a run, parse and corrupt captions.

An error is one line with its remedy; --debug shows where it arose. What a command needs is imported when it is called,
so that help is quick.
"""

import json
import os
import sys
import warnings
from pathlib import Path
from typing import Annotated

import typer

from . import workbench
from .book import book
from .data.faults import one_line
from .errors import ItmlabError
from .options import (
    DataName,
    DataOptions,
    DataRoot,
    File,
    Folds,
    RunName,
    SkipFaults,
    SplitName,
    load_data,
    open_run,
    pairs,
    read_lines,
    run_and_split,
)
from .storage import atomic_file, refuse_foreign, unusable
from .training_commands import compare, pretrain, reproduce, train
from .workbench import Force, Words

# Commands on a run: train one, and ask it for scores, answers, features and maps.


def evaluate(
    run: RunName,
    split: SplitName = "test",
    folds: Folds = 1,
    k: Annotated[list[int], typer.Option("-k", help="-k 1 -k 5 for recall at 1 and 5.")] = (1, 5, 10),
    relevance: Annotated[str | None, typer.Option(help="cider or spice: also semantic recall (SR) and NCS.")] = None,
    truth: Annotated[bool, typer.Option("--truth", help="Also mAP@R against all that is true, and oracles.")] = False,
    data: DataName = "scenes",
    root: DataRoot = None,
    option: DataOptions = None,
    skip_faults: SkipFaults = False,
) -> None:
    """Recall in both directions, and the median and mean rank of what is sought, as JSON."""
    from .runs.run import cutoffs_told

    if relevance not in (None, "cider", "spice"):
        raise ItmlabError(f"no relevance {relevance!r}", where="--relevance", remedy="cider or spice")
    opened, captions = run_and_split(run, split, data, root, option, skip_faults)
    asked = {"relevance": relevance, "truth": truth}
    more = "" if split == "all" else ", or rank more candidates: --split all"
    with cutoffs_told(lambda ks: " ".join(f"-k {one}" for one in ks) + more):
        found = opened.evaluate(captions, split=None, folds=folds, ks=k, **asked)
    print(json.dumps(found, indent=2))


def search(
    run: RunName,
    query: Annotated[str, typer.Argument(help="A sentence, or the path of a picture with --picture.")],
    picture: Annotated[bool, typer.Option("--picture", help="The query is a picture: find captions.")] = False,
    k: Annotated[int, typer.Option("-k", help="How many.")] = 5,
    split: SplitName = "test",
    data: DataName = "scenes",
    root: DataRoot = None,
    option: DataOptions = None,
    skip_faults: SkipFaults = False,
) -> None:
    """The k best pictures for a sentence, or captions for a picture."""
    opened, captions = run_and_split(run, split, data, root, option, skip_faults)
    found = opened.search(Path(query) if picture else query, k=k, data=captions)
    many = f"{len(captions)} pictures" if found.of == "images" else f"{len(captions.captions)} captions"
    among = f"all {many}" if split == "all" else f"the {many} of the split {split} (all: --split all)"
    print(f"{found}\nsearched among {among}")


def embed(
    run: RunName,
    out: Annotated[Path, typer.Argument(metavar="OUT", help="A .safetensors file: images, captions and their ids.")],
    split: SplitName = "test",
    force: Force = False,
    data: DataName = "scenes",
    root: DataRoot = None,
    option: DataOptions = None,
    skip_faults: SkipFaults = False,
) -> None:
    """Unit-length features of every image and caption, as a safetensors file."""
    from .runs.scores import write_embeddings

    opened, captions = run_and_split(run, split, data, root, option, skip_faults)
    counts = write_embeddings(opened, captions, out, force=force)
    print(f"{out}: {counts[0]} images and {counts[1]} captions")


def export(
    run: RunName,
    out: Annotated[Path, typer.Argument(metavar="OUT", help="The directory to write.")],
    dtype: Annotated[str, typer.Option(help="float16 (half the size) or float32.")] = "float16",
) -> None:
    """Write a run without what only resuming needs: what ships in itmlab/pretrained was made so."""
    open_run(run).export(out, dtype=dtype)
    print(out)


# Commands on captions alone: what they say, and how they are made wrong.

GRAPHS = "itmlab_graphs"  # in each row of a file of scene graphs


def parse(
    captions: Annotated[Words, typer.Argument(metavar="[CAPTION]...", help="Sentences.")] = None,
    file: Annotated[File, typer.Option(help="A text file, a caption a line (- is standard input).")] = None,
    parser: Annotated[str, typer.Option(help="english, or a spaCy pipeline by name or folder.")] = "english",
    out: Annotated[File, typer.Option(help="Write whole graphs, with token spans, as JSON lines.")] = None,
    force: Force = False,
) -> None:
    """What captions say: their objects, attributes and relations."""
    from .text import parse as parse_captions

    sentences = [*(captions or []), *(read_lines(file) if file else [])]
    if not sentences:
        raise ItmlabError("no caption to parse", remedy='python -m itmlab parse "a dog on a sofa", or --file')
    if out is not None:
        refuse_foreign(out, GRAPHS, force=force)
    graphs = parse_captions(sentences, parser=parser, progress=len(sentences) > 1000)
    if out is None:
        for sentence, graph in zip(sentences, graphs, strict=True):
            tuples = sorted(graph.tuples(), key=lambda words: (len(words), words))  # objects, attributes, relations
            said = ", ".join(f"({', '.join(words)})" for words in tuples)
            print(f"{sentence}\n    {said or 'no object'}")
        return
    with atomic_file(out) as written:
        for sentence, graph in zip(sentences, graphs, strict=True):
            row = {GRAPHS: 1, "caption": sentence, "graph": graph.to_dict()}
            written.write(json.dumps(row).encode() + b"\n")
    print(f"{out}: {len(graphs)} graphs")


MINING = "number, skip, up_to, relative_margin, probability, prior"
SETTINGS = "maskings, samples, temperature, keep, words, implied (tags); number (vse_c)"


def negatives(
    out: Annotated[Path, typer.Option("--out", help="A .jsonl file.")],
    generator: Annotated[str, typer.Option(help="vse_c: swaps by rule; tags: refilled by --model.")] = "vse_c",
    model: Annotated[str | None, typer.Option(help="A cross-encoder that refills and scores: name or folder.")] = None,
    setting: Annotated[Words, typer.Option("--set", help=f"NAME=VALUE: {SETTINGS}.")] = None,
    fluency: Annotated[str | None, typer.Option(help="A causal language model (scenes, gpt2): perplexities.")] = None,
    seed: Annotated[int, typer.Option(help="Of the random draws.")] = 0,
    truth: Annotated[bool, typer.Option(help="Whether the world calls each true, where there is one (scenes).")] = True,
    force: Force = False,
    split: SplitName = "all",
    data: DataName = "scenes",
    root: DataRoot = None,
    option: DataOptions = None,
    skip_faults: SkipFaults = False,
) -> None:
    """Write wrong sentences of every caption, with what was changed, as extra negatives for training."""
    from .training.negative_files import read_by, write_negatives

    reader = read_by(model or "tags") if model or generator == "tags" else None
    captions = load_data(data, root, option, skip_faults, read_by=reader, split=split)
    options = pairs(setting, "--set")
    print(
        write_negatives(
            captions,
            out,
            generator,
            model=model,
            options=options,
            fluency=fluency,
            seed=seed,
            truth=truth,
            force=force,
            progress=True,
        )
    )


def mine(
    run: RunName,
    out: Annotated[Path, typer.Option("--out", help="A .jsonl file.")],
    setting: Annotated[Words, typer.Option("--set", help=f"NAME=VALUE: {MINING}.")] = None,
    force: Force = False,
    split: SplitName = "train",
    data: DataName = "scenes",
    root: DataRoot = None,
    option: DataOptions = None,
    skip_faults: SkipFaults = False,
) -> None:
    """Write the hard negatives that a run finds: the nearest captions of each picture but its own, filtered."""
    from .runs.mining import mine as mined_by

    opened, captions = run_and_split(run, split, data, root, option, skip_faults)
    mined = mined_by(opened, captions, **pairs(setting, "--set"))
    print(mined)
    print(mined.write(out, force=force))


# The commands under their names.

app = typer.Typer(
    name="itmlab",
    help="A workbench for image-text matching with hard, synthetic and false negatives.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

PASSED_ON = {"allow_extra_args": True, "ignore_unknown_options": True}  # to JupyterLab
app.command("tour")(workbench.run_tour)
app.command(context_settings=PASSED_ON)(workbench.lab)
for command in (
    train,
    compare,
    pretrain,
    evaluate,
    search,
    embed,
    export,
    parse,
    negatives,
    mine,
    reproduce,
    workbench.figures,
    book,
    workbench.doctor,
):
    app.command()(command)


@app.callback()
def _options(debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False) -> None:
    if debug:
        os.environ["ITMLAB_DEBUG"] = "1"


def main() -> None:
    """Run a command; an ItmlabError, or what the system refuses, is one line on standard error and exit status 2."""
    warnings.formatwarning = lambda message, *_, **__: f"warning: {one_line(message, 1000)}\n"  # without its source
    if "--debug" in sys.argv[1:]:  # wherever it stands
        sys.argv = [sys.argv[0], "--debug", *(word for word in sys.argv[1:] if word != "--debug")]
    try:
        app()
    except (ItmlabError, OSError) as error:
        if os.environ.get("ITMLAB_DEBUG"):
            raise
        print(f"error: {error if isinstance(error, ItmlabError) else unusable(error)}", file=sys.stderr)
        sys.exit(2)
