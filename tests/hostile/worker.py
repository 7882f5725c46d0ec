"""Runs cases in a process of its own; `python -m tests.hostile.worker CORPUS NUMBER` runs one and shows its traceback.

Noticed, as faults: code that data brought along (pickled functions, programs started), the network, a file written or
removed outside the worker's folder, a read of what lies beside it, more memory than MEMORY. Answers stand on standard
output, a JSON line for each line "CORPUS NUMBER" on standard input.
"""

import importlib
import json
import os
import resource
import shutil
import sys
import tempfile
import traceback
import warnings
from pathlib import Path
from random import Random
from types import ModuleType
from typing import Any

from itmlab.errors import ItmlabError
from tests.hostile.damage import Refused, one_line

MEMORY = 1536  # MiB beyond what the process holds when its corpus begins
NEVER = {"os.system", "subprocess.Popen", "os.exec", "os.posix_spawn", "os.spawn", "pickle.find_class",
         "socket.connect", "socket.getaddrinfo", "socket.sendto", "webbrowser.open"}  # fmt: skip
CHANGES = {
    "os.remove": 0,
    "os.rename": 1,
    "os.rmdir": 0,
    "os.mkdir": 0,
    "os.truncate": 0,
    "os.link": 1,
    "os.symlink": 1,
}
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
SECRET = "beside"  # a folder that nothing may read, where `../beside` leads out of a case's folder


class Watch:
    """Notes what Python's audit events say that no input may bring about, while `within` is set."""

    def __init__(self, home: Path):
        self.home, self.noted, self.within = str(home.resolve()), [], False
        sys.addaudithook(self)

    def __call__(self, event: str, given: tuple[Any, ...]) -> None:
        if not self.within:
            return
        if event in NEVER:
            self.note(f"{event} {given[:2]!r}")
        elif event == "open" and isinstance(given[0], str | bytes | os.PathLike):
            path = os.path.abspath(os.fsdecode(given[0]))
            writes = isinstance(given[2], int) and given[2] & WRITING
            if writes and not self.inside(path):
                self.note(f"writes {path}")
            elif path.startswith(f"{self.home}/{SECRET}/"):
                self.note(f"reads {path}")
        elif event in CHANGES and isinstance(given[CHANGES[event]], str | bytes | os.PathLike):
            path = os.path.abspath(os.fsdecode(given[CHANGES[event]]))
            if not self.inside(path):
                self.note(f"{event} {path}")

    def inside(self, path: str) -> bool:
        return path == self.home or path.startswith(
            (f"{self.home}/case", f"{self.home}/cache", f"{self.home}/tmp", "/dev/")
        )

    def note(self, what: str) -> None:
        self.noted.append(what[:300])
        raise PermissionError(f"not here: {what[:300]}")


class Worker:
    """The corpora begun so far, and where their cases are made."""

    def __init__(self, home: Path):
        self.home, self.case = home, home / "case"
        (home / SECRET).mkdir(exist_ok=True)
        (home / SECRET / "secret.txt").write_text("nobody reads this")
        for name in ("cache", "tmp"):
            (home / name).mkdir(exist_ok=True)
        os.environ |= {"ITMLAB_CACHE": str(home / "cache"), "TMPDIR": str(home / "tmp"), "HF_HUB_OFFLINE": "1"}
        os.environ["TORCHINDUCTOR_CACHE_DIR"] = str(home / "cache/inductor")  # which torch makes when it is imported
        os.environ |= {"HF_HOME": str(home / "cache/hf"), "HF_DATASETS_CACHE": str(home / "cache/datasets")}
        tempfile.tempdir = None
        self.watch, self.begun, self.allowed = Watch(home), {}, 0

    def begin(self, name: str) -> tuple[ModuleType, Any]:
        """The corpus, and what all its cases share; from then on its memory is counted."""
        if name not in self.begun:
            corpus, shared = importlib.import_module(f"tests.hostile.{name}"), self.home / name
            shared.mkdir(exist_ok=True)
            self.begun[name] = corpus, corpus.begin(shared)
            self.allowed = peak() + MEMORY * 2**10
            held = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
            resource.setrlimit(resource.RLIMIT_AS, (held + 4 * MEMORY * 2**20, resource.RLIM_INFINITY))
        return self.begun[name]

    def run(self, name: str, number: int, *, shown: bool = False) -> tuple[str, str, bool]:
        """How a case ended (refused, accepted, fault), what was said, and whether more was held than may be."""
        corpus, shared = self.begin(name)
        shutil.rmtree(self.case, ignore_errors=True)
        self.case.mkdir()
        os.chdir(self.case)
        self.watch.noted.clear()
        self.watch.within = True
        try:
            outcome, said = self._outcome(corpus, shared, Random(f"{name} {number}"))
        except BaseException as error:
            outcome, said = "fault", f"{type(error).__name__}: {error}"
            place = next(
                (f for f in reversed(traceback.extract_tb(error.__traceback__)) if "/itmlab/" in f.filename), None
            )
            said = f"{said[:300]} ({'/'.join(Path(place.filename).parts[-2:])}:{place.lineno})" if place else said[:400]
            if shown:
                traceback.print_exc()
        finally:
            self.watch.within = False
            os.chdir(self.home)
        if self.watch.noted:
            outcome, said = "fault", "; ".join(self.watch.noted)
        too_much = peak() > self.allowed
        if too_much and outcome != "fault":
            outcome, said = "fault", f"{(peak() - self.allowed) / 2**10 + MEMORY:.0f} MiB for: {said}"
        return outcome, said, too_much

    def _outcome(self, corpus: ModuleType, shared: Any, rng: Random) -> tuple[str, str]:
        try:
            use = corpus.attempt(rng, self.case, shared)
        except ItmlabError as error:
            return ("refused", str(error)) if one_line(error) else ("fault", f"not one plain line: {str(error)!r}")
        except Refused as error:
            return "refused", str(error)
        use()
        return "accepted", ""


def peak() -> int:
    """The most KiB that this program has held (`ru_maxrss` begins with what the process held that started it)."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:"))


def main() -> None:
    warnings.simplefilter("ignore")
    if len(sys.argv) == 3:
        with tempfile.TemporaryDirectory(prefix="hostile.") as home:
            print(*Worker(Path(home)).run(sys.argv[1], int(sys.argv[2]), shown=True))
        return
    worker = Worker(Path(sys.argv[1]))  # a folder that whoever watches makes, and removes
    answers = os.fdopen(os.dup(1), "w", encoding="ascii")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what commands print is no answer
    for line in sys.stdin:
        name, number = line.split()
        print(json.dumps([*worker.run(name, int(number)), peak() // 2**10]), file=answers, flush=True)


if __name__ == "__main__":
    main()
