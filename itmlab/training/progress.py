"""Progress as a bar on a terminal, and as plain lines anywhere else (a notebook run without a screen, a log file)."""

import sys
import time
from typing import TextIO

SECONDS_BETWEEN_LINES = 15.0


class Progress:
    """Shows step, loss, R@1 and the time left; `shown=False` shows nothing."""

    def __init__(self, name: str, steps: int, done: int, *, shown: bool = True, out: TextIO | None = None):
        self.name, self.steps, self.done, self.shown = name, steps, done, shown
        self.out = out or (sys.stdout if "ipykernel" in sys.modules else sys.stderr)  # a notebook frames errors in red
        self.recall = "–"
        self._began, self._begun_at, self._said = time.monotonic(), done, time.monotonic()
        self._bar = None
        if shown and self.out.isatty():
            from tqdm import tqdm

            self._bar = tqdm(total=steps, initial=done, desc=name, unit="step", file=self.out, dynamic_ncols=True)

    def step(self, loss: float, more: str = "") -> None:
        """One more step, with its loss, and `more` to say of it."""
        self.done += 1
        if self._bar is not None:
            self._bar.set_postfix_str(f"loss {loss:.3f}, R@1 {self.recall}{more}", refresh=False)
            self._bar.update()
        elif self.shown and time.monotonic() - self._said > SECONDS_BETWEEN_LINES:
            self._say(f"loss {loss:.3f}{more}")

    def epoch(self, epoch: int, epochs: int, loss: float, recall: float | None) -> None:
        """One more epoch, with its mean loss and the validation R@1 (mean of both directions), if there is one."""
        self.recall = "–" if recall is None else f"{recall:.1f}"
        if self._bar is None and self.shown:
            self._say(f"epoch {epoch}/{epochs}, loss {loss:.3f}, R@1 {self.recall}")

    def close(self) -> None:
        if self._bar is not None:
            self._bar.close()

    def _say(self, what: str) -> None:
        self._said = time.monotonic()
        pace = (self._said - self._began) / max(self.done - self._begun_at, 1)
        left = pace * (self.steps - self.done)
        print(f"{self.name}: step {self.done}/{self.steps}, {what}, {clock(left)} left", file=self.out, flush=True)


def clock(seconds: float) -> str:
    """Seconds as 0:42, 3:07 or 1:02:33."""
    minutes, second = divmod(round(seconds), 60)
    hours, minute = divmod(minutes, 60)
    return f"{hours}:{minute:02d}:{second:02d}" if hours else f"{minute}:{second:02d}"
