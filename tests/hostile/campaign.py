"""Many cases of a corpus, in a watched worker: one that says nothing for PATIENCE seconds hangs, and is ended."""

import json
import os
import select
import subprocess
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

CORPORA = ("captions", "pictures", "tables", "documents", "checkpoints", "regions", "options")
PATIENCE = 180  # seconds: cases take milliseconds, and a busy machine may stand still for a minute
ROOT = Path(__file__).resolve().parents[2]


@dataclass
class Tally:
    """How the cases of a corpus ended; `faults` says for each what happened."""

    name: str
    counts: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)
    peak: int = 0  # MiB that the worker held at most

    def row(self) -> str:
        """A line of the table."""
        tried, refused, accepted = self.counts.total(), self.counts["refused"], self.counts["accepted"]
        return f"{self.name:<12}{tried:>8}{refused:>9}{accepted:>10}{len(self.faults):>8}{self.peak:>10} MiB"


HEAD = f"{'corpus':<12}{'tried':>8}{'refused':>9}{'accepted':>10}{'faults':>8}{'peak':>14}"


class WatchedWorker:
    """A process of `worker.py`, begun anew after it hung, died or held too much."""

    def __init__(self) -> None:
        self.process: subprocess.Popen[bytes] | None = None

    def ask(self, name: str, number: int) -> tuple[str, str, int]:
        """How a case ended, what was said, and the most MiB held so far."""
        if self.process is None:
            self.begin()
        self.process.stdin.write(f"{name} {number}\n".encode())
        self.process.stdin.flush()
        ready, _, _ = select.select([self.process.stdout], [], [], PATIENCE)
        line = self.process.stdout.readline() if ready else b""
        if not line:
            self.process.kill()
            status = self.close()
            return "fault", f"died with status {status}" if ready else f"nothing for {PATIENCE} s", 0
        outcome, said, too_much, peak = json.loads(line)
        if too_much:  # the most that was ever held: what follows would be blamed for it
            self.close()
        return outcome, said, peak

    def begin(self) -> None:
        """Start the process in an empty folder."""
        self.home = tempfile.TemporaryDirectory(prefix="hostile.", ignore_cleanup_errors=True)
        told = {"MALLOC_ARENA_MAX": "2", "OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.hostile.worker", self.home.name],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=ROOT,
            env=os.environ | told,
        )

    def close(self) -> int:
        """End the process, and remove its folder; its exit status."""
        if self.process is None:
            return 0
        process, self.process = self.process, None
        with process:
            process.stdin.close()
        self.home.cleanup()
        return process.returncode


def campaign(name: str, count: int, worker: WatchedWorker) -> Tally:
    """Cases 0 to `count` of a corpus."""
    tally = Tally(name)
    for number in range(count):
        outcome, said, peak = worker.ask(name, number)
        tally.counts[outcome] += 1
        tally.peak = max(tally.peak, peak)
        if outcome == "fault":
            tally.faults.append(f"{name} {number}: {said}")
    return tally
