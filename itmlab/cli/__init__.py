"""`python -m itmlab`: the commands. An error is one line with its remedy; --debug shows where it arose."""

import os
import sys
from typing import Annotated

import typer

from ..errors import ItmlabError
from . import runs, sentences, workbench

app = typer.Typer(
    name="itmlab",
    help="A workbench for image-text matching with hard, synthetic and false negatives.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

PASSED_ON = {"allow_extra_args": True, "ignore_unknown_options": True}  # to JupyterLab
app.command()(workbench.tour)
app.command(context_settings=PASSED_ON)(workbench.lab)
for command in (
    *(runs.train, runs.evaluate, runs.search, runs.embed, runs.attend, runs.export),
    *(sentences.parse, sentences.negatives),
    *(workbench.figures, workbench.doctor),
):
    app.command()(command)


@app.callback()
def _options(debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False) -> None:
    if debug:
        os.environ["ITMLAB_DEBUG"] = "1"


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
