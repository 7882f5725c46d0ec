"""Pictures with captions in a grid, each optionally framed and badged: the first look at any data or result."""

from collections.abc import Sequence

import plotly.graph_objects as go
from PIL import Image

from .labels import label
from .pictures import Canvas, data_uri
from .theme import GREY, INK, PAPER, WIDTH, translucent

LINE = 18  # pixels from one line of caption to the next


def gallery(
    pictures: Sequence[Image.Image],
    captions: Sequence[str | Sequence[str]],
    *,
    title: str,
    subtitle: str = "",
    columns: int = 4,
    frames: Sequence[str | None] | None = None,
    badges: Sequence[str | None] | None = None,
    lines: int = 4,
) -> go.Figure:
    """Pictures in a grid of `columns`, each over its caption or captions.

    `frames` holds a #RRGGBB colour (or None) a picture and `badges` a short text on it, e.g. a rank or a score; a
    caption longer than `lines` lines is cut.
    """
    gap, side = 20, 16
    cell = (WIDTH - 2 * side - gap * (columns - 1)) / columns
    letters = max(10, int(cell / 6.9))
    texts = [
        [label(caption, width=letters, lines=lines) for caption in ([entry] if isinstance(entry, str) else entry)]
        for entry in captions
    ]
    canvas, top = Canvas(), 6.0
    for start in range(0, len(pictures), columns):
        row = range(start, min(start + columns, len(pictures)))
        for column, item in enumerate(row):
            left = side + column * (cell + gap)
            canvas.picture(data_uri(pictures[item]), left, top, cell, cell)
            frame = frames[item] if frames else None
            _frame(canvas, left, top, cell, frame)
            if badges and badges[item]:
                background = {"bgcolor": translucent(frame or INK, 0.92), "borderpad": 4}
                canvas.words(f"<b>{label(badges[item])}</b>", left + 6, top + 6, size=13, colour=PAPER, **background)
            below = top + cell + 8
            for text in texts[item]:
                canvas.words(text, left, below, size=13)
                below += _height([text])
        top += cell + 26 + max(_height(texts[item]) for item in row)
    return canvas.figure(title, subtitle, height=top + 8)


def _height(texts: Sequence[str]) -> float:
    return sum(LINE * (text.count("<br>") + 1) + 5 for text in texts)


def _frame(canvas: Canvas, left: float, top: float, size: float, frame: str | None) -> None:
    """A thin grey line round a picture, or a thick coloured one outside it."""
    out = 2 if frame else 0
    line = {"color": frame or translucent(GREY, 0.35), "width": 5 if frame else 1}
    canvas.rectangle(left - out, top - out, size + 2 * out, size + 2 * out, line=line)
