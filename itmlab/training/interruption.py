"""Ctrl-C and SIGTERM, remembered until a step is finished and its state is on the disk."""

import signal
import threading
from types import FrameType

import torch


class Interrupted(KeyboardInterrupt):
    """Training stopped by a signal after its state was saved; `exit_code` is what a command should end with."""

    def __init__(self, signal_number: int, message: str):
        super().__init__(message)
        self.exit_code = 128 + signal_number


class Interruption:
    """Within it, the first SIGINT or SIGTERM sets `signal_number`; a second one acts as it would have outside.

    Handlers belong to the main thread: in any other this notices nothing.
    """

    def __init__(self) -> None:
        self.signal_number = 0
        self._outside: dict[int, object] = {}

    def __enter__(self) -> "Interruption":
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                self._outside[number] = signal.signal(number, self._notice)
        return self

    def __exit__(self, *_: object) -> None:
        self._restore()

    def _notice(self, number: int, _: FrameType | None) -> None:
        self.signal_number = number
        self._restore()

    def _restore(self) -> None:
        for number, handler in self._outside.items():
            signal.signal(number, handler if handler is not None else signal.SIG_DFL)
        self._outside = {}

    def anywhere(self, accelerator) -> int:
        """The signal that any process has seen, so that all of them stop after the same step; 0 for none."""
        if accelerator.num_processes == 1:
            return self.signal_number
        seen = torch.tensor([self.signal_number], device=accelerator.device)
        return int(accelerator.gather(seen).max())
