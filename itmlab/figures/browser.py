"""One Chrome for the whole process, started at the first picture: 0.15 s a PNG instead of 2 s."""

import asyncio
import atexit
import threading
from collections.abc import Coroutine
from functools import cache, lru_cache
from typing import Any

import plotly.graph_objects as go

from .theme import WIDTH

PATIENCE = 90  # seconds: a Chrome that has not drawn a figure by then will not


class Browser:
    """A headless Chrome on an event loop of its own thread (a notebook's loop is taken already)."""

    def __init__(self) -> None:
        from kaleido import Kaleido

        self.loop = asyncio.new_event_loop()
        threading.Thread(target=self.loop.run_forever, name="figures", daemon=True).start()
        self.kaleido = self.wait(self._open(Kaleido))
        atexit.register(self.close)

    async def _open(self, kind: type) -> Any:
        kaleido = kind(n=1, mathjax=False)  # MathJax would be fetched from the network
        await kaleido.open()
        return kaleido

    def wait(self, work: Coroutine[Any, Any, Any]) -> Any:
        """Run `work` on the browser's loop and wait for it."""
        return asyncio.run_coroutine_threadsafe(work, self.loop).result(PATIENCE)

    def png(self, figure: go.Figure) -> bytes:
        """`figure` as a PNG at twice its size in pixels."""
        size = {"width": figure.layout.width or WIDTH, "height": figure.layout.height or 460, "scale": 2}
        return self.wait(self.kaleido.calc_fig(figure.to_dict(), opts={"format": "png", **size}))

    def close(self) -> None:
        """End Chrome."""
        self.wait(self.kaleido.close())


@lru_cache(maxsize=1)
def shared_browser() -> Browser | str:
    """The process's browser, or in one line why there is none."""
    try:
        return Browser()
    except Exception as error:  # no Chrome, or one that cannot start: kaleido raises many kinds
        return _first_line(error)


def draw(figure: go.Figure) -> bytes | str:
    """`figure` as PNG bytes, or in one line why there is none."""
    browser = shared_browser()
    if isinstance(browser, str):
        return browser
    try:
        return browser.png(figure)
    except Exception as error:  # Chrome was killed, or hangs
        return _first_line(error)


def _first_line(error: Exception) -> str:
    return next(iter(str(error).strip().splitlines()), type(error).__name__)


@cache
def say_once(line: str) -> None:
    """Print a line, unless it was printed before."""
    print(line)
