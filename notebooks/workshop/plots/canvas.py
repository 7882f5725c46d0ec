"""Pictures and words inside plotly figures: a canvas in pixels, gallery, table, arrays painted over pictures."""

import base64
import io
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Bool, Float, UInt8
from numpy import ndarray
from PIL import Image
from plotly.colors import hex_to_rgb
from scipy.ndimage import binary_erosion

from . import theme
from .theme import label, rich_label, styled, translucent


def data_uri(picture: Image.Image, *, largest: int = 256, photographic: bool = False) -> str:
    """Return a picture as a data URI: PNG, or a smaller JPEG for photographs.

    Args:
        picture: the picture.
        largest: no side is longer, in pixels.
        photographic: whether a JPEG is good enough.
    """
    small, buffer, kind = picture.convert("RGB"), io.BytesIO(), "jpeg" if photographic else "png"
    small.thumbnail((largest, largest), Image.Resampling.LANCZOS)
    small.save(buffer, kind, optimize=True, quality=88)
    return f"data:image/{kind};base64,{base64.b64encode(buffer.getvalue()).decode()}"


class Canvas:
    """A drawing area in pixels, its origin at the top left and y downwards, that becomes a plotly figure at the end.

    What is drawn is gathered first and handed over at once: plotly copies all of it again for each piece added.
    """

    def __init__(self) -> None:
        self.images: list[dict[str, Any]] = []
        self.shapes: list[dict[str, Any]] = []
        self.annotations: list[dict[str, Any]] = []

    def picture(self, source: str, x: float, y: float, width: float, height: float) -> None:
        """Draw an image (a data URI) into a box whose top left corner is (x, y), in proportion and centred."""
        place = {"xref": "x", "yref": "y", "x": x, "y": y, "sizex": width, "sizey": height}
        self.images.append({"source": source, **place, "xanchor": "left", "yanchor": "top"})

    def rectangle(self, x: float, y: float, width: float, height: float, **style: Any) -> None:
        """Draw a rectangle by its top left corner and size; `style` as plotly's shapes take it."""
        corners = {"x0": x, "y0": y, "x1": x + width, "y1": y + height}
        self.shapes.append({"type": "rect", **corners, "line": {"width": 0}, **style})

    def line(self, start: tuple[float, float], end: tuple[float, float], colour: str) -> None:
        """Draw a thin straight line."""
        ends = {"x0": start[0], "y0": start[1], "x1": end[0], "y1": end[1]}
        self.shapes.append({"type": "line", **ends, "line": {"color": colour}, "layer": "below"})

    def words(
        self, text: str, x: float, y: float, size: int = 14, colour: str = theme.INK, across: str = "left", **style: Any
    ) -> None:
        """Write text.

        Args:
            text: what to write, already a label.
            x: of its left end, centre or right end.
            y: of its top, middle or bottom.
            size: of the font, in pixels.
            colour: of the letters.
            across: "left", "center" or "right": what is at `x`.
            **style: as plotly's annotations take it, for example `yanchor`: what is at `y`.
        """
        font = {"size": size, "color": colour}
        place = {"x": x, "y": y, "xref": "x", "yref": "y", "xanchor": across, "yanchor": "top", "align": across}
        self.annotations.append({"text": text, **place, "showarrow": False, "borderpad": 0, "font": font, **style})

    def arrow(self, start: tuple[float, float], end: tuple[float, float], colour: str) -> None:
        """Draw an arrow from point to point."""
        ends = {"ax": start[0], "ay": start[1], "x": end[0], "y": end[1]}
        axes = {"xref": "x", "yref": "y", "axref": "x", "ayref": "y"}
        head = {"arrowhead": 2, "arrowsize": 1.1, "arrowwidth": 2, "arrowcolor": colour}
        self.annotations.append({**ends, **axes, **head, "text": "", "standoff": 0, "startstandoff": 0})

    def figure(self, title: str = "", subtitle: str = "", *, height: float) -> go.Figure:
        """Return all that was drawn as a figure.

        Args:
            title: above it.
            subtitle: below the title.
            height: how many pixels of the drawing are shown.
        """
        hidden = {"visible": False, "fixedrange": True, "automargin": False}
        figure = go.Figure(layout={"images": self.images, "shapes": self.shapes, "annotations": self.annotations})
        figure.update_layout(
            width=theme.WIDTH,
            xaxis={"range": [0, theme.WIDTH], **hidden},
            yaxis={"range": [height, 0], **hidden},
        )
        styled(figure, title, subtitle, height=round(height), legend=False)
        margin = {"l": 0, "r": 0, "t": figure.layout.margin.t + 2, "b": 0}
        heading = {"x": 16 / theme.WIDTH, "xref": "container"}
        return figure.update_layout(margin=margin, title=heading, height=figure.layout.height + 8)


# The gallery: pictures with captions in a grid.

SIDE, LINE = 16, 18  # pixels: margin, and from one line of text to the next


def draw_gallery(
    pictures: Sequence[Image.Image],
    captions: Sequence[str | Sequence[str]],
    *,
    title: str = "",
    subtitle: str = "",
    columns: int = 4,
    frames: Sequence[str | None] | None = None,
    badges: Sequence[str | None] | None = None,
    headings: Mapping[int, str] | None = None,
) -> go.Figure:
    """Draw pictures in a grid, each over its caption or captions.

    Args:
        pictures: any sizes; each is fitted into a square.
        captions: one text or several per picture, cut after four lines.
        title: the figure's title.
        subtitle: what is shown.
        columns: pictures in a row.
        frames: a #RRGGBB colour per picture, or None.
        badges: a short text on each picture, for example a rank; or None.
        headings: texts over the rows that begin with these pictures; each heading begins a new row.
    """
    gap = 20
    cell = (theme.WIDTH - 2 * SIDE - gap * (columns - 1)) / columns
    letters = max(10, int(cell / 6.9))
    headings = headings or {}
    verdicts = [shade for shade, _ in theme.TRUTH_LABELS.values()]
    rows: list[list[int]] = []
    for item in range(len(pictures)):
        if not rows or len(rows[-1]) == columns or item in headings:
            rows.append([])
        rows[-1].append(item)
    canvas, top = Canvas(), 6.0
    for row in rows:
        if row[0] in headings:
            canvas.words(f"<b>{label(headings[row[0]])}</b>", SIDE, top)
            top += 28
        lowest = top + cell
        for column, item in enumerate(row):
            left = SIDE + column * (cell + gap)
            canvas.picture(data_uri(pictures[item]), left, top, cell, cell)
            frame = frames[item] if frames else None
            outside = 2 if frame else 0  # a coloured frame stands outside the picture
            line = {"color": frame or translucent(theme.GREY, 0.35), "width": 5 if frame else 1}
            canvas.rectangle(left - outside, top - outside, cell + 2 * outside, cell + 2 * outside, line=line)
            if badges and badges[item]:
                ground = frame if frame in verdicts else theme.INK  # other frames can be as light as the letters
                look = {"bgcolor": translucent(ground, 0.92), "borderpad": 4, "size": 13}
                canvas.words(f"<b>{label(badges[item])}</b>", left + 6, top + 6, colour=theme.ON_COLOUR, **look)
            below = top + cell + 8
            for caption in [captions[item]] if isinstance(captions[item], str) else captions[item]:
                text = label(caption, width=letters, lines=4)
                canvas.words(text, left, below, size=13)
                below += _height(text)
            lowest = max(lowest, below)
        top = lowest + 18
    return canvas.figure(title, subtitle, height=top + 8)


def _height(text: str) -> float:
    return LINE * (text.count("<br>") + 1) + 5


# The table: rows of text in named columns, with pictures beside them.

PICTURE = 190  # pixels
LETTER = 6.4  # pixels per letter of a cell, on average
# A text, a text with its colour, or texts with their colours, in bold where these are not empty.
Cell = str | tuple[str, str] | list[tuple[str, str]]


def draw_table(
    columns: Mapping[str, Sequence[Cell]],
    *,
    title: str = "",
    subtitle: str = "",
    widths: Sequence[float] = (),
    fills: Mapping[str, Sequence[str]] | None = None,
    picture: Image.Image | Mapping[int, Image.Image] | None = None,
    beside: Sequence[str] = (),
) -> go.Figure:
    """Draw a table. All texts are escaped and wrapped.

    Args:
        columns: the cells of each named column, the same number in all.
        title: the figure's title.
        subtitle: what is shown.
        widths: relative widths of the columns; default: equal.
        fills: background colours of a column, one per row.
        picture: shown to the left of the table; or several pictures by the number of the row at which they begin.
        beside: captions below the picture.
    """
    pictures = {0: picture} if isinstance(picture, Image.Image) else dict(picture or {})
    left = SIDE + (PICTURE + 24 if pictures else 0)
    widths = np.array(list(widths) or [1.0] * len(columns))
    room = (theme.WIDTH - SIDE - left) * widths / widths.sum()
    edges = left + np.cumsum(room) - room
    letters = [max(int((wide - 14) / LETTER), 4) for wide in room]
    cells = [[_cell(cell, wide) for cell in column] for column, wide in zip(columns.values(), letters, strict=True)]
    heads = [label(name, width=int(0.85 * wide)) for name, wide in zip(columns, letters, strict=True)]
    canvas, top = Canvas(), 8.0 + 16 * max((head.count("<br>") + 1 for head in heads), default=1)
    for head, x in zip(heads, edges, strict=True):
        canvas.words(f"<b>{head}</b>", x + 6, top - 4, size=13, colour=theme.MUTED, yanchor="bottom")
    below = 0.0  # where the last picture ends
    for row in range(len(cells[0]) if cells else 0):
        if row in pictures:
            top = max(top, below)
            canvas.line((SIDE, top), (theme.WIDTH - SIDE, top), theme.RULE)
            canvas.picture(data_uri(pictures[row]), SIDE, top + 6, PICTURE, PICTURE)
            below = top + PICTURE + 16
        else:
            canvas.line((left, top), (theme.WIDTH - SIDE, top), theme.RULE)
        height = 12 + 17 * max(column[row][0].count("<br>") + 1 for column in cells)
        for name, column, x, wide in zip(columns, cells, edges, room, strict=True):
            background = fills[name][row] if fills and name in fills else theme.PAPER
            if background != theme.PAPER:
                canvas.rectangle(x, top, wide, height, fillcolor=background, layer="below")
            text, ink = column[row]
            canvas.words(text, x + 6, top + 6, size=13, colour=ink)
        top += height
    for text in (label(caption, width=int(PICTURE / LETTER), lines=4) for caption in beside):
        canvas.words(text, SIDE, below - 2, size=13)
        below += _height(text)
    return canvas.figure(title, subtitle, height=max(top, below) + 8)


def _cell(cell: Cell, width: int) -> tuple[str, str]:
    """Return the wrapped label of a cell and its colour."""
    if isinstance(cell, list):
        return rich_label(cell, width=width), theme.INK
    text, ink = (cell, theme.INK) if isinstance(cell, str) else cell
    return label(text, width=width), ink


# Arrays painted over a picture: heat from a map of weights, outlines and tints from masks of pixels.


def heat(picture: Image.Image, weights: Float[ndarray, "row column"], *, size: int = 288) -> Image.Image:
    """Paint the places whose weight is above the average over a pale picture.

    The average weight and everything below it leaves the picture uncovered; the largest is vermilion. Equal weights
    paint nothing.

    Args:
        picture: what the weights belong to.
        weights: a map of any resolution, enlarged bilinearly.
        size: the longer side in pixels.
    """
    base, weights = enlarged(picture, size), np.asarray(weights, dtype=np.float32)
    above = weights - weights.mean()
    levels = above / above.max() if above.max() > 1e-9 else np.zeros_like(weights)
    smooth = np.asarray(Image.fromarray(levels).resize(base.size, Image.Resampling.BILINEAR)).clip(0, 1)
    pixels = np.asarray(base, dtype=np.float32)
    pale = 0.5 * pixels.mean(axis=2, keepdims=True) + 0.2 * pixels + 70
    return Image.fromarray(_glowing(pale, smooth))


def _glowing(pixels: Float[ndarray, "height width 3"], levels: Float[ndarray, "height width"]) -> UInt8[ndarray, "..."]:
    """Colour pixels by levels from 0 (unchanged) to 1 (vermilion)."""
    levels = levels[..., None]
    glow = (1 - levels) * np.array(hex_to_rgb(theme.ORANGE)) + levels * np.array(hex_to_rgb(theme.VERMILION))
    opacity = 0.9 * np.sqrt(levels)
    return ((1 - opacity) * pixels + opacity * glow).clip(0, 255).astype(np.uint8)


def draw_heat_scale(canvas: Canvas, left: float, top: float) -> None:
    """Explain the colours of `heat` in a line of 20 pixels."""
    bar = Image.fromarray(_glowing(np.full((12, 120, 3), 200.0), np.tile(np.linspace(0, 1, 120), (12, 1))))
    canvas.picture(data_uri(bar), left, top + 4, 120, 12)
    canvas.words("from a map's average weight (uncovered) to its largest", left + 130, top, size=13, colour=theme.MUTED)


def outlined(picture: Image.Image, mask: Bool[ndarray, "height width"], colour: str, *, rim: bool) -> Image.Image:
    """Draw the border of a mask on a picture.

    Args:
        picture: the picture.
        mask: of any resolution.
        colour: of the border.
        rim: whether the border has a dark rim.
    """
    inside = _resized(mask, picture)
    pixels = np.asarray(picture.convert("RGB")).copy()
    if rim:
        pixels[_border(inside, 3)] = (25, 28, 33)
    pixels[_border(inside, 2)] = hex_to_rgb(colour)
    return Image.fromarray(pixels)


def tinted(picture: Image.Image, mask: Bool[ndarray, "height width"], colour: str, opacity: float) -> Image.Image:
    """Tint the pixels of a mask.

    Args:
        picture: the picture.
        mask: of any resolution.
        colour: of the tint.
        opacity: of the tint, 0 to 1.
    """
    pixels = np.asarray(picture.convert("RGB"), dtype=np.float32)
    tint = (1 - opacity) * pixels + opacity * np.array(hex_to_rgb(colour), dtype=np.float32)
    return Image.fromarray(np.where(_resized(mask, picture)[..., None], tint, pixels).astype(np.uint8))


def _resized(mask: Bool[ndarray, "row column"], picture: Image.Image) -> Bool[ndarray, "height width"]:
    return np.asarray(Image.fromarray(np.asarray(mask)).resize(picture.size, Image.Resampling.NEAREST))


def enlarged(picture: Image.Image, size: int) -> Image.Image:
    """Return `picture` as RGB with its longer side `size` pixels."""
    shape = tuple(max(1, round(side * (size / max(picture.size)))) for side in picture.size)
    return picture.convert("RGB").resize(shape, Image.Resampling.BICUBIC)


def _border(inside: Bool[ndarray, "height width"], thickness: int) -> Bool[ndarray, "height width"]:
    """Return the pixels of the mask nearer than `thickness` to its outside or to the picture's edge."""
    return inside & ~binary_erosion(inside, iterations=thickness)
