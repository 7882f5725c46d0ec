"""Seconds that named parts of the work take."""

import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager


class Stopwatch:
    """Adds up `seconds` by name."""

    def __init__(self) -> None:
        self.seconds: Counter[str] = Counter()

    @contextmanager
    def measured(self, name: str) -> Iterator[None]:
        """What happens inside counts as `name`, however it ends."""
        began = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[name] += time.perf_counter() - began

    def since(self, before: Counter[str]) -> dict[str, float]:
        """Seconds by name since `before`, a copy of `seconds`."""
        return {name: seconds - before[name] for name, seconds in self.seconds.items()}
