"""The commands of `python -m workshop`: the notebooks, their figures, and the papers' tables."""

import re
from pathlib import Path
from typing import Annotated

import typer

from itmlab.cli import (
    DataName,
    DataOptions,
    DataRoot,
    Folds,
    Words,
    load_data,
    pairs,
    run_commands,
)
from itmlab.errors import ItmlabError

from . import pretraining, tour
from .report import measure_page

app = typer.Typer(
    name="workshop",
    help="The notebooks of itmlab, their figures, and the tables of four papers.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
app.command("tour")(tour.run_tour)
app.command(context_settings={"allow_extra_args": True, "ignore_unknown_options": True})(tour.lab)  # to JupyterLab
app.command()(tour.figures)
app.command()(pretraining.pretrain)


@app.command()
def ledger(
    paper: Annotated[str, typer.Argument(metavar="PAPER", help="fne, sam, tags, itcontrast or all.")] = "all",
) -> None:
    """Print one row for each claim of the papers: their number, ours with its interval, and the verdict."""
    from . import papers

    print(papers.ledger(paper).to_string())
    print(papers.summary(paper))


@app.command()
def reproduce(
    item: Annotated[str, typer.Argument(metavar="ITEM", help="fne, fne.table_3, …, all, or a page (R4).")] = "all",
    fresh: Annotated[bool, typer.Option("--fresh", help="Train now instead of reading committed results.")] = False,
    keep: Annotated[bool, typer.Option("--keep", help="Write the results where the ledger reads them.")] = False,
    size: Annotated[str, typer.Option(help="tiny; base or large are the papers' sizes.")] = "tiny",
    seeds: Annotated[int, typer.Option(help="How many runs of each row.")] = 2,
    change: Annotated[Words, typer.Option("--set", help="In every recipe, FIELD=VALUE (data.steps=20).")] = None,
    folds: Folds = 1,
    run_root: Annotated[Path, typer.Option(help="Where runs and results go.")] = Path("runs/papers"),
    data: DataName = "scenes",
    root: DataRoot = None,
    option: DataOptions = None,
) -> None:
    """Print a table, figure or claim of the four papers: our numbers beside theirs, and the verdict.

    A page of the report measures its results again.
    """
    from .papers import reproduce as reproduce_items

    if re.fullmatch(r"R\d+", item):
        measure_page(item)
        return

    if not fresh and (data != "scenes" or option):
        raise ItmlabError("no results of other data are committed", where="--data", remedy="add --fresh, which trains")
    loaded = load_data(data, root, option) if data != "scenes" or option else None
    training = {"size": size, "seeds": seeds, "folds": folds, "run_root": run_root}
    reproduce_items(item, fresh=fresh, keep=keep, data=loaded, changes=pairs(change, "--set"), **training)


if __name__ == "__main__":
    run_commands(app)
