"""Ctrl-C, SIGTERM and a hang-up: a step is finished and saved first, and a long job says how far it has come."""

import signal
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from types import FrameType


class Interrupted(KeyboardInterrupt):
    """Training was stopped by a signal after its state was saved; a command should end with `exit_code`."""

    def __init__(self, signal_number: int, message: str):
        super().__init__(message)
        self.exit_code = 128 + signal_number


@contextmanager
def handled(numbers: Iterable[int], handler: Callable[[int, FrameType | None], None]) -> Iterator[None]:
    """Call `handler` for these signals during the block. Handlers belong to the main thread: others change nothing."""
    is_main = threading.current_thread() is threading.main_thread()
    before = {number: signal.signal(number, handler) for number in numbers if is_main}
    try:
        yield
    finally:
        for number, previous in before.items():
            signal.signal(number, previous or signal.SIG_DFL)


@contextmanager
def signals_collected() -> Iterator[list[int]]:
    """Put the first SIGINT or SIGTERM into a list instead of acting on it; the second one stops at once."""
    received: list[int] = []

    def receive(number: int, _: FrameType | None) -> None:
        if received:
            raise Interrupted(number, "stopped within a step, which is lost")
        received.append(number)

    with handled((signal.SIGINT, signal.SIGTERM), receive):
        yield received


@contextmanager
def stopped_in_words(where: Callable[[], str]) -> Iterator[None]:
    """Let Ctrl-C, SIGTERM or a hang-up end the block with an `Interrupted` that says where it stood.

    Signals that this process ignores or handles itself are left alone.

    Args:
        where: returns how far the work has come.
    """

    def stop(number: int, _: FrameType | None) -> None:
        raise Interrupted(number, signal.Signals(number).name)

    ending = [number for number in signal.Signals if number.name in ("SIGTERM", "SIGHUP")]
    try:
        with handled([number for number in ending if signal.getsignal(number) is signal.SIG_DFL], stop):
            yield
    except KeyboardInterrupt as error:
        number = error.exit_code - 128 if isinstance(error, Interrupted) else signal.SIGINT
        raise Interrupted(number, f"stopped: {where()}") from None
