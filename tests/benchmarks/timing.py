"""What benchmarks share: times of calls, and of the steps of a training."""

import math
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

from itmlab.train import loop
from itmlab.train.state import State


def seconds_of(call: Callable[[], object]) -> float:
    """The seconds of one call, by the clock."""
    began = time.perf_counter()
    call()
    return time.perf_counter() - began


def best_of(times: int, *calls: Callable[[], object]) -> list[float]:
    """The shortest time of each call in seconds, the calls taking turns so that a busy moment meets them all."""
    best = [math.inf] * len(calls)
    for _ in range(times):
        for index, call in enumerate(calls):
            best[index] = min(best[index], seconds_of(call))
    return best


class Timed:
    """Given to `train` as `on_record`, it keeps the seconds and the task's clock at each line of the history."""

    def __init__(self, monkeypatch: Any):
        self.marks: list[tuple[float, Counter[str]]] = []
        monkeypatch.setattr(loop, "State", self._make_state)

    def _make_state(self, *arguments: Any) -> State:
        self.state = State(*arguments)
        return self.state

    def __call__(self, record: dict[str, Any]) -> None:
        if record["kind"] != "warning":
            self.marks.append((time.perf_counter(), self.state.task.clock.seconds.copy()))

    def between(self, first: int, last: int) -> tuple[float, Counter[str]]:
        """Seconds from one line to another, and those of the parts."""
        (began, before), (ended, after) = self.marks[first], self.marks[last]
        return ended - began, after - before
