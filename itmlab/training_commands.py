"""Commands that train: one recipe, several compared, what they begin with, and the items of the papers."""

import json
import shlex
from pathlib import Path
from typing import Annotated, Any

import typer

from .errors import ItmlabError
from .options import (
    DataName,
    DataOptions,
    DataRoot,
    File,
    Folds,
    Photos,
    SkipFaults,
    changes_of,
    load_data,
    open_run,
    pairs,
    suited,
)
from .workbench import Words


def train(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="The run directory; one already begun is resumed.")],
    recipe: Annotated[str, typer.Option(help="A recipe's name, or a recipe's JSON file.")] = "fne",
    size: Annotated[str, typer.Option(help="tiny, base or large.")] = "tiny",
    preset: Annotated[str, typer.Option(help="paper, or released: what the authors' code does.")] = "paper",
    change: Annotated[Words, typer.Option("--set", help="A variation, FIELD=VALUE (data.batch_size=16).")] = None,
    data: DataName = "scenes",
    root: DataRoot = None,
    option: DataOptions = None,
    skip_faults: SkipFaults = False,
    photos: Photos = True,
    max_steps: Annotated[int | None, typer.Option(help="Stop after so many steps (resumable).")] = None,
    resume: Annotated[bool, typer.Option(help="Go on where the run directory left off.")] = True,
) -> None:
    """Train a recipe; `accelerate launch -m itmlab train …` does it on several devices."""
    from torch import distributed

    from . import recipes
    from .recipes.recipe import Recipe
    from .training.interruption import Interrupted
    from .training.loop import train as run_training

    if str(run) in recipes.names() and str(run) != recipe and not run.exists():
        remedy = f"python -m itmlab train runs/{run} --recipe {run}"
        raise ItmlabError(
            "a recipe's name, where the directory to train into is asked for", where=str(run), remedy=remedy
        )
    saved = recipe.endswith(".json") and preset == "paper"
    named = Recipe.load(recipe) if saved else recipes.get(recipe, size, preset)
    changes = changes_of(change)
    # the pictures decide which recipe it is, but those of scenes
    captions = load_data(
        data, root, option, skip_faults, read_by=named.replace(**changes) if data == "scenes" else named
    )
    if data != "scenes" and not saved and (size, preset) == ("tiny", "paper"):
        named = recipes.get(*suited([recipe], data, captions, photos))
    chosen = named.replace(**changes)
    try:
        done = run_training(chosen, captions, run, resume=resume, max_steps=max_steps)
    except Interrupted as stop:
        print(stop)
        raise typer.Exit(stop.exit_code) from None
    finally:
        if distributed.is_available() and distributed.is_initialized():
            distributed.destroy_process_group()  # of several processes, those of gloo would abort as they end
    asked = [] if data == "scenes" else ["--data", data]
    asked += [] if root is None else ["--root", str(root)]
    asked += [word for one in option or [] for word in ("--option", one)] + ["--skip-faults"] * skip_faults
    ahead = shlex.join(["python", "-m", "itmlab", "evaluate", str(run), *asked])
    print(f"{run}: {what_was_reached(done)}{'' if chosen.towers else f' — next: {ahead}'}")


def what_was_reached(run: Any) -> str:
    """Recall on the validation split with the weights that are kept, or how far training has come."""
    losses = [record for record in run.history if "loss" in record]
    if not losses:
        return "no line of history yet"
    kept = run.kept_epoch
    if kept is None:  # nothing is held out, or it was stopped within the first epoch
        return f"step {losses[-1]['step']}, loss {losses[-1]['loss']:.3f}"
    sides = {"image to text": kept["i2t"], "text to image": kept["t2i"]}
    told = ", ".join(f"{name} {'/'.join(f'{one:.1f}' for one in found.values())}" for name, found in sides.items())
    recalls = f"recall at {'/'.join(map(str, kept['i2t']))}: {told}, RSum {kept['rsum']:.1f}"
    return f"{recalls} (validation, epoch {kept['epoch']}, whose weights are kept)"


PROPORTIONS = "proportions=[0.5, 0.1, 0.4]"  # for a folder whose test split is too small to compare on


def compare(
    recipe: Annotated[list[str], typer.Option(help="A recipe's name; repeatable. Six that suit unless named.")] = (),
    seeds: Annotated[int, typer.Option(help="So many runs of each.")] = 3,
    folds: Folds = 1,
    out: Annotated[Path, typer.Option(help="For the runs; one that is there is not trained again.")] = Path("runs"),
    data: DataName = "scenes",
    root: DataRoot = None,
    option: DataOptions = None,
    skip_faults: SkipFaults = False,
    photos: Photos = True,
    change: Annotated[Words, typer.Option("--set", help="In every recipe, FIELD=VALUE (data.batch_size=16).")] = None,
) -> None:
    """Train several recipes with several seeds and print a table: recall, differences, intervals."""
    from . import recipes
    from .recipes.photographs import COMPARED
    from .training import compare as compare_recipes

    named = list(recipe or COMPARED)
    reads = [name for name in named if getattr(recipes.get(name).model, "visual", "") == "regions"]
    first, changes = recipes.get([*reads, *named][0]), changes_of(change)
    first = first.replace(**changes) if data == "scenes" else first
    captions = load_data(data, root, option, skip_faults, read_by=first)
    named = suited(named, data, captions, photos)
    if not recipe and captions.regions is None and (blind := [name for name in named if name in reads]):
        print(f"left out: {', '.join(blind)}, as it reads regions and these data have none")
        named = [name for name in named if name not in blind]
    compared = [recipes.get(name).replace(**changes) for name in named]
    try:
        print(compare_recipes(compared, captions, seeds=seeds, folds=folds, run_root=out))
    except ItmlabError as error:
        if data != "folder" or not (error.where or "").startswith("split "):
            raise
        cure = f"of {25 * folds} images or more --option '{PROPORTIONS}' makes one, unless a column split says where"
        raise ItmlabError(error.what, where=error.where, remedy=f"{error.remedy}: {cure}") from None


# Seeds of scenes that no data set has; ViT, BERT and UNITER learn from the same pictures, drawn once.
DRAWN_FOR = {"detector": 90_002, "towers": 90_003, "vit": 90_003, "uniter": 90_003, "marks": 90_001}
DRAWN = {"detector": 20_000, "towers": 24_000, "vit": 24_000, "uniter": 24_000}
LEARNT = {"towers": "towers", "vit": "vit_dual_encoder", "uniter": "uniter_pretraining"}  # by these recipes


def pretrain(
    part: Annotated[
        str,
        typer.Argument(
            metavar="PART", help="detector (of scenes' regions), towers (ViT, BERT), vit (both aligned), uniter."
        ),
    ],
    out: Annotated[Path, typer.Argument(metavar="OUT", help="A folder; a stopped run continues, not a detector.")],
    images: Annotated[
        int | None,
        typer.Option(help="Pictures to draw and learn from: 24,000, and 20,000 for the detector."),
    ] = None,
) -> None:
    """Learn what tiny recipes start from, on drawn pictures of other seeds, and print marks on held-out pictures."""
    from .scenes import load

    if part not in DRAWN:
        raise ItmlabError(f"no part {part!r}", where="pretrain", remedy=f"there are {', '.join(DRAWN)}")
    images = DRAWN[part] if images is None else images
    if part in LEARNT:
        train(out, recipe=LEARNT[part], option=[f"images={images}", f"seed={DRAWN_FOR[part]}"])
        if part == "uniter":
            print_what_is_seen(out, [f"images={max(images // 40, 2)}", f"seed={DRAWN_FOR['marks']}"])
        return
    from .scenes.detector import WEIGHTS, labelled, learn_to_detect, marks

    model = learn_to_detect(out, load(images=images, seed=DRAWN_FOR[part]))
    held_out = load(images=max(images // 16, 1), seed=DRAWN_FOR["marks"])
    accuracies = marks(model, *labelled(held_out, model.asked))
    print(f"{out / WEIGHTS}: per cent right on pictures held out, {json.dumps(accuracies)}")


def print_what_is_seen(run: Path, drawn: list[str]) -> None:
    """What a cross-encoder tells on pictures held out, and what of it beside wrong ones."""
    from .studies.tags import masked_words, replaced_phrases

    opened = open_run(str(run))
    held_out = load_data("scenes", None, drawn, False, read_by=opened)
    print(f"{run}: on {len(held_out)} pictures held out")
    for kind, both in masked_words(opened, held_out).items():
        print(f"  masked words, {kind}: {both}")
    print(f"  captions told from sentences with a replaced phrase: {replaced_phrases(opened, held_out)}")


# The papers, item by item.


def reproduce(
    item: Annotated[str, typer.Argument(metavar="ITEM", help="fne, fne.table_3, …, or all.")] = "all",
    fresh: Annotated[bool, typer.Option("--fresh", help="Train it now, instead of what is committed.")] = False,
    keep: Annotated[bool, typer.Option("--keep", help="Keep what was measured where the ledger reads it.")] = False,
    size: Annotated[str, typer.Option(help="tiny; base or large are the papers'.")] = "tiny",
    seeds: Annotated[int, typer.Option(help="How many runs of each row.")] = 2,
    change: Annotated[Words, typer.Option("--set", help="In every recipe, FIELD=VALUE (data.steps=20).")] = None,
    folds: Folds = 1,
    run_root: Annotated[Path, typer.Option(help="Where runs and results go.")] = Path("runs/papers"),
    out: Annotated[File, typer.Option(help="A folder for the figures.")] = None,
    data: DataName = "scenes",
    root: DataRoot = None,
    option: DataOptions = None,
    skip_faults: SkipFaults = False,
) -> None:
    """A table, figure or claim of the four papers: ours beside theirs, and what holds here."""
    from .papers import reproduce as reproduced

    if not fresh and (data != "scenes" or option):
        raise ItmlabError("no other data are committed", where="--data", remedy="add --fresh, which trains")
    given = None if data == "scenes" else load_data(data, root, option, skip_faults)
    options = pairs(option, "--option") if data == "scenes" else {}
    asked = {"data": given, "size": size, "seeds": seeds, "changes": changes_of(change), **options}
    reproduced(item, fresh=fresh, keep=keep, folds=folds, run_root=run_root, out=out, **asked)
