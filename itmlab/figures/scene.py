"""One drawn scene beside what the world knows of it: each object's box, visible pixels and name."""

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Bool, Float
from numpy import ndarray
from PIL import Image

from .labels import label
from .overlay import enlarged, outlined, tinted
from .pictures import Canvas, data_uri
from .theme import PAPER, WIDTH, colour, translucent

LARGE = 0.25  # share of the picture from which on a thing is its ground or setting: tinted, it would hide the rest


def scene(
    picture: Image.Image,
    names: Sequence[str],
    boxes: Float[ndarray, "thing 4"],
    masks: Bool[ndarray, "thing height width"],
    *,
    title: str,
    subtitle: str = "",
    captions: Sequence[str] = (),
) -> go.Figure:
    """The picture, and again with every object's visible pixels tinted and its box (x0 y0 x1 y1, pixels) named.

    Ground, sky and setting have a name and a box but no tint. `captions` stand below, one after the other.
    """
    side, gap = 16, 24
    cell = (WIDTH - 2 * side - gap) / 2
    canvas, large = Canvas(), enlarged(picture, 512)
    scale = cell / max(picture.size)
    canvas.picture(data_uri(large, largest=512, photographic=True), side, 0, cell, cell)
    for index, mask in enumerate(masks):
        if float(np.asarray(mask, dtype=float).mean()) < LARGE:
            large = outlined(tinted(large, mask, colour(index), 0.3), mask, colour(index), rim=False)
    left, top = side + cell + gap, 0.0
    canvas.picture(data_uri(large, largest=512, photographic=True), left, top, cell, cell)
    left += (cell - picture.width * scale) / 2  # plotly centres a picture that is not square
    top += (cell - picture.height * scale) / 2
    for index, (name, box) in enumerate(zip(names, boxes, strict=True)):
        x0, y0, x1, y1 = (float(value) * scale for value in box)
        line = {"color": colour(index), "width": 2, "dash": "dot"}
        canvas.rectangle(left + x0, top + y0, x1 - x0, y1 - y0, line=line)
        background = {"bgcolor": translucent(colour(index), 0.92), "borderpad": 2}
        place = (left + x0, max(top + y0, 22))
        canvas.words(f"<b>{label(name)}</b>", *place, size=12, colour=PAPER, down="bottom", **background)
    below = cell + 16
    for caption in captions:
        text = label(caption, width=125, lines=2)
        canvas.words(text, side, below)
        below += 20 * (text.count("<br>") + 1) + 4
    return canvas.figure(title, subtitle, height=below + 4)
