"""Commands of the workbench itself: notebooks, figures, what is installed."""

import subprocess
import sys
from pathlib import Path
from typing import Annotated

import typer

from ..errors import ItmlabError


def tour(
    profile: Annotated[str, typer.Option(help="quick: minutes; full: what made the committed figures.")] = "quick",
    only: Annotated[
        list[str] | None, typer.Option(help="Only notebooks whose names begin so (04); repeatable.")
    ] = None,
    out: Annotated[Path, typer.Option(help="Where the executed notebooks go.")] = Path("runs/tour"),
) -> None:
    """Run the ordered notebooks without a screen; figures and executed copies stay on disk."""
    from .. import tour as touring
    from ..data import load

    notebooks = touring.find_notebooks(only)
    print("drawing the scenes world (once; later runs read it from the cache) …", flush=True)
    load("scenes")
    stops = touring.tour(notebooks, out.resolve(), profile=profile, say=lambda line: print(line, flush=True))
    print("\n" + touring.summary(stops, out.resolve(), profile=profile))
    if not all(stop.passed for stop in stops):
        raise typer.Exit(1)


def lab(context: typer.Context) -> None:
    """Open JupyterLab on the first notebook (further arguments go to JupyterLab)."""
    from ..project import notebook_directory

    directory = notebook_directory()
    if directory is None:
        raise ItmlabError(
            "the notebooks are not beside the package", remedy="git clone the project, then pip install -e ."
        )
    first = sorted(directory.glob("00_*.ipynb"))[0]
    command = [sys.executable, "-m", "jupyterlab", str(first), *context.args]
    raise typer.Exit(subprocess.call(command, cwd=directory))


def figures() -> None:
    """Write the interactive page of every figure in `figures`, and the index, from the committed JSON."""
    from ..figures import write_pages
    from ..project import figure_directory

    print(write_pages(figure_directory()))


def doctor() -> None:
    """What is installed, which device is used, and what is missing with the command that brings it."""
    from ..doctor import examine

    findings = examine()
    width = max(len(finding.part) for finding in findings)
    for finding in findings:
        line = f"{finding.part:<{width}}  {finding.found}"
        print(line if finding.remedy is None else f"{line}  →  {finding.remedy}")
    if any(finding.required for finding in findings):
        raise typer.Exit(1)
