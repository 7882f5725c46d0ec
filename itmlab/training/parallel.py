"""Runs side by side: what `compare` has to train, in as many processes as there are cores.

`train_all` is the whole of it. A worker is `python -c`, not a copy of the caller's program, so notebooks and scripts
need no guard; it is given a run at a time as a line of JSON, loads the data as `load` was asked for them, and answers
with lines of JSON. What a worker cannot be given (data that were not loaded by name, an idea defined in a notebook) is
trained here meanwhile. However it ends, no worker is left and what was begun is resumed by the next call.
"""

import json
import os
import queue
import signal
import subprocess
import sys
import tempfile
import threading
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

import torch

from ..data.batches import PairBatches
from ..data.captionset import CaptionSet
from ..data.loading import load, origin_of
from ..errors import ItmlabError
from ..fields import check
from ..recipes.recipe import Recipe
from ..runs.checkpoint import Checkpoints
from ..runs.directory import described, first_difference
from ..storage import cores, threads_of_a_process
from .loop import is_done, parts, steps_of, train
from .progress import Interrupted, Interruption, Progress

PATIENCE = 60.0  # seconds for a worker to finish its step and save


def train_all(runs: Mapping[Path, Recipe], data: CaptionSet, *, jobs: int | None = None, progress: bool = True) -> None:
    """Train each recipe into its directory, as far as it is not, `jobs` at a time (None: as many as there are cores).

    The cores are shared out: a run has as many threads, here or in a worker, however many are left to do, and so the
    same weights as alone with that number. On a GPU, under `accelerate launch`, and where nothing can be given to a
    worker, one after the other, here, with torch's own number of threads. Ctrl-C or SIGTERM saves all and raises
    `Interrupted`. ItmlabError: as `train`, of whichever run comes to it first, when the others have saved.
    """
    check(jobs is None or jobs >= 1, "jobs", jobs, "1 or more, or None for as many as there are cores")
    missing = {at: recipe for at, recipe in runs.items() if not is_done(Checkpoints(at / "resume"), None)}
    if not missing:
        return
    alone = torch.cuda.is_available() or int(os.environ.get("WORLD_SIZE", "1")) > 1
    most = jobs or (1 if alone else cores())
    why = {at: why_here(recipe, data) for at, recipe in runs.items()}
    if all(why.values()):
        most = 1
    here = [at for at in missing if why[at] or most == 1 or len(missing) == 1]
    if progress and most > 1 and len(missing) > 1 and (told := {reason for at in here if (reason := why[at])}):
        print(f"trained in this process: {'; '.join(sorted(told))}")
    training = parts(data)[0]
    served = {at: PairBatches(training, batch_size=r.data.batch_size, seed=0, images=None,
                              captions_per_image=r.data.captions_per_image) for at, r in missing.items()}  # fmt: skip
    shown = Bar({at: steps_of(recipe, served[at])[1] for at, recipe in missing.items()}, shown=progress)
    workers = Workers(data, max(1, cores() // most), shown)
    with Interruption() as interruption:
        try:
            left = {at: recipe for at, recipe in missing.items() if at not in here}
            workers.begin(left, min(most - bool(here), len(left)))
            with threads(max(1, cores() // most) if most > 1 else torch.get_num_threads()):
                for at in here:
                    workers.check()
                    record = lambda entry, at=at: shown.reach(at, entry.get("step", 0))  # noqa: E731
                    train(missing[at], data, at, progress=False, on_record=record)
            while workers.busy():
                if interruption.signal_number:
                    what = "stopped; compare again to go on from there"
                    raise Interrupted(interruption.signal_number, what)
        finally:
            workers.end()
            shown.close()
    workers.check()


def why_here(recipe: Recipe, data: CaptionSet) -> str | None:
    """Why a worker cannot train this, or None."""
    if origin_of(data) is None:
        return f"the data {data.name} are not as load(NAME, …) gave them, so no other process can have them"
    for idea in recipe.custom_parts().values():
        module = idea.path.partition(":")[0]
        if module == "__main__" or getattr(sys.modules.get(module), "__spec__", None) is None:
            return f"{idea.path} cannot be imported by another process, put it into a module"
    return None


@contextmanager
def threads(count: int) -> Iterator[None]:
    """Inside, torch computes with so many threads."""
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)


class Bar:
    """One bar for all runs, told how far each is from whichever thread hears of it."""

    def __init__(self, steps: Mapping[Path, int], *, shown: bool):
        self.steps, self.lock = steps, threading.Lock()
        pointers = {at: Checkpoints(at / "resume").read_pointer() for at in steps}
        self.done = {at: pointer["position"]["step"] if pointer else 0 for at, pointer in pointers.items()}
        name = f"{len(steps)} runs" if len(steps) > 1 else next(iter(steps)).parent.name
        self.bar = Progress(name, sum(steps.values()), sum(self.done.values()), shown=shown, curves=None)

    def reach(self, at: Path, step: int) -> None:
        with self.lock:
            self.done[at] = step
            finished = sum(self.done[one] >= self.steps[one] for one in self.steps)
            more = f"{finished} of {len(self.steps)} done" if len(self.steps) > 1 else ""
            self.bar.reach(sum(self.done.values()), more)

    def close(self) -> None:
        self.bar.close()


class Workers:
    """Processes that train what is left, and the threads that hand it out and listen to them."""

    def __init__(self, data: CaptionSet, threads: int, shown: Bar):
        self.data, self.threads, self.shown = data, threads, shown
        self.processes: list[subprocess.Popen] = []
        self.listening: list[threading.Thread] = []
        self.failed: list[ItmlabError] = []
        self.ended = False

    def begin(self, runs: Mapping[Path, Recipe], count: int) -> None:
        """Start so many workers on the runs."""
        self.left = deque(runs.items())
        there = os.pathsep.join(folder or os.getcwd() for folder in sys.path)
        environment = os.environ | threads_of_a_process(self.threads) | {"PYTHONPATH": there}
        for _ in range(count):
            errors = tempfile.TemporaryFile()  # noqa: SIM115, closed when its thread lets go of it
            process = subprocess.Popen(
                [sys.executable, "-P", "-c", f"from {__name__} import work; work()"],
                **{"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": errors, "text": True},
                **{"env": environment, "start_new_session": True},  # Ctrl-C is for this process, which passes it on
            )
            self.processes.append(process)
            self.listening.append(threading.Thread(target=self._feed, args=(process, errors), daemon=True))
            self.listening[-1].start()

    def _feed(self, process: subprocess.Popen, errors: Any) -> None:
        """Give a worker one run after the other, and listen."""
        try:
            while not (self.ended or self.failed):
                try:
                    at, recipe = self.left.popleft()
                except IndexError:
                    break
                process.stdin.write(json.dumps(self._told(at, recipe)) + "\n")
                process.stdin.flush()
                for line in process.stdout:
                    answer = json.loads(line)
                    if "error" in answer:
                        self.failed.append(ItmlabError(answer["error"]))
                    self.shown.reach(at, answer.get("step", self.shown.steps[at]))
                    if "step" not in answer:
                        break
                else:
                    if not self.ended:
                        errors.seek(0)
                        last = errors.read().decode(errors="replace").strip().splitlines()[-1:]
                        what = f"its process ended with {process.wait()}: {''.join(last)[:300] or 'without a word'}"
                        raise ItmlabError(what, where=str(at), remedy="compare again, or with jobs=1")
        except ItmlabError as error:
            self.failed.append(error)
        except (OSError, ValueError) as error:  # of a worker that is gone
            if not self.ended:
                self.failed.append(ItmlabError(f"a worker is gone: {error}", remedy="compare again, or with jobs=1"))

    def _told(self, at: Path, recipe: Recipe) -> dict[str, Any]:
        modules = [custom.path.partition(":")[0] for custom in recipe.custom_parts().values()]
        told = {"directory": str(at.resolve()), "recipe": recipe.to_json(), "data": origin_of(self.data)}
        return {**told, "modules": modules, "threads": self.threads, "is": described(recipe, self.data)["data.json"]}

    def busy(self) -> bool:
        """Whether there is something to wait for; waits a little for it."""
        for one in self.listening:
            one.join(0.2 / len(self.listening))
        return not self.failed and any(one.is_alive() for one in self.listening)

    def check(self) -> None:
        """Raise what a worker has come to."""
        if self.failed:
            raise self.failed[0]

    def end(self) -> None:
        """No more runs; workers at one save it, and all are gone when this returns."""
        self.ended = True
        for process in self.processes:
            process.terminate()
        for process in self.processes:
            try:
                process.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        for process, listening in zip(self.processes, self.listening, strict=True):
            listening.join()
            process.stdin.close()
            process.stdout.close()


# What a worker does.


def work() -> None:
    """Train what standard input names, a line of JSON a run, and answer on standard output, until there is no more.

    Where the input ends while a run is trained, whoever gave it is gone: the run is saved and left.
    """
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # what anybody prints is no answer
    told: queue.SimpleQueue[dict[str, Any] | None] = queue.SimpleQueue()
    at_work = threading.Event()

    def listen() -> None:
        for line in sys.stdin:
            told.put(json.loads(line))
        told.put(None)
        if at_work.is_set():
            os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=listen, daemon=True).start()
    data: dict[str, CaptionSet] = {}
    for job in iter(told.get, None):
        at_work.set()
        try:
            _train(job, data, lambda entry: print(json.dumps({"step": entry.get("step", 0)}), file=answers))
            answer = {"done": job["directory"]}
        except ItmlabError as error:
            answer = {"error": str(error)}
        except Interrupted as stop:
            raise SystemExit(stop.exit_code) from None
        at_work.clear()
        print(json.dumps(answer), file=answers)


def _train(job: dict[str, Any], known: dict[str, CaptionSet], on_record: Any) -> None:
    torch.set_num_threads(job["threads"])
    for module in job["modules"]:  # of custom components, which a recipe finds among what is imported
        import_module(module)
    key = json.dumps(job["data"], sort_keys=True)
    if key not in known:
        known[key] = load(**job["data"])
    recipe = Recipe.from_json(job["recipe"])
    if difference := first_difference(job["is"], described(recipe, known[key])["data.json"]):
        raise ItmlabError(f"another process loads other data: {difference}", remedy="compare with jobs=1")
    train(recipe, known[key], job["directory"], progress=False, on_record=on_record)
