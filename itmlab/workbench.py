"""Commands of the workbench itself: notebooks, figures, what is installed."""

import os
import platform
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path
from typing import Annotated

import typer

from .errors import ItmlabError
from .storage import Profile, cache_directory, figure_directory, notebook_directory, write_bytes


def run_tour(
    profile: Annotated[str, typer.Option(help="quick: minutes; full: what made the committed figures.")] = "quick",
    only: Annotated[
        list[str] | None, typer.Option(help="Only notebooks whose names begin so (04); repeatable.")
    ] = None,
    out: Annotated[Path, typer.Option(help="Where the executed notebooks go.")] = Path("runs/tour"),
) -> None:
    """Run the ordered notebooks without a screen; figures and executed copies stay on disk."""
    from .data import load

    notebooks = find_notebooks(only)
    print("drawing the scenes world (once; later runs read it from the cache) …", flush=True)
    load("scenes")
    stops = tour(notebooks, out.resolve(), profile=profile, say=lambda line: print(line, flush=True))
    print("\n" + summary(stops, out.resolve(), profile=profile))
    if not all(stop.passed for stop in stops):
        raise typer.Exit(1)


def lab(context: typer.Context) -> None:
    """Open JupyterLab on the first notebook (further arguments go to JupyterLab)."""
    from .storage import notebook_directory

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
    from .storage import figure_directory
    from .studies.kit.saving import write_pages

    print(write_pages(figure_directory()))


def doctor() -> None:
    """What is installed, which device is used, and what is missing with the command that brings it."""

    findings = examine()
    width = max(len(finding.part) for finding in findings)
    for finding in findings:
        line = f"{finding.part:<{width}}  {finding.found}"
        print(line if finding.remedy is None else f"{line}  →  {finding.remedy}")
    if any(finding.required for finding in findings):
        raise typer.Exit(1)


# What is installed here, which device is used, what is missing and the command that brings it.


@dataclass(frozen=True)
class Finding:
    """One line of the report: a part, what was found, and the command that brings it when it is missing."""

    part: str
    found: str
    remedy: str | None = None
    required: bool = False


def examine() -> list[Finding]:
    """Look at Python, the required and optional packages, the device, Chrome, the notebooks and the cache."""
    return [
        Finding("Python", f"{platform.python_version()} at {sys.executable}"),
        *_packages(),
        _device(),
        _chrome(),
        _wordnet(),
        _notebooks(),
        Finding("cache", str(cache_directory())),
    ]


def _packages() -> list[Finding]:
    findings = []
    for requirement in requires("itmlab") or []:
        name, _, condition = requirement.partition(";")
        name = name.split(">")[0].split("=")[0].split("<")[0].strip()
        extra = condition.partition("extra ==")[2].strip().strip("'\"")
        remedy = f"pip install -c constraints.txt -e '.[{extra}]'" if extra else "pip install -c constraints.txt -e ."
        try:
            findings.append(Finding(name, version(name)))
        except PackageNotFoundError:
            note = f"missing (optional: {extra})" if extra else "missing"
            findings.append(Finding(name, note, remedy, required=not extra))
    return findings


def _device() -> Finding:
    import torch

    if torch.cuda.is_available():
        names = ", ".join(torch.cuda.get_device_name(index) for index in range(torch.cuda.device_count()))
        return Finding("device", f"CUDA: {names} (training in bf16)")
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return Finding("device", f"CPU, {cores} cores, {torch.get_num_threads()} threads")


def chrome_path() -> str | None:
    """The Chrome that draws PNG figures, or None."""
    names = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
    return os.environ.get("BROWSER_PATH") or next(filter(None, map(shutil.which, names)), None)


def _chrome() -> Finding:
    path = chrome_path()
    if path:
        return Finding("Chrome for PNG figures", path)
    return Finding("Chrome for PNG figures", "missing: figures are HTML and JSON only", "apt-get install chromium")


def _wordnet() -> Finding:
    from .metrics.wordnet import wordnet

    found = wordnet("auto")
    if found is None:
        return Finding("WordNet for SPICE", "missing: words match themselves only", "apt-get install wordnet-base")
    return Finding("WordNet for SPICE", f"{found.version} at {found.directory}")


def _notebooks() -> Finding:
    directory = notebook_directory()
    if directory is None:
        return Finding("notebooks", "not beside the package", "git clone the project and install it with pip -e .")
    return Finding("notebooks", f"{len(list(directory.glob('[0-9]*.ipynb')))} in {directory}")


# The tour: the ordered notebooks run without a screen, a line of progress each and a table at the end.


LONGEST_CELL = 1800  # seconds: past this a cell hangs rather than works


@dataclass(frozen=True)
class Stop:
    """One notebook of the tour: how it went, how long it took, what it wrote."""

    notebook: str
    seconds: float
    error: str | None
    figures: int

    @property
    def passed(self) -> bool:
        return self.error is None


def find_notebooks(only: list[str] | None = None) -> list[Path]:
    """The ordered notebooks of the checkout, or those whose names begin with one of `only`."""
    directory = notebook_directory()
    if directory is None:
        raise ItmlabError(
            "the notebooks are not beside the package",
            remedy="git clone the project and install it with: pip install -e .",
        )
    notebooks = sorted(directory.glob("[0-9][0-9]_*.ipynb"))
    if not only:
        return notebooks
    for prefix in only:
        if not any(path.name.startswith(prefix) for path in notebooks):
            names = ", ".join(path.stem for path in notebooks)
            raise ItmlabError(f"no notebook begins with {prefix!r}", remedy=f"there are {names}")
    return [path for path in notebooks if path.name.startswith(tuple(only))]


def tour(
    notebooks: list[Path], out: Path, *, profile: Profile = "quick", say: Callable[[str], None] = print
) -> list[Stop]:
    """Run each notebook from a clean kernel, keep the executed copy in `out`, and say how each went."""
    stops = []
    with _environment(ITMLAB_PROFILE=profile, ITMLAB_STATIC="1"):
        for number, notebook in enumerate(notebooks, start=1):
            say(f"[{number}/{len(notebooks)}] {notebook.stem} …")
            stop = run_notebook(notebook, out / notebook.name)
            stops.append(stop)
            say(f"      {'done' if stop.passed else 'FAILED'} in {stop.seconds:.0f} s, {stop.figures} figures")
            if stop.error:
                say(stop.error)
    return stops


def run_notebook(notebook: Path, executed: Path) -> Stop:
    """Run one notebook from a clean kernel in its own folder; the executed copy goes to `executed`."""
    import nbformat
    from nbclient import NotebookClient
    from nbclient.exceptions import CellExecutionError

    content = nbformat.read(notebook, as_version=4)
    client = NotebookClient(
        content,
        timeout=LONGEST_CELL,
        kernel_name="python3",
        extra_arguments=["--IPKernelApp.log_level=40"],  # errors only: its warnings would fall between our lines
        resources={"metadata": {"path": str(notebook.parent)}},
    )
    before, started, error = _figure_times(), time.monotonic(), None
    try:
        client.execute()
    except CellExecutionError as failure:
        error = str(failure).strip()
    finally:
        write_bytes(executed, nbformat.writes(content).encode())
    after = _figure_times()
    written = sum(1 for path, changed in after.items() if before.get(path) != changed)
    return Stop(notebook.stem, time.monotonic() - started, error, written)


def summary(stops: list[Stop], out: Path, *, profile: Profile = "quick") -> str:
    """The table that closes the tour, and where its figures and executed notebooks are."""
    width = max(len(stop.notebook) for stop in stops)
    lines = [f"{'notebook':<{width}}  result  seconds  figures"]
    for stop in stops:
        result = "passed" if stop.passed else "FAILED"
        lines.append(f"{stop.notebook:<{width}}  {result}  {stop.seconds:7.0f}  {stop.figures:7d}")
    total = sum(stop.seconds for stop in stops)
    lines.append(f"{'total':<{width}}          {total:7.0f}  {sum(stop.figures for stop in stops):7d}")
    home = figure_directory() / "quick" if profile == "quick" else figure_directory()
    lines.append(f"figures:            {home / 'index.html'}")
    lines.append(f"executed notebooks: {out}")
    return "\n".join(lines)


def _figure_times() -> dict[Path, int]:
    return {path: path.stat().st_mtime_ns for path in figure_directory().rglob("*.json")}


@contextmanager
def _environment(**values: str) -> Iterator[None]:
    """Environment variables that the kernels inherit, put back afterwards."""
    before = {name: os.environ.get(name) for name in values}
    # A kernel started by its specification finds `python` on the path: let that be this interpreter's folder.
    before["PATH"] = os.environ.get("PATH", "")
    os.environ.update(values, PATH=os.pathsep.join([str(Path(sys.executable).parent), before["PATH"]]))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
