"""What a run needs of its process: signals that wait for a step, repeatable sums, `accelerate`, and enough memory.

After Ctrl-C, SIGTERM or a hang-up a step is finished and saved first, and a long job says how far it has come.
"""

import os
import signal
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from types import FrameType

import torch
from accelerate import Accelerator

from ..errors import ItmlabError


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


DISTRIBUTED = "unset WORLD_SIZE, RANK, LOCAL_RANK and the variables of accelerate, or start with accelerate launch"


@contextmanager
def repeatable(accelerator: Accelerator) -> Iterator[None]:
    """Use deterministic kernels on a GPU where there are any, without autocast; restore the settings at exit."""
    device, filling = accelerator.device, torch.utils.deterministic
    on_gpu, fill = device.type == "cuda", filling.fill_uninitialized_memory
    enabled = torch.are_deterministic_algorithms_enabled()
    warn_only = torch.is_deterministic_algorithms_warn_only_enabled()
    with torch.random.fork_rng(devices=[device] if on_gpu else []), torch.autocast(device.type, enabled=False):
        if on_gpu:
            os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # what cuBLAS asks for
            torch.use_deterministic_algorithms(True, warn_only=True)
            filling.fill_uninitialized_memory = False  # half of all kernels, for memory that is written anyway
        try:
            yield
        finally:
            torch.use_deterministic_algorithms(enabled, warn_only=warn_only)
            filling.fill_uninitialized_memory = fill


def world_size() -> int:
    """Return how many processes train together, as `accelerate launch` says in WORLD_SIZE.

    Raises:
        ItmlabError: WORLD_SIZE is not a number.
    """
    value = os.environ.get("WORLD_SIZE", "1")
    if not value.isdecimal():
        raise ItmlabError(f"WORLD_SIZE is not a number: {value!r}", where="environment", remedy=DISTRIBUTED)
    return int(value)


def this_process() -> Accelerator:
    """Return `accelerate`'s view of this process and its device.

    Raises:
        ItmlabError: the environment asks for processes that do not exist.
    """
    world_size()
    try:
        return Accelerator()
    except Exception as error:  # a wrong variable of the environment has many types
        reason = next(iter(str(error).splitlines()), type(error).__name__)
        raise ItmlabError(f"accelerate does not start: {reason[:200]}", remedy=DISTRIBUTED) from None


@contextmanager
def memory_named(where: object) -> Iterator[None]:
    """Turn a failed allocation into one ItmlabError with a remedy."""
    try:
        yield
    except (MemoryError, RuntimeError) as error:
        words = ("allocate", "out of memory", "Storage size")
        if not isinstance(error, MemoryError) and not any(word in str(error) for word in words):
            raise
        remedy = "choose a smaller data.batch_size, memory.length, size of the model, or count of negatives"
        raise ItmlabError("this recipe needs more memory than there is", where=str(where), remedy=remedy) from None
