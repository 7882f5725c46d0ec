"""One picture beside its captions, each with its score by several models."""

from collections.abc import Mapping, Sequence

import plotly.graph_objects as go
from jaxtyping import Float
from numpy import ndarray
from PIL import Image

from .labels import label
from .pictures import Canvas, data_uri
from .theme import INK, MUTED, PANEL, RULE, WIDTH

SIDE, PICTURE, ROW, NUMBER = 16, 220, 44, 118  # pixels


def captioned(
    picture: Image.Image,
    captions: Sequence[str],
    scores: Mapping[str, Float[ndarray, "caption"]],
    *,
    title: str,
    subtitle: str = "",
    chosen: int | None = None,
) -> go.Figure:
    """The picture, its captions below each other, and a column of scores a model; `chosen` is set off from the rest."""
    canvas = Canvas()
    canvas.picture(data_uri(picture), SIDE, 0, PICTURE, PICTURE)
    left, right = SIDE + PICTURE + 28, WIDTH - SIDE
    columns = [right - 10 - NUMBER * place for place in range(len(scores) - 1, -1, -1)]
    for name, column in zip(scores, columns, strict=True):
        canvas.words(label(name, width=18, lines=2), column, 24, size=13, colour=MUTED, across="right", down="bottom")
    letters = max(20, int((right - left - NUMBER * len(scores) - 20) / 7))
    for row, caption in enumerate(captions):
        top = 32 + ROW * row
        rim = {"color": INK, "width": 2} if row == chosen else {"color": RULE, "width": 1}
        canvas.rectangle(left, top, right - left, ROW - 6, fillcolor=PANEL, line=rim, layer="below")
        middle = top + (ROW - 6) / 2
        canvas.words(label(caption, width=letters, lines=2), left + 10, middle, size=13, down="middle")
        for values, column in zip(scores.values(), columns, strict=True):
            canvas.words(f"<b>{values[row]:.2f}</b>", column, middle, size=13, across="right", down="middle")
    return canvas.figure(title, subtitle, height=max(PICTURE, 32 + ROW * len(captions)) + 12)
