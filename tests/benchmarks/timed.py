"""When each line of a history was written, and how long parts of the steps before it took."""

import time
from collections import Counter
from typing import Any

from itmlab.train import loop
from itmlab.train.state import State


class Timed:
    """Given to `train` as `on_record`, it keeps the seconds and the task's clock at each line."""

    def __init__(self, monkeypatch: Any):
        self.marks: list[tuple[float, Counter[str]]] = []
        monkeypatch.setattr(loop, "State", self._made)

    def _made(self, *arguments: Any) -> State:
        self.state = State(*arguments)
        return self.state

    def __call__(self, record: dict[str, Any]) -> None:
        if record["kind"] != "warning":
            self.marks.append((time.perf_counter(), self.state.task.clock.seconds.copy()))

    def between(self, first: int, last: int) -> tuple[float, Counter[str]]:
        """Seconds from one line to another, and those of the parts."""
        (began, before), (ended, after) = self.marks[first], self.marks[last]
        return ended - began, after - before
