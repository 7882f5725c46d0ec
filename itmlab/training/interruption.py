"""Ctrl-C and SIGTERM during training: the step is finished and saved before training stops."""

import signal
import threading
from types import FrameType

import torch
from accelerate import Accelerator


class Interrupted(KeyboardInterrupt):
    """Training was stopped by a signal after its state was saved; a command should end with `exit_code`."""

    def __init__(self, signal_number: int, message: str):
        super().__init__(message)
        self.exit_code = 128 + signal_number


class Interruption:
    """A context in which the first SIGINT or SIGTERM only sets `signal_number`; the second acts as usual.

    Signal handlers belong to the main thread: in any other thread nothing changes.
    """

    def __init__(self) -> None:
        self.signal_number = 0
        self._handlers: dict[int, object] = {}

    def __enter__(self) -> "Interruption":
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                self._handlers[number] = signal.signal(number, self._notice)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._handlers.items():
            signal.signal(number, handler if handler is not None else signal.SIG_DFL)
        self._handlers = {}

    def _notice(self, number: int, _: FrameType | None) -> None:
        self.signal_number = number
        self.__exit__()

    def anywhere(self, accelerator: Accelerator) -> int:
        """The signal that any process has received, so that all of them stop after the same step; 0 for none."""
        if accelerator.num_processes == 1:
            return self.signal_number
        numbers = torch.tensor([self.signal_number], device=accelerator.device)
        return int(accelerator.gather(numbers).max())
