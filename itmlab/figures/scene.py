"""One drawn scene beside what the world knows of it: each object's box, visible pixels and name."""

from collections.abc import Sequence

import plotly.graph_objects as go
from jaxtyping import Bool, Float
from numpy import ndarray
from PIL import Image

from .labels import label
from .overlay import enlarged, outlined, tinted
from .pictures import canvas, data_uri, place, write
from .theme import INK, PAPER, WIDTH, colour, translucent


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
    """The picture, the same with every object's visible pixels tinted and its box (x0 y0 x1 y1, pixels) named.

    `captions` stand below, one line each.
    """
    side, gap = 16, 24
    cell = (WIDTH - 2 * side - gap) / 2
    lines = [label(caption, width=125, lines=2) for caption in captions]
    figure = canvas(title, subtitle, height=cell + 20 + sum(20 * (line.count("<br>") + 1) + 4 for line in lines))
    large = enlarged(picture, 512)
    scale = cell / max(picture.size)
    place(figure, data_uri(large, largest=512, photographic=True), side, 0, cell, cell)
    for index, mask in enumerate(masks):
        large = outlined(tinted(large, mask, colour(index), 0.35), mask, colour=colour(index))
    left = side + cell + gap
    place(figure, data_uri(large, largest=512, photographic=True), left, 0, cell, cell)
    left += (cell - picture.width * scale) / 2  # plotly centres a picture that is not square
    above = (cell - picture.height * scale) / 2
    for index, (name, box) in enumerate(zip(names, boxes, strict=True)):
        x0, y0, x1, y1 = (float(value) * scale for value in box)
        figure.add_shape(
            type="rect",
            x0=left + x0,
            y0=above + y0,
            x1=left + x1,
            y1=above + y1,
            line={"color": colour(index), "width": 2, "dash": "dot"},
        )
    for index, (name, box) in enumerate(zip(names, boxes, strict=True)):
        figure.add_annotation(
            text=f"<b>{label(name)}</b>",
            x=left + float(box[0]) * scale,
            y=max(above + float(box[1]) * scale, 22),
            xanchor="left",
            yanchor="bottom",
            showarrow=False,
            font={"size": 12, "color": PAPER},
            bgcolor=translucent(colour(index), 0.92),
            borderpad=2,
        )
    below = cell + 16
    for line in lines:
        write(figure, line, side, below, size=14, colour=INK)
        below += 20 * (line.count("<br>") + 1) + 4
    return figure
