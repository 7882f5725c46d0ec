"""Training several runs, at a time in worker processes, and what happens when one of them or the caller stops."""

import hashlib
import json
import os
import pickle
import signal
import sys
import threading
import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import psutil
import torch
from joblib import Parallel, delayed, parallel_config
from joblib.externals.loky.process_executor import BrokenProcessPool
from tqdm.auto import tqdm

from ..components import classes_in, find_class
from ..data.captionset import CaptionSet
from ..errors import ItmlabError
from ..fields import check
from ..models import Model
from ..session import usual_defaults
from ..storage import cores
from .directory import LOCK_FILE
from .loop import is_done, train
from .recipes import Recipe
from .run import Run
from .session import Interrupted, stopped_in_words, world_size

STILL_SECONDS = 60.0  # a worker that has not computed for so long is reported
BUSY_SHARE = 0.005  # of a core: less than this is not computing


@usual_defaults()
def trained(
    recipes: Sequence[Recipe] | Mapping[str, Recipe],
    data: CaptionSet,
    *,
    seeds: int | Sequence[int] = 3,
    run_root: str | Path,
    jobs: int | None = None,
    progress: bool = True,
) -> dict[str, list[Run]]:
    """Train each recipe with each seed, as `compare` does, without comparing them.

    Use it to compare on other images than those of `data`: `compare_runs(trained(…), other)`. Runs that differ only
    after the warm-up train it once; their weights are equal to the bit to those of a run alone.

    Args:
        recipes: recipes with different names, or recipes by label.
        data: the data set to train on.
        seeds: the seeds, or their number.
        run_root: directory of the runs.
        jobs: runs to train at a time.
        progress: whether to show progress.

    Returns:
        The runs by label, one per seed.
    """
    by_label = labelled(recipes)
    seeds = list(range(seeds)) if isinstance(seeds, int) else list(seeds)
    if not seeds or len(set(seeds)) != len(seeds):
        raise ItmlabError(f"seeds must be one or more different numbers, got {seeds!r}")
    runs: dict[str, dict[Path, Recipe]] = {}
    for label, recipe in by_label.items():
        home = Path(run_root) / directory_name(label, recipe, data)
        runs[label] = {home / f"seed-{seed}": recipe.replace(seed=seed) for seed in seeds}
    every = {path: recipe for group in runs.values() for path, recipe in group.items()}

    def stand() -> str:
        return f"{sum(map(is_done, every))} of {len(every)} runs in {run_root} are trained; compare again to resume"

    with stopped_in_words(stand), TemporaryDirectory(prefix="itmlab-warm-ups-") as folder:
        train_all({path: recipe for path, recipe in every.items() if not is_done(path)}, data, jobs, progress, folder)
        # all of them are trained: this opens them, and refuses a directory that has another run
        return {label: [train(recipe, data, path) for path, recipe in group.items()] for label, group in runs.items()}


def labelled(recipes: Sequence[Recipe] | Mapping[str, Recipe]) -> dict[str, Recipe]:
    """The recipes by label, by default their names; equal names are an ItmlabError."""
    by_label = dict(recipes) if isinstance(recipes, Mapping) else {recipe.name: recipe for recipe in recipes}
    if not by_label or len(by_label) != len(recipes):
        remedy = 'compare({"p = 1e-3": fne.replace(...), ...}, ...)'
        raise ItmlabError("compare needs recipes with different names", remedy=remedy)
    return by_label


def directory_name(label: str, recipe: Recipe, data: CaptionSet) -> str:
    """A folder of its own for each recipe and data set, whatever their names."""
    content = json.dumps([recipe.replace(seed=0).to_json(), data.fingerprint], sort_keys=True)
    plain = "".join(letter if letter.isalnum() or letter in "-_." else "-" for letter in label).strip(".") or "recipe"
    return f"{plain}-{hashlib.sha256(content.encode()).hexdigest()[:8]}"


def train_all(runs: Mapping[Path, Recipe], data: CaptionSet, jobs: int | None, progress: bool, shared: str) -> None:
    """Train every recipe in its directory, `jobs` at a time; those that begin alike share their warm-up in a folder.

    Each run gets an equal share of the cores, however few are left to train, so that its weights do not depend on that.
    On a GPU, under `accelerate launch` and with one job, runs are trained one after the other in this process.

    Raises:
        ItmlabError: as `train`, or a worker process that died.
        Interrupted: after Ctrl-C, SIGTERM or a hang-up; no worker process is left.
    """
    check(jobs is None or jobs >= 1, "jobs", jobs, "1 or more, or None for as many as there are cores")
    jobs = jobs or (1 if torch.cuda.is_available() or world_size() > 1 else cores())
    if jobs == 1:
        for directory, recipe in runs.items():
            train(recipe, data, directory, progress=progress, warm_ups=shared)
        return
    threads, parent, work = max(1, cores() // jobs), os.getpid(), delayed(_train_in_worker)
    tasks = [work(recipe, data, path, custom_classes(recipe), shared, threads, parent) for path, recipe in runs.items()]
    workers = max(2, min(jobs, len(runs)))  # joblib would use this process as the only worker
    try:
        with (
            still_workers_reported(list(runs)),
            parallel_config("loky", inner_max_num_threads=threads),
            closing(Parallel(workers, return_as="generator", pre_dispatch="n_jobs")(tasks)) as results,
        ):
            for error in tqdm(results, total=len(runs), desc="runs", disable=not progress):
                if error is not None:
                    raise ItmlabError(error)  # and joblib kills the other workers, as after a signal
    except (BrokenProcessPool, pickle.PicklingError) as error:
        traceback = str(error.__cause__ or error).replace('"""', "").strip()
        reason = traceback.splitlines()[-1][:200]
        raise ItmlabError(f"a worker process failed: {reason}", remedy="compare again, or with jobs=1") from None


def custom_classes(recipe: Recipe) -> dict[tuple[str, str], type]:
    """The classes of a recipe's custom components by module and name; of a nested class, the outermost one.

    A recipe's file names them, and a worker process has not imported or defined them.
    """
    classes: list[type] = [cls for cls in classes_in(recipe) if ":" in cls.class_name()]
    if recipe.encoder is not None:
        classes.append(find_class(recipe.encoder, Model))
    places = [(cls.__module__, cls.__qualname__.partition(".")[0]) for cls in classes]
    return {(module, name): getattr(sys.modules[module], name) for module, name in places}


def _train_in_worker(
    recipe: Recipe, data: CaptionSet, directory: Path, classes: dict, shared: str, threads: int, parent: int
) -> str | None:
    """Train one run in a worker process and return the message of an error."""
    _stop_without(parent)
    for (module, name), cls in classes.items():  # every time, as a notebook cell may have defined the class again
        setattr(sys.modules[module], name, cls)
    torch.set_num_threads(threads)
    try:
        train(recipe, data, directory, progress=False, warm_ups=shared)
    except (ItmlabError, Interrupted) as error:
        if os.getppid() != parent:
            os._exit(1)  # no process takes the result, and the worker would wait for its next task
        return str(error)


@cache
def _stop_without(parent: int) -> None:
    """Let this worker process end when its parent has died: it finishes the step and saves, or is ended after that."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(0.5)
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(30)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


@contextmanager
def still_workers_reported(directories: Sequence[Path]) -> Iterator[None]:
    """Warn during the block of every run that is being trained by a process that has stopped computing."""
    ended = threading.Event()

    def watch() -> None:
        computed: dict[tuple[Path, int], float] = {}  # seconds, by the directory and the process that trains there
        while not ended.wait(STILL_SECONDS):
            for directory in directories:
                with suppress(OSError, ValueError, psutil.Error):  # nothing trains there
                    number = int((directory / LOCK_FILE).read_text())
                    seconds = sum(psutil.Process(number).cpu_times()[:2])
                    if seconds - computed.get((directory, number), 0.0) < BUSY_SHARE * STILL_SECONDS:
                        message = f"{directory}: process {number} has not computed for {STILL_SECONDS:g} seconds"
                        warnings.warn(f"{message}; to stop, press Ctrl-C; the same call resumes", stacklevel=1)
                    computed[directory, number] = seconds

    threading.Thread(target=watch, daemon=True).start()
    try:
        yield
    finally:
        ended.set()
