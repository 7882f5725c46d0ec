"""The tour of all notebooks without a screen, JupyterLab, and the pages of figures."""

import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Annotated, NamedTuple

import typer
from tqdm import tqdm

from itmlab.cli import Force, Words
from itmlab.errors import ItmlabError
from itmlab.storage import cache_directory, cores, read_json, refuse_foreign, write_bytes

from . import outputs
from .places import figure_directory, notebook_directory, threads_of_a_process

CELL_TIMEOUT = 1800  # seconds; a cell that takes longer hangs
TOUR = "itmlab_tour"  # marks executed notebooks, the only ones that the next tour overwrites
DRAWING = ThreadPoolExecutor(1)  # draws the pictures of a finished notebook while the next one runs
ON_PHOTOGRAPHS = "12_on_photographs"  # needs the extra "photos"


def run_tour(
    only: Annotated[Words, typer.Option(help="Only notebooks whose names begin so (04); repeatable.")] = None,
    out: Annotated[Path, typer.Option(help="Where the executed notebooks go.")] = Path("runs/tour"),
    jobs: Annotated[int | None, typer.Option(help="Notebooks at a time: 2, or 1 on one core.", min=1)] = None,
    keep: Annotated[bool, typer.Option("--keep", help="Write the outputs into the notebooks themselves.")] = False,
    force: Force = False,
) -> None:
    """Run the ordered notebooks without a screen; figures and executed copies stay on disk."""
    from itmlab.data import load

    notebooks = find_notebooks(only)
    for notebook in notebooks:
        refuse_foreign(out / notebook.name, TOUR, force=force)
    print("drawing the scenes world (once; later runs read it from the cache) …", flush=True)
    load("scenes")
    started = time.monotonic()
    stops = tour(notebooks, out.resolve(), jobs=jobs or min(2, cores()))
    passed = sum(stop.error is None for stop in stops)
    print(f"\n{passed} of {len(stops)} notebooks passed in {time.monotonic() - started:.0f} s")
    print(f"figures:            {figure_directory() / 'tour' / 'index.html'}\nexecuted notebooks: {out.resolve()}")
    if passed < len(stops):
        raise typer.Exit(1)
    if keep:
        for notebook in notebooks:
            if (out / notebook.name).exists():
                outputs.keep_outputs(notebook, out / notebook.name)


class Stop(NamedTuple):
    """How one notebook of the tour went.

    Attributes:
        notebook: the notebook's name without ending.
        seconds: how long it took.
        error: what went wrong, or None.
        figures: the number of figures that it shows.
    """

    notebook: str
    seconds: float
    error: str | None
    figures: int


def find_notebooks(only: list[str] | None = None) -> list[Path]:
    """List the ordered notebooks that ship.

    Args:
        only: beginnings of names; only these notebooks are listed.

    Raises:
        ItmlabError: this is an installed wheel, which has no notebooks, or none begins so.
    """
    notebooks = sorted(notebook_directory().glob("[0-9][0-9]_*.ipynb"))
    chosen = [path for path in notebooks if path.name.startswith(tuple(only or [""]))]
    if not chosen:
        names = ", ".join(path.stem for path in notebooks)
        raise ItmlabError(f"no notebook begins with {only}", remedy=f"there are {names}")
    return chosen


def tour(notebooks: list[Path], out: Path, *, jobs: int = 1) -> list[Stop]:
    """Run each notebook from a clean kernel, with a bar over all cells and a line per finished notebook.

    The figures that a notebook shows are saved in `figures/tour` under its number and theirs: 04_1, 04_2 and so on.

    Args:
        notebooks: the notebooks to run.
        out: the folder for the executed copies.
        jobs: how many notebooks run at a time; the cores are divided among them.

    Returns:
        One stop per notebook, in their order. A notebook on photographs is left out where its extra is missing.
    """
    from itmlab.models.photographs import PHOTOS, photos_installed

    from .plots.saving import write_pages

    if not photos_installed():
        print(f"{ON_PHOTOGRAPHS}: left out, needs {PHOTOS}", flush=True)
        notebooks = [path for path in notebooks if path.stem != ON_PHOTOGRAPHS]
    stops = asyncio.run(_run_all(notebooks, out, jobs))
    write_pages(figure_directory() / "tour")
    return stops


async def _run_all(notebooks: list[Path], out: Path, jobs: int) -> list[Stop]:
    """Run the notebooks, `jobs` at a time; Ctrl-C cancels the tasks, which shuts their kernels down."""
    free = asyncio.Semaphore(jobs)
    threads = max(1, cores() // jobs)  # two kernels with two threads each on two cores wait for each other
    cells = sum(len(outputs.code_cells(read_json(path))) for path in notebooks)
    with tqdm(total=cells, unit="cell", mininterval=5, desc=f"{len(notebooks)} notebooks") as bar:

        async def run(path: Path) -> Stop:
            async with free:
                stop = await run_notebook(path, out / path.name, threads, on_cell=lambda **_: bar.update())
            result = f"FAILED\n{stop.error}" if stop.error else f"done in {stop.seconds:.0f} s, {stop.figures} figures"
            bar.write(f"{stop.notebook}: {result}")
            return stop

        return await asyncio.gather(*map(run, notebooks))


async def run_notebook(notebook: Path, executed: Path, threads: int, on_cell: Callable[..., None]) -> Stop:
    """Run one notebook from a clean kernel in its own folder.

    Args:
        notebook: the notebook.
        executed: where the executed copy goes, also when a cell fails.
        threads: how many threads the kernel computes with, unless the environment says so.
        on_cell: called after each cell.

    Returns:
        The stop. A cell that raises, one that takes longer than CELL_TIMEOUT and a kernel that dies are its error.
    """
    import nbformat
    from nbclient import NotebookClient
    from nbclient.exceptions import CellExecutionError, CellTimeoutError

    content = nbformat.read(notebook, as_version=4)
    content.metadata[TOUR] = 1
    content.cells[0].metadata[TOUR] = 1  # near the beginning of the file, where `refuse_foreign` looks
    client = NotebookClient(
        content,
        timeout=CELL_TIMEOUT,
        kernel_name="python3",
        extra_arguments=["--IPKernelApp.log_level=40"],  # only errors: warnings would break the bar
        resources={"metadata": {"path": str(notebook.parent)}},
        on_cell_executed=on_cell,
    )
    environment = {**threads_of_a_process(threads), **os.environ, "ITMLAB_STATIC": "1"}
    environment["ITMLAB_FIGURES"] = str(figure_directory().resolve())  # the kernel has another working directory
    started, error = time.monotonic(), None
    try:
        await client.async_execute(env=environment)
    except (CellExecutionError, CellTimeoutError, RuntimeError) as failure:  # RuntimeError: the kernel died
        error = str(failure).strip()
    finally:
        write_bytes(executed, nbformat.writes(content).encode())
    seconds = time.monotonic() - started
    place = notebook.stem[:2], figure_directory() / "tour"
    shown = await asyncio.get_running_loop().run_in_executor(DRAWING, outputs.save_figures, content, *place)
    write_bytes(executed, nbformat.writes(content).encode())  # now with a picture of each figure
    return Stop(notebook.stem, seconds, error, shown)


# JupyterLab and the figures' pages.

# No question about news, which stands over the figures, and no look for updates.
LAB_DEFAULTS = {"@jupyterlab/apputils-extension:notification": {"fetchNews": "false", "checkForUpdates": False}}


def lab(context: typer.Context) -> None:
    """Open JupyterLab on the first notebook (further arguments go to JupyterLab)."""
    first = find_notebooks()[0]
    command = [sys.executable, "-m", "jupyterlab", str(first), *context.args]
    raise typer.Exit(subprocess.call(command, cwd=first.parent, env=lab_environment()))


def lab_environment() -> dict[str, str]:
    """The environment in which JupyterLab begins with our defaults, which a reader's own settings overrule."""
    home = cache_directory().resolve() / "lab"
    write_bytes(home / "labconfig" / "default_setting_overrides.json", json.dumps(LAB_DEFAULTS).encode())
    path = os.pathsep.join(filter(None, [str(home), os.environ.get("JUPYTER_CONFIG_PATH")]))
    return {**os.environ, "JUPYTER_CONFIG_PATH": path}


def figures() -> None:
    """Write the interactive page of every figure in `figures`, and the index, from the committed JSON."""
    from .plots.saving import write_pages

    print(write_pages(figure_directory()))
