"""The commands of `python -m itmlab`: train a recipe, ask things of a run, parse and corrupt captions.

An error is one line with its remedy; --debug shows where it arose. What a command needs is imported when it is called,
so that help is quick.
"""

import json
import os
import subprocess
import sys
import warnings
from contextlib import nullcontext
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
    RunName,
    SkipFaults,
    SplitName,
    load_data,
    open_run,
    pairs,
    read_lines,
    run_and_split,
)
from .storage import atomic_file, build_once, refuse_foreign, unusable, write_bytes
from .workbench import Force, Words

# Commands on a run: train one, and ask it for scores, answers, features and maps.


def train(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="The run directory; one already begun is resumed.")],
    recipe: Annotated[str, typer.Option(help="A recipe's name, or a recipe's JSON file.")] = "fne",
    size: Annotated[str, typer.Option(help="tiny, base or large.")] = "tiny",
    preset: Annotated[str, typer.Option(help="paper, or released: what the authors' code does.")] = "paper",
    change: Annotated[Words, typer.Option("--set", help="A variation, FIELD=VALUE (data.epochs=3).")] = None,
    data: DataName = "scenes",
    root: DataRoot = None,
    option: DataOptions = None,
    skip_faults: SkipFaults = False,
    max_steps: Annotated[int | None, typer.Option(help="Stop after so many steps (resumable).")] = None,
    resume: Annotated[bool, typer.Option(help="Go on where the run directory left off.")] = True,
    track: Annotated[str | None, typer.Option(help="Also log to this trackio project (extra: track).")] = None,
) -> None:
    """Train a recipe; `accelerate launch -m itmlab train …` does it on several devices."""
    from torch import distributed

    from . import recipes
    from .recipes.recipe import Recipe
    from .runs.run import tracked
    from .training.loop import train as run_training
    from .training.progress import Interrupted

    saved = recipe.endswith(".json") and preset == "paper"
    chosen = Recipe.load(recipe) if saved else recipes.get(recipe, size, preset)
    chosen = chosen.replace(**{name.replace(".", "__"): value for name, value in pairs(change, "--set").items()})
    captions = load_data(data, root, option, skip_faults, read_by=chosen)
    tracking = tracked(track, chosen, run) if track else nullcontext()
    try:
        with tracking as on_record:
            done = run_training(chosen, captions, run, resume=resume, max_steps=max_steps, on_record=on_record)
    except Interrupted as stop:
        print(stop)
        raise typer.Exit(stop.exit_code) from None
    finally:
        if distributed.is_available() and distributed.is_initialized():
            distributed.destroy_process_group()  # of several processes, those of gloo would abort as they end
    print(f"{done.directory}: {json.dumps(done.history[-1]) if done.history else 'no line of history yet'}")


# Seeds of scenes that no data set has; ViT, BERT and UNITER learn from the same pictures, drawn once.
DRAWN_FOR = {"detector": 90_002, "towers": 90_003, "uniter": 90_003, "marks": 90_001}
DRAWN = {"detector": 10_000, "towers": 24_000, "uniter": 24_000}


def pretrain(
    part: Annotated[
        str,
        typer.Argument(metavar="PART", help="detector (of scenes' regions), towers (ViT, BERT), uniter; or all."),
    ],
    out: Annotated[Path, typer.Argument(metavar="OUT", help="A folder; what was begun in it is gone on with.")],
    images: Annotated[
        int | None,
        typer.Option(help="Pictures to draw and learn from: 24,000, and 10,000 of each edition for the detector."),
    ] = None,
    edition: Annotated[str | None, typer.Option(help="rich or classic; the detector learns from both.")] = None,
) -> None:
    """Learn what tiny recipes begin with, on drawn pictures of other seeds, and say how good it is on more of them.

    "all" learns everything that ships anew, each from what was learnt before it; it is then in OUT/shipped.
    """
    from .scenes import load
    from .scenes.scene import EDITIONS

    if part == "all":
        return learn_all_that_ships(out)
    if part not in DRAWN:
        raise ItmlabError(f"no part {part!r}", where="pretrain", remedy=f"{', '.join(DRAWN)} or all")
    images = DRAWN[part] if images is None else images
    drawn = [f"images={images}", *([f"edition={edition}"] if edition else [])]
    if part == "towers":
        return train(out, recipe=part, option=[*drawn, f"seed={DRAWN_FOR[part]}"])
    if part == "uniter":
        train(out, recipe="uniter_pretraining+regions", option=[*drawn, f"seed={DRAWN_FOR[part]}"])
        return print_what_is_seen(out, [f"images={max(images // 40, 2)}", *drawn[1:], f"seed={DRAWN_FOR['marks']}"])
    from .scenes.detector import WEIGHTS, labelled, learn_to_detect, marks

    model = learn_to_detect(out, [load(images=images, seed=DRAWN_FOR[part], edition=one) for one in EDITIONS])
    held_out = {one: load(images=max(images // 8, 1), seed=DRAWN_FOR["marks"], edition=one) for one in EDITIONS}
    found = {edition: marks(model, *labelled(data, model.asked)) for edition, data in held_out.items()}
    print(f"{out / WEIGHTS}: per cent right on pictures held out, {json.dumps(found)}")


# The runs that ship, each after the one that it begins with.
SHIPPED = ("towers", "vit_dual_encoder", "region_dual_encoder", "uniter_pretraining", "uniter", "tags", "tags_dc")
SHIPPED += ("uniter_pretraining+regions", "triplet", "hardest_memory", "sam", "fne")
PARTS = {"towers": "towers", "uniter_pretraining+regions": "uniter"}


def learn_all_that_ships(out: Path) -> None:
    """Each stage in a process of its own, for which what ships is what the stages before it have left."""
    runs, shipped = out / "runs", out / "shipped"
    detector = shipped / "pretrained_detector" / "scenes.safetensors"

    def stage(module: str, *words: str | Path) -> None:
        print(f"python -m {module} {' '.join(map(str, words))}", flush=True)
        environment = os.environ | {"ITMLAB_WEIGHTS": str(shipped.resolve())}
        done = subprocess.run([sys.executable, "-m", module, *map(str, words)], env=environment)
        if done.returncode:
            raise typer.Exit(done.returncode)

    if not detector.is_file():
        stage("itmlab", "pretrain", "detector", runs / "detector")
        write_bytes(detector, (runs / "detector" / "detector.safetensors").read_bytes())
    language = "itmlab.studies.parser.causal_language"
    build_once(shipped / "pretrained_language" / "scenes", lambda folder: stage(language, folder, "--data", "scenes"))
    for name in SHIPPED:
        home = shipped / "pretrained" / name
        if not home.is_dir():
            begun = (
                ["pretrain", PARTS[name], runs / name] if name in PARTS else ["train", runs / name, "--recipe", name]
            )
            stage("itmlab", *begun)
            build_once(home, lambda folder, run=runs / name: stage("itmlab", "export", run, folder))


def print_what_is_seen(run: Path, drawn: list[str]) -> None:
    """What a cross-encoder tells on pictures held out, and what of it beside wrong ones."""
    from .studies.tags import masked_words, replaced_phrases

    opened = open_run(str(run))
    held_out = load_data("scenes", None, drawn, False, read_by=opened.recipe)
    print(f"{run}: on {len(held_out)} pictures held out")
    for kind, both in masked_words(opened, held_out).items():
        print(f"  masked words, {kind}: {both}")
    print(f"  captions told from sentences with a replaced phrase: {replaced_phrases(opened, held_out)}")


def evaluate(
    run: RunName,
    split: SplitName = "test",
    folds: Annotated[int, typer.Option(help="5 for COCO 1K: consecutive blocks, averaged.")] = 1,
    k: Annotated[list[int], typer.Option("-k", help="-k 1 -k 5 for recall at 1 and 5.")] = (1, 5, 10),
    relevance: Annotated[str | None, typer.Option(help="cider or spice: also semantic recall (SR) and NCS.")] = None,
    truth: Annotated[bool, typer.Option("--truth", help="Also mAP@R against all that is true, and oracles.")] = False,
    scores: Annotated[File, typer.Option(help="A file of a cross-encoder's scores, to keep and go on from.")] = None,
    force: Force = False,
    data: DataName = "scenes",
    root: DataRoot = None,
    option: DataOptions = None,
    skip_faults: SkipFaults = False,
) -> None:
    """Recall in both directions, and the median and mean rank of what is sought, as JSON."""
    from .models.cross_encoder import SCORES, CrossEncoder

    if relevance not in (None, "cider", "spice"):
        raise ItmlabError(f"no relevance {relevance!r}", where="--relevance", remedy="cider or spice")
    opened, captions = run_and_split(run, split, data, root, option, skip_faults)
    asked = {"relevance": relevance, "truth": truth}
    if scores is not None:
        if not isinstance(opened.model, CrossEncoder):
            raise ItmlabError("only a cross-encoder's scores are kept", where="--scores", remedy="leave it out")
        if force and not refuse_foreign(scores, SCORES, force=True):
            scores.unlink(missing_ok=True)
    found = opened.evaluate(captions, split=None, folds=folds, ks=k, **asked, resume=scores)
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
    print(opened.search(Path(query) if picture else query, k=k, data=captions))


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


def attend(
    run: RunName,
    picture: Annotated[Path, typer.Argument(help="A picture file.")],
    caption: Annotated[str, typer.Argument(help="A sentence about it.")],
    out: Annotated[Path, typer.Argument(metavar="OUT", help="A .html, .json or .png file.")],
    force: Force = False,
) -> None:
    """Draw where each word of a sentence lands in a picture."""
    from .data.pictures import read_image
    from .studies.kit.saving import write_figure
    from .studies.maps.attention import word_maps
    from .studies.maps.figures import draw_attention_maps

    maps = word_maps(open_run(run), read_image(picture, where=str(picture)), caption)
    print(write_figure(draw_attention_maps({run: maps}), out, force=force))


def export(
    run: RunName,
    out: Annotated[Path, typer.Argument(metavar="OUT", help="The directory to write.")],
    dtype: Annotated[str, typer.Option(help="float16 (half the size) or float32.")] = "float16",
) -> None:
    """Write a run without what only resuming needs: what ships in itmlab/pretrained was made so."""
    print(open_run(run).export(out, dtype=dtype).directory)


# Commands on captions alone: what they say, and how they are made wrong.

GRAPHS = "itmlab_graphs"  # in each row of a file of scene graphs


def parse(
    captions: Annotated[Words, typer.Argument(metavar="[CAPTION]...", help="Sentences.")] = None,
    file: Annotated[File, typer.Option(help="A text file, a caption a line (- is standard input).")] = None,
    parser: Annotated[str, typer.Option(help="english, a spaCy pipeline, or factual[:NAME_OR_FOLDER].")] = "english",
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


SETTINGS = "maskings, samples, temperature, keep, words, implied (tags); number (vse_c)"


def negatives(
    out: Annotated[Path, typer.Option("--out", help="A .jsonl, .tsv or .parquet file.")],
    generator: Annotated[
        str, typer.Option(help="vse_c: swaps by rule; tags: refilled by --model; or an own one, MODULE:NAME.")
    ] = "vse_c",
    model: Annotated[str | None, typer.Option(help="A cross-encoder that refills and scores: name or folder.")] = None,
    setting: Annotated[Words, typer.Option("--set", help=f"NAME=VALUE: {SETTINGS}.")] = None,
    fluency: Annotated[str | None, typer.Option(help="A causal language model (scenes, gpt2): perplexities.")] = None,
    file_format: Annotated[str | None, typer.Option("--format", help="jsonl, tsv, parquet; else by --out.")] = None,
    seed: Annotated[int, typer.Option(help="Of the random draws.")] = 0,
    truth: Annotated[bool, typer.Option(help="Whether the world calls each true, where there is one (scenes).")] = True,
    resume: Annotated[bool, typer.Option(help="Go on where an earlier export was stopped.")] = True,
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
    made = dict(model=model, options=options, fluency=fluency, format=file_format, seed=seed)
    print(write_negatives(captions, out, generator, **made, truth=truth, resume=resume, force=force, progress=True))


# How options are read.


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
    pretrain,
    evaluate,
    search,
    embed,
    attend,
    export,
    parse,
    negatives,
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
