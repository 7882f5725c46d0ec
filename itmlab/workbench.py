"""Commands of the workbench itself: the tour of all notebooks, JupyterLab, figures' pages, the doctor."""

import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from functools import partial
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from .errors import ItmlabError
from .storage import (
    Profile,
    cache_directory,
    cores,
    figure_directory,
    notebook_directory,
    project_directory,
    refuse_foreign,
    threads_of_a_process,
    write_bytes,
)
from .storage import profile as profile_named

# The tour: the ordered notebooks run without a screen, a line of progress each and a table at the end.

Words = list[str] | None  # of a repeatable option
Force = Annotated[bool, typer.Option("--force", help="Overwrite what itmlab did not write, too.")]
LONGEST_CELL = 1800  # seconds: past this a cell hangs rather than works
SECONDS_BETWEEN_LINES = 8.0  # of what is running
TOUR = "itmlab_tour"  # in the metadata of executed notebooks, which alone the next tour overwrites


def run_tour(
    profile: Annotated[str, typer.Option(help="quick: minutes; full: what made the committed figures.")] = "quick",
    only: Annotated[Words, typer.Option(help="Only notebooks whose names begin so (04); repeatable.")] = None,
    out: Annotated[Path, typer.Option(help="Where the executed notebooks go.")] = Path("runs/tour"),
    jobs: Annotated[int | None, typer.Option(help="Notebooks at a time: 2, or 1 on one core.", min=1)] = None,
    workshop: Annotated[bool, typer.Option(help="As in a room without network, and warm every cache for it.")] = False,
    force: Force = False,
) -> None:
    """Run the ordered notebooks without a screen; figures and executed copies stay on disk."""
    from .data import load

    notebooks, chosen = find_notebooks(only), profile_named(profile)
    for notebook in notebooks:
        refuse_foreign(out / notebook.name, TOUR, force=force)
    print("drawing the scenes world (once; later runs read it from the cache) …", flush=True)
    load("scenes")
    print("starting kernels …", flush=True)  # what draws figures is imported first, which takes seconds
    if workshop:
        os.environ.update(WITHOUT_NETWORK)
        lab_environment()
    at_once, begun = jobs or min(2, cores()), time.monotonic()
    stops = tour(notebooks, out.resolve(), profile=chosen, jobs=at_once, say=partial(print, flush=True))
    print("\n" + summary(stops, out.resolve(), time.monotonic() - begun, profile=chosen))
    if not all(stop.passed for stop in stops):
        raise typer.Exit(1)


NOWHERE = "http://127.0.0.1:9"  # nobody listens there: what would go to the network fails now and not in the room
WITHOUT_NETWORK = {
    "HF_HUB_OFFLINE": "1",
    "http_proxy": NOWHERE,
    "https_proxy": NOWHERE,
    "no_proxy": "localhost,127.0.0.1",
}


class Stop(NamedTuple):
    """One notebook of the tour: how it went, how long it took, how many figures it wrote."""

    notebook: str
    seconds: float
    error: str | None
    figures: int

    @property
    def passed(self) -> bool:
        """Whether every cell ran to its end."""
        return self.error is None


ON_PHOTOGRAPHS = "14_"  # which reads pictures by what the extra "photos" brings


def find_notebooks(only: list[str] | None = None) -> list[Path]:
    """The ordered notebooks that ship, or those of them whose names begin with one of `only`."""
    directory = notebook_directory()
    if directory is None:
        remedy = "git clone the project and install it with: pip install -e ."
        raise ItmlabError("the notebooks are not beside the package", remedy=remedy)
    notebooks = sorted(directory.glob("[0-9][0-9]_*.ipynb"))
    for prefix in only or []:
        if not any(path.name.startswith(prefix) for path in notebooks):
            names = ", ".join(path.stem for path in notebooks)
            raise ItmlabError(f"no notebook begins with {prefix!r}", remedy=f"there are {names}")
    return [path for path in notebooks if path.name.startswith(tuple(only or [""]))]


def tour(
    notebooks: list[Path], out: Path, *, profile: Profile = "quick", jobs: int = 1, say: Callable[[str], None] = print
) -> list[Stop]:
    """Run each notebook from a clean kernel, `jobs` at a time, keep the executed copies in `out`, say how each went."""
    import nbformat

    from .models.photographs import PHOTOS, photos_installed
    from .studies.kit.saving import write_index

    for path in [path for path in notebooks if path.stem.startswith(ON_PHOTOGRAPHS) and not photos_installed()]:
        say(f"{path.stem}: left out, as it wants {PHOTOS}")
        notebooks = [other for other in notebooks if other != path]
    say(f"running {len(notebooks)} notebooks{f', {jobs} at a time' if jobs > 1 else ''} …")
    running: dict[str, tuple[Any, float]] = {}  # of each notebook its client and when it began
    said = {path.stem: seconds_said(nbformat.read(path, as_version=4).cells) for path in notebooks}
    finished: list[Stop] = []
    threads = max(1, cores() // jobs)  # two kernels with two threads each on two cores wait for each other
    with ThreadPoolExecutor(jobs) as pool:
        begin = lambda path: lambda client: running.update({path.stem: (client, time.monotonic())})  # noqa: E731
        stops = [pool.submit(run_notebook, path, out / path.name, profile, begin(path), threads) for path in notebooks]
        left = set(stops)
        try:
            while left:
                done, left = wait(left, SECONDS_BETWEEN_LINES, FIRST_COMPLETED)
                for stop in (each.result() for each in done):
                    finished.append(stop)
                    running.pop(stop.notebook, None)
                    result = f"{'done' if stop.passed else 'FAILED'} in {stop.seconds:.0f} s, {stop.figures} figures"
                    say(f"[{len(finished)}/{len(notebooks)}] {stop.notebook}: {result}")
                    if stop.error:
                        say(stop.error)
                if not done:
                    now = dict(running)
                    words = [f"{name}: {how_far(*each)}" for name, each in now.items()]
                    still = {name: seconds_left(*each) for name, each in now.items()}
                    say("  … " + "; ".join([*words, left_in_all(said, still, finished, jobs)]))
        except BaseException:  # Ctrl-C reaches this thread only: the kernels of the others would run on
            pool.shutdown(wait=False, cancel_futures=True)
            while not all(stop.done() for stop in stops):  # again, for one that was only about to start its kernel
                for client, _ in list(running.values()):
                    if process := getattr(getattr(client.km, "provisioner", None), "process", None):
                        process.terminate()
                time.sleep(0.5)
            raise
    if (home := _figure_home(profile)).is_dir():
        write_index(home)  # again, for two kernels that save at once may each have listed theirs without the other's
    return [stop.result() for stop in stops]


NUMBERS = {"half a": 0.5, "a": 1, "two": 2, "three": 3, "four": 4, "five": 5}


def seconds_said(cells: list[Any]) -> float:
    """How long a notebook says in its first cell that it takes; a minute where it says nothing."""
    opening = cells[0].source.lower()
    told = re.search(rf"how long it takes.*?(\d+|{'|'.join(NUMBERS)}) (second|minute)", opening, re.DOTALL)
    number, unit = told.groups() if told else ("a", "minute")
    return float(NUMBERS.get(number, number)) * (60 if unit == "minute" else 1)


def seconds_left(client: Any, began: float) -> float:
    """What is left of a running notebook, halfway between what its cells say and what the clock says."""
    done, cells = cells_done(client)
    said, so_far = seconds_said(client.nb.cells), time.monotonic() - began
    # Both only fall, so a cell that takes long makes nothing rise; while cells are left, so is a tenth of what is said.
    by_cells, by_clock = said * (1 - done / max(cells, 1)), max(said - so_far, 0)
    return max((by_cells + by_clock) / 2, said / 10) if done < cells else 0.0


def cells_done(client: Any) -> tuple[int, int]:
    """How many cells of code have run, and how many there are."""
    cells = sum(cell.cell_type == "code" for cell in client.nb.cells)
    return min(client.code_cells_executed, cells), cells


def how_far(client: Any, began: float) -> str:
    """The cell at which a notebook is, and the time left of it."""
    done, cells = cells_done(client)
    return f"cell {min(done + 1, cells)} of {cells}, about {seconds_left(client, began):.0f} s left"


def left_in_all(said: dict[str, float], running: dict[str, float], finished: list[Stop], jobs: int) -> str:
    """The time left of the tour: what is left of the `running`, and what those not begun have `said` that they take."""
    # Both as much longer or shorter as those that have passed took than they said, and so many `jobs` at a time.
    passed = [stop for stop in finished if stop.passed]  # one that fails in its first cell says nothing of the others
    pace = sum(stop.seconds for stop in passed) / sum(said[stop.notebook] for stop in passed) if passed else 1.0
    begun = {*running, *(stop.notebook for stop in finished)}
    left = [*running.values(), *(seconds for name, seconds in said.items() if name not in begun)]
    whole = pace * max(sum(left) / jobs, *left, 0)  # at the end one runs alone
    return f"about {whole:.0f} s in all" if whole < 90 else f"about {whole / 60:.0f} min in all"


def run_notebook(
    notebook: Path,
    executed: Path,
    profile: Profile = "quick",
    begun: Callable[[Any], None] = lambda client: None,
    threads: int = 1,
) -> Stop:
    """Run one notebook from a clean kernel in its own folder; the executed copy goes to `executed`.

    A cell that raises, one that takes longer than LONGEST_CELL and a kernel that dies are the stop's error. `begun` is
    given the client before it starts. It computes with so many `threads`, where the environment says nothing else.
    """
    import nbformat
    from nbclient import NotebookClient
    from nbclient.exceptions import CellExecutionError, CellTimeoutError

    content = nbformat.read(notebook, as_version=4)
    content.metadata[TOUR] = 1
    content.cells[0].metadata[TOUR] = 1  # near the file's beginning: states of widgets may stand after its metadata
    client = NotebookClient(
        content,
        timeout=LONGEST_CELL,
        kernel_name="python3",
        extra_arguments=["--IPKernelApp.log_level=40"],  # errors only: its warnings would fall between our lines
        resources={"metadata": {"path": str(notebook.parent)}},
    )
    begun(client)
    started, error = time.monotonic(), None
    with tempfile.TemporaryDirectory() as folder:
        listed = Path(folder) / "figures"
        # A kernel started by its specification finds `python` on the path: let that be this interpreter's folder.
        path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
        told = {"ITMLAB_PROFILE": profile, "ITMLAB_STATIC": "1", "ITMLAB_FIGURE_LIST": str(listed), "PATH": path}
        told["ITMLAB_FIGURES"] = str(figure_directory().resolve())  # not in the notebook's folder, where the kernel is
        try:
            client.execute(env={**threads_of_a_process(threads), **os.environ, **whole_paths(), **told})
        except (CellExecutionError, CellTimeoutError, RuntimeError) as failure:  # RuntimeError: of a kernel that died
            error = str(failure).strip()
        finally:
            write_bytes(executed, nbformat.writes(content).encode())
        # Not by what is new in the folder: another notebook may write into it at the same time.
        figures = len(set(listed.read_text(encoding="utf-8").splitlines())) if listed.exists() else 0
    return Stop(notebook.stem, time.monotonic() - started, error, figures)


def whole_paths() -> dict[str, str]:
    """The folders that the environment names, from the root: a kernel's working directory is its notebook's folder."""
    named = ("ITMLAB_CACHE", "ITMLAB_FIGURES", "ITMLAB_WEIGHTS", "ITMLAB_REAL_DATA")
    return {name: str(Path(os.environ[name]).resolve()) for name in named if os.environ.get(name)}


def _figure_home(profile: Profile) -> Path:
    return figure_directory() / "quick" if profile == "quick" else figure_directory()


def summary(stops: list[Stop], out: Path, elapsed: float, *, profile: Profile = "quick") -> str:
    """The table that closes the tour, its last row the `elapsed` seconds; where figures and executed notebooks are."""
    width = max(len(name) for name in ("all (wall time)", *(stop.notebook for stop in stops)))
    rows = [(stop.notebook, "passed" if stop.passed else "FAILED", stop.seconds, stop.figures) for stop in stops]
    rows.append(("all (wall time)", "", elapsed, sum(stop.figures for stop in stops)))
    lines = [f"{name:<{width}}  {result:6}  {seconds:7.0f}  {figures:7d}" for name, result, seconds, figures in rows]
    ends = f"figures:            {_figure_home(profile) / 'index.html'}", f"executed notebooks: {out}"
    return "\n".join([f"{'notebook':<{width}}  result  seconds  figures", *lines, *ends])


# JupyterLab and the figures' pages.

# No question about news, which stands over the figures, and no look for updates.
LAB_DEFAULTS = {"@jupyterlab/apputils-extension:notification": {"fetchNews": "false", "checkForUpdates": False}}


def lab(context: typer.Context) -> None:
    """Open JupyterLab on the first notebook (further arguments go to JupyterLab)."""
    notebooks = find_notebooks()
    first = notebooks[0]
    if project_directory() is None:  # those of an installed wheel stay as they are: changes go into copies
        copies = {Path("notebooks").resolve() / path.name: path for path in notebooks}
        for copy in (one for one in copies if not one.exists()):
            write_bytes(copy, copies[copy].read_bytes())
        first = next(iter(copies))
    command = [sys.executable, "-m", "jupyterlab", str(first), *context.args]
    raise typer.Exit(subprocess.call(command, cwd=first.parent, env={**lab_environment(), **whole_paths()}))


def lab_environment() -> dict[str, str]:
    """The environment in which JupyterLab begins with our defaults, which a reader's own settings overrule."""
    home = cache_directory().resolve() / "lab"
    write_bytes(home / "labconfig" / "default_setting_overrides.json", json.dumps(LAB_DEFAULTS).encode())
    path = os.pathsep.join(filter(None, [str(home), os.environ.get("JUPYTER_CONFIG_PATH")]))
    return {**os.environ, "JUPYTER_CONFIG_PATH": path}


def figures() -> None:
    """Write the interactive page of every figure in `figures`, and the index, from the committed JSON."""
    from .studies.kit.saving import write_pages

    print(write_pages(figure_directory()))


# What is installed here, which device is used, what is missing and the command that brings it.


def doctor() -> None:
    """What is installed, which device is used, and what is missing with the command that brings it."""
    findings = [Finding("Python", f"{platform.python_version()} at {sys.executable}"), *_packages()]
    findings += [_device(), _chrome(), _wordnet(), _notebooks(), Finding("cache", str(cache_directory()))]
    width = max(len(finding.part) for finding in findings)
    for finding in findings:
        line = f"{finding.part:<{width}}  {finding.found}"
        print(line if finding.remedy is None else f"{line}  →  {finding.remedy}")
    if any(finding.required for finding in findings):
        raise typer.Exit(1)


class Finding(NamedTuple):
    """One line of the report: a part, what was found, and the command that brings it when it is missing."""

    part: str
    found: str
    remedy: str | None = None
    required: bool = False


def _packages() -> list[Finding]:
    findings = []
    for requirement in requires("itmlab") or []:
        needed, _, condition = requirement.partition(";")
        name, extra = re.split("[<=>]", needed)[0].strip(), condition.partition("extra ==")[2].strip().strip("'\"")
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
    return Finding("device", f"CPU, {cores()} cores, {torch.get_num_threads()} threads")


def chrome_path() -> str | None:
    """The Chrome that draws PNG figures, or None."""
    names = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
    return os.environ.get("BROWSER_PATH") or next(filter(None, map(shutil.which, names)), None)


def _chrome() -> Finding:
    path = chrome_path()
    remedy = None if path else "apt-get install chromium"
    return Finding("Chrome for PNG figures", path or "missing: figures are HTML and JSON only", remedy)


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
