"""What benchmarks share: times of calls."""

import math
import time
from collections.abc import Callable


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
