"""Pictures with captions in a grid, each optionally framed and badged: the first look at any data or result."""

from collections.abc import Sequence

import plotly.graph_objects as go
from PIL import Image

from .labels import label
from .pictures import canvas, data_uri, place, write
from .theme import GREY, INK, WIDTH, translucent

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
    rows = [range(start, min(start + columns, len(pictures))) for start in range(0, len(pictures), columns)]
    heights = [cell + 26 + max(map(_caption_height, (texts[item] for item in row))) for row in rows]
    figure = canvas(title, subtitle, height=sum(heights) + 8)
    top = 0.0
    for row, height in zip(rows, heights, strict=True):
        for column, item in enumerate(row):
            left = side + column * (cell + gap)
            place(figure, data_uri(pictures[item]), left, top, cell, cell)
            frame = frames[item] if frames else None
            _frame(figure, left, top, cell, frame)
            if badges and badges[item]:
                _badge(figure, label(badges[item]), left, top, frame or INK)
            below = top + cell + 8
            for text in texts[item]:
                write(figure, text, left, below, size=13)
                below += _caption_height([text])
        top += height
    return figure


def _caption_height(texts: Sequence[str]) -> float:
    return sum(LINE * (text.count("<br>") + 1) + 5 for text in texts)


def _frame(figure: go.Figure, left: float, top: float, size: float, frame: str | None) -> None:
    """A thin grey line round a picture, or a thick coloured one outside it."""
    out = 2 if frame else 0
    figure.add_shape(
        type="rect",
        x0=left - out,
        y0=top - out,
        x1=left + size + out,
        y1=top + size + out,
        line={"color": frame or translucent(GREY, 0.35), "width": 5 if frame else 1},
    )


def _badge(figure: go.Figure, text: str, left: float, top: float, background: str) -> None:
    figure.add_annotation(
        text=f"<b>{text}</b>",
        x=left + 6,
        y=top + 6,
        xref="x",
        yref="y",
        xanchor="left",
        yanchor="top",
        showarrow=False,
        font={"size": 13, "color": "white"},
        bgcolor=translucent(background, 0.92),
        borderpad=4,
    )
