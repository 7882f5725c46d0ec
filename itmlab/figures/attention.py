"""Where words land in a picture: one row a checkpoint, one column a word (FNE, Figures 3 and 7)."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import plotly.graph_objects as go
from jaxtyping import Bool
from numpy import ndarray

from .labels import label
from .overlay import heat, outlined
from .pictures import Canvas, data_uri
from .theme import MUTED, PAPER, WIDTH

if TYPE_CHECKING:
    from ..explain.attention import AttentionMap


def attention_maps(
    maps: Mapping[str, "Sequence[AttentionMap]"],
    *,
    title: str = "Where each word lands",
    subtitle: str = "",
    outlines: Sequence[Bool[ndarray, "height width"] | None] = (),
) -> go.Figure:
    """The picture, then each word's map over it, a row a checkpoint; a row too long for the width is broken.

    All checkpoints map the same words of the same picture. `outlines` holds for each word the visible pixels of the
    object that it means (or None), drawn as a white line. Each map is stretched to its own range.
    """
    words = max((len(row) for row in maps.values()), default=0)
    columns = min(words + 1, 6)
    side, gap, head = 16, 14, 26
    cell = min(230.0, (WIDTH - 2 * side - gap * (columns - 1)) / columns)
    canvas, top = Canvas(), 0.0
    for name, row in maps.items():
        canvas.words(f"<b>{label(name)}</b>", side, top + 4)
        tall = cell * min(1.0, row[0].picture.height / row[0].picture.width) if row else 0.0
        if row:
            canvas.picture(data_uri(row[0].picture), side, top + head, cell, tall)
        for index, attention in enumerate(row):
            line, column = divmod(index, columns - 1)
            left, high = side + (column + 1) * (cell + gap), top + line * (tall + head + 4)
            painted = heat(attention.picture, attention.weights)
            if index < len(outlines) and outlines[index] is not None:
                painted = outlined(painted, outlines[index], PAPER, rim=True)
            wide = tall * attention.picture.width / attention.picture.height  # a portrait leaves room on its right
            canvas.words(label(attention.word), left + wide / 2, high + 4, colour=MUTED, across="center")
            canvas.picture(data_uri(painted, largest=288, photographic=True), left, high + head, cell, tall)
        top += max(1, -(-len(row) // max(columns - 1, 1))) * (tall + head + 4) + 12
    return canvas.figure(title, subtitle, height=top)
