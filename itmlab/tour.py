"""The tour: the ordered notebooks run without a screen, a line of progress each and a table at the end."""

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from .errors import ItmlabError
from .project import Profile, figure_directory, notebook_directory
from .storage import write_bytes

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
