"""What synthetic negatives are made of: a row each, with the pictures or captions whose features it holds most of."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import plotly.graph_objects as go
from PIL import Image

from .labels import label
from .letters import shortened
from .pictures import Canvas, data_uri
from .theme import INK, MUTED, PANEL, RULE, VERDICTS, WIDTH, colour

if TYPE_CHECKING:
    from ..explain.made_of import MadeOf

ROW, SIDE, PICTURE = 78, 16, 60  # pixels


def prototypes(
    made: Sequence["MadeOf"],
    candidates: Sequence[str] | Sequence[Image.Image],
    *,
    title: str,
    subtitle: str = "",
    anchor: Image.Image | None = None,
    match: float | None = None,
    columns: int = 3,
) -> go.Figure:
    """A row a synthetic negative in the order given: its cosine, then its heaviest prototypes with kernel weights.

    `candidates` are all captions or all pictures of the batch, `anchor` an anchor's picture, shown on the left, `match`
    the cosine of its match. The world's verdict, where there is one, says whether a prototype is in truth a match.
    """
    canvas, left = Canvas(), SIDE
    if anchor is not None:
        canvas.picture(data_uri(anchor), SIDE, 24, 150, 150)
        left += 174
    first = left + 118
    room = (WIDTH - SIDE - first) / columns
    canvas.words("cosine", left + 36, 0, size=13, colour=MUTED)
    canvas.words("its heaviest prototypes, with their kernel weights", first, 0, size=13, colour=MUTED)
    for row, one in enumerate(made):
        top = 24 + ROW * row
        middle = top + (ROW - 8) / 2
        box = {"fillcolor": PANEL, "line": {"color": RULE, "width": 1}, "layer": "below"}
        canvas.rectangle(left, top, WIDTH - SIDE - left, ROW - 8, **box)
        canvas.rectangle(left, top, 8, ROW - 8, fillcolor=colour(one.cluster % 8), line={"width": 0})
        beyond = match is not None and one.hardness > match
        cosine = f"{one.hardness:.2f}".replace("-", "−")
        canvas.words(f"<b>{cosine}</b>", left + 36, middle - (9 if beyond else 0), size=17, down="middle")
        if beyond:
            canvas.words("above the match", left + 20, middle + 14, size=11, colour=MUTED, down="middle")
        for column, index in enumerate(one.prototypes[:columns]):
            verdict = None if one.verdicts is None else int(one.verdicts[column])
            _cell(canvas, candidates[index], one.weights[column], verdict, first + column * room, top, room)
    return canvas.figure(title, subtitle, height=max(24 + ROW * len(made), 190 if anchor is not None else 60) + 8)


def _cell(
    canvas: Canvas, shown: str | Image.Image, weight: float, verdict: int | None, x: float, top: float, room: float
) -> None:
    """One prototype: its picture or caption, its weight as a bar and in percent, and the verdict."""
    left, width = x, room - 14
    if isinstance(shown, str):
        lines = label(shown, width=max(int(width / 6.6), 8), lines=2)
        canvas.words(lines, left, top + 7, size=12)
    else:
        canvas.picture(data_uri(shown, largest=160), left, top + 5, PICTURE, PICTURE)
        left, width = left + PICTURE + 8, width - PICTURE - 8
    y = top + ROW - 22 if isinstance(shown, str) else top + 22
    bar = 0.36 * width
    for length, shade in ((bar, RULE), (bar * weight, INK)):
        canvas.rectangle(left, y - 4, length, 8, fillcolor=shade, line={"width": 0})
    canvas.words(f"{100 * weight:.0f} %", left + bar + 6, y, size=12, down="middle")
    if verdict is not None:
        shade, said = VERDICTS[verdict]
        place = (left + bar + 48, y) if isinstance(shown, str) else (left, y + 22)
        canvas.words(f"<b>{shortened(said, 12, 100)}</b>", *place, size=12, colour=shade, down="middle")
