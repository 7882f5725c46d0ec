"""What a run shows and notices while it trains: curves, a bar or lines, Ctrl-C and SIGTERM, where the seconds go."""

import html
import signal
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import Any, TextIO, TypeVar

import torch

SECONDS_BETWEEN_LINES = 6.0  # with a step of a few seconds, something moves at least every ten
SECONDS_BETWEEN_DRAWINGS = 1.0
T = TypeVar("T")


class Progress:
    """Step, loss, R@1 and the time left; nothing with `shown=False`.

    A bar on a terminal, plain lines elsewhere, and in a notebook, with `curves`, the curves of loss and recall, or
    (None) a bar.
    """

    def __init__(
        self,
        name: str,
        steps: int,
        done: int,
        *,
        shown: bool = True,
        out: TextIO | None = None,
        curves: bool | None = False,
    ):
        self.name, self.steps, self.done, self.shown = name, steps, done, shown
        self.out = out or (sys.stdout if in_notebook() else sys.stderr)  # a notebook frames errors in red
        self.recall = "–"
        self._began, self._begun_at, self._said = time.monotonic(), done, time.monotonic()
        self._bar = None
        live = shown and out is None and in_notebook()
        self.curves = LiveCurves(steps) if live and curves else LiveBar(self) if live and curves is None else None
        if shown and self.curves is None and self.out.isatty():
            from tqdm import tqdm

            self._bar = tqdm(total=steps, initial=done, desc=name, unit="step", file=self.out, dynamic_ncols=True)

    def step(self, loss: float | None = None, more: str = "") -> None:
        """One more step, with its loss where it has one, and `more` to say of it."""
        self.done += 1
        told = "" if loss is None else f"loss {loss:.3f}"
        if self.curves is not None and loss is not None:
            self.curves.losses.append((self.done, loss))
            if time.monotonic() - self._said > SECONDS_BETWEEN_DRAWINGS:
                self._say(f"{told}, R@1 {self.recall}{more}")
        elif self._bar is not None:
            self._bar.set_postfix_str(told and f"{told}, R@1 {self.recall}{more}", refresh=False)
            self._bar.update()
        elif self.shown and time.monotonic() - self._said > SECONDS_BETWEEN_LINES:
            self._say(told and told + more)

    def reach(self, done: int, more: str = "") -> None:
        """So many steps are done in all, by whoever did them, and `more` to say of it."""
        moved, self.done = done - self.done, done
        if self._bar is not None:
            self._bar.set_postfix_str(more, refresh=False)
            self._bar.update(moved)
        elif self.shown:
            between = SECONDS_BETWEEN_LINES if self.curves is None else SECONDS_BETWEEN_DRAWINGS
            if time.monotonic() - self._said > between or (moved and done == self.steps):
                self._say(more)

    def epoch(self, epoch: int, epochs: int, loss: float, recall: float | None) -> None:
        """One more epoch, with its mean loss and the validation R@1 (mean of both directions), if there is one."""
        self.recall = "–" if recall is None else f"{recall:.1f}"
        if self.curves is not None and recall is not None:
            self.curves.recalls.append((self.done, recall))
        if self._bar is None and self.shown:
            self._say(f"epoch {epoch}/{epochs}, loss {loss:.3f}, R@1 {self.recall}")

    def close(self) -> None:
        if self.curves is not None and self.curves.losses:
            self._say(f"loss {self.curves.losses[-1][1]:.3f}, R@1 {self.recall}")
        if self._bar is not None:
            self._bar.close()

    def _say(self, what: str) -> None:
        self._said = time.monotonic()
        pace = (self._said - self._began) / max(self.done - self._begun_at, 1)
        left = pace * (self.steps - self.done)
        said = ", ".join(filter(None, (f"step {self.done}/{self.steps}", what, f"{clock(left)} left")))
        if self.curves is not None:
            self.curves.draw(f"{self.name}: {said}")
        else:
            print(f"{self.name}: {said}", file=self.out, flush=True)


POINTS = 240  # of a curve at most: more than the pixels can tell apart cost time and room


class LiveCurves:
    """Loss and recall of a run in a notebook's output, drawn anew in one place as it trains.

    What is drawn is one SVG: it follows without widgets, stays in the notebook and in what is exported from it, and is
    a line of text where no pictures are shown.
    """

    def __init__(self, steps: int):
        self.steps, self.said = steps, ""
        self.losses: list[tuple[int, float]] = []  # step, value
        self.recalls: list[tuple[int, float]] = []
        self._place: Any = None

    def __repr__(self) -> str:
        return self.said

    def draw(self, said: str) -> None:
        """Show the curves as they are now, under the line `said`."""
        from IPython.display import display

        self.said = said
        if self._place is None:
            self._place = display(self, display_id=True)
        elif self._place:
            self._place.update(self)

    def _repr_html_(self) -> str:
        apart = -(-len(self.losses) // POINTS) or 1
        parts = [self.losses[start : start + apart] for start in range(0, len(self.losses), apart)]
        means = [(part[-1][0], sum(loss for _, loss in part) / len(part)) for part in parts]
        panels = self._panel(0, "training loss", means, "#0072B2") + self._panel(
            380, "validation R@1, %", self.recalls, "#D55E00", dots=True
        )
        said = html.escape(self.said)
        svg = f'<svg viewBox="0 0 740 190" style="max-width:740px;width:100%" role="img" aria-label="{said}">'
        font = 'font-family="sans-serif" font-size="13" fill="currentColor"'
        return f"<div>{said}<br/>{svg}<g {font}>{panels}</g></svg></div>"

    def _panel(self, left: int, name: str, points: list[tuple[int, float]], colour: str, *, dots: bool = False) -> str:
        """One curve over the steps of the whole run, so that what is still to come is seen as room."""
        low, high = min((value for _, value in points), default=0.0), max((value for _, value in points), default=1.0)
        low = min(low, 0.0) if dots else low
        across, up = 290 / max(self.steps, 1), 130 / ((high - low) or 1.0)
        places = [(left + 60 + step * across, 160 - (value - low) * up) for step, value in points]
        line = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
        marks = "".join(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5" fill="{colour}"/>' for x, y in places if dots)
        words = [(60, 18, "start", name), (54, 164, "end", f"{low:.3g}"), (54, 34, "end", f"{high:.3g}")]
        words += [(60, 180, "middle", "0"), (350, 180, "end", f"{self.steps} steps")]
        texts = (f'<text x="{left + x}" y="{y}" text-anchor="{side}">{word}</text>' for x, y, side, word in words)
        axes = f'<path d="M{left + 60} 28V162H{left + 352}" fill="none" stroke="currentColor" stroke-opacity=".45"/>'
        curve = f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="2"/>'
        return "".join([*texts, axes, curve, marks])


class LiveBar(LiveCurves):
    """A bar in a notebook's output, drawn anew in one place."""

    def __init__(self, progress: Progress):
        super().__init__(progress.steps)
        self.progress = progress

    def _repr_html_(self) -> str:
        return f'<progress max="{self.steps}" value="{self.progress.done}"></progress> {html.escape(self.said)}'


def counted(parts: Sequence[T], name: str, *, shown: bool = True, out: TextIO | None = None) -> Iterator[T]:
    """The parts one by one, with the progress of what is done with them.

    >>> list(counted("ab", "two letters", shown=False))
    ['a', 'b']
    """
    progress = Progress(name, len(parts), 0, shown=shown, out=out)
    for part in parts:
        yield part
        progress.step()
    progress.close()


def in_notebook() -> bool:
    """Whether this process is a notebook's kernel; IPython is only asked where something has imported it.

    >>> in_notebook()
    False
    """
    ipython = sys.modules.get("IPython")
    return ipython is not None and getattr(ipython.get_ipython(), "kernel", None) is not None


def clock(seconds: float) -> str:
    """Seconds as a clock shows them.

    >>> clock(42.4), clock(187), clock(3753)
    ('0:42', '3:07', '1:02:33')
    """
    minutes, second = divmod(round(seconds), 60)
    hours, minute = divmod(minutes, 60)
    return f"{hours}:{minute:02d}:{second:02d}" if hours else f"{minute}:{second:02d}"


class Interrupted(KeyboardInterrupt):
    """Training stopped by a signal after its state was saved; `exit_code` is what a command should end with."""

    def __init__(self, signal_number: int, message: str):
        super().__init__(message)
        self.exit_code = 128 + signal_number


class Interruption:
    """Within it, the first SIGINT or SIGTERM sets `signal_number`, so that a step can be finished and its state saved.

    A second one acts as it would have outside. Handlers belong to the main thread: in any other this notices nothing.
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


class Stopwatch:
    """Adds up the `seconds` that named parts of the work take."""

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
