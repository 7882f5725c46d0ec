"""Ctrl-C and SIGTERM during training: the step is finished and saved before training stops."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class Interrupted(KeyboardInterrupt):
    """Training was stopped by a signal after its state was saved; a command should end with `exit_code`."""

    def __init__(self, signal_number: int, message: str):
        super().__init__(message)
        self.exit_code = 128 + signal_number


@contextmanager
def signals_collected() -> Iterator[list[int]]:
    """Put the first SIGINT or SIGTERM into a list instead of acting on it; the second one acts as usual.

    Signal handlers belong to the main thread: in any other thread the list stays empty.
    """
    received: list[int] = []
    is_main = threading.current_thread() is threading.main_thread()
    numbers = (signal.SIGINT, signal.SIGTERM) if is_main else ()
    before = {number: signal.getsignal(number) or signal.SIG_DFL for number in numbers}

    def restore() -> None:
        for number, handler in before.items():
            signal.signal(number, handler)

    def receive(number: int, _: FrameType | None) -> None:
        received.append(number)
        restore()

    for number in before:
        signal.signal(number, receive)
    try:
        yield received
    finally:
        restore()
