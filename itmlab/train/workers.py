"""Training several runs at a time in worker processes, and what happens when one of them or the caller stops."""

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
from ..storage import cores
from .directory import LOCK_FILE
from .loop import train
from .recipes import Recipe
from .session import Interrupted, world_size

STILL_SECONDS = 60.0  # a worker that has not computed for so long is reported
BUSY_SHARE = 0.005  # of a core: less than this is not computing


def train_all(runs: Mapping[Path, Recipe], data: CaptionSet, jobs: int | None, progress: bool) -> None:
    """Train every recipe in its directory, `jobs` at a time.

    Each run gets an equal share of the cores, however few are left to train, so that its weights do not depend on that.
    On a GPU, under `accelerate launch` and with one job, runs are trained one after the other in this process.

    Raises:
        ItmlabError: as `train`, or a worker process that died.
        Interrupted: after Ctrl-C, SIGTERM or a hang-up; no worker process is left.
    """
    check(jobs is None or jobs >= 1, "jobs", jobs, "1 or more, or None for as many as there are cores")
    one_by_one = torch.cuda.is_available() or world_size() > 1
    jobs = jobs or (1 if one_by_one else cores())
    if jobs == 1:
        for directory, recipe in runs.items():
            train(recipe, data, directory, progress=progress)
        return
    threads, work = max(1, cores() // jobs), delayed(_train_in_worker)
    tasks = [work(recipe, data, path, threads, custom_classes(recipe), os.getpid()) for path, recipe in runs.items()]
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
    recipe: Recipe, data: CaptionSet, directory: Path, threads: int, classes: dict, parent: int
) -> str | None:
    """Train one run in a worker process and return the message of an error."""
    _stop_without(parent)
    for (module, name), cls in classes.items():  # every time, as a notebook cell may have defined the class again
        setattr(sys.modules[module], name, cls)
    torch.set_num_threads(threads)
    try:
        train(recipe, data, directory, progress=False)
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

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
