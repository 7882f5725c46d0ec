"""When each line of a history was written, and how long parts of the steps before it took."""

import time
from collections import Counter
from collections.abc import Callable
from typing import Any

from itmlab.train.step_cross import CrossEncoderTask, Sentences
from itmlab.train.step_dual import DualEncoderTask

PARTS = {  # what is measured, and by which name
    (DualEncoderTask, "_synthetic"): "synthesis",
    (Sentences, "__call__"): "synthesis",
    (CrossEncoderTask, "mine"): "mining",
}


class Timed:
    """Given to `train` as `on_record`, it keeps the time at each line and the seconds of the parts until then."""

    def __init__(self, monkeypatch: Any):
        self.marks: list[tuple[float, Counter[str]]] = []
        self.seconds: Counter[str] = Counter()
        for (owner, method), part in PARTS.items():
            monkeypatch.setattr(owner, method, self._measured(getattr(owner, method), part))

    def _measured(self, method: Callable[..., Any], part: str) -> Callable[..., Any]:
        def measured(*arguments: Any, **options: Any) -> Any:
            began = time.perf_counter()
            result = method(*arguments, **options)
            self.seconds[part] += time.perf_counter() - began
            return result

        return measured

    def __call__(self, record: dict[str, Any]) -> None:
        if record["kind"] != "warning":
            self.marks.append((time.perf_counter(), self.seconds.copy()))

    def between(self, first: int, last: int) -> tuple[float, Counter[str]]:
        """Seconds from one line to another, and those of the parts."""
        (began, before), (ended, after) = self.marks[first], self.marks[last]
        return ended - began, after - before
