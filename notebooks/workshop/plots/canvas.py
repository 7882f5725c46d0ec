"""Pictures and words inside plotly figures: a canvas in pixels, gallery, table, arrays painted over pictures."""

import base64
import io
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Bool, Float
from numpy import ndarray
from PIL import Image
from plotly.colors import get_colorscale, hex_to_rgb, validate_colors

from .theme import GREY, INK, MUTED, PANEL, PAPER, RULE, WIDTH, label, shortened, styled, text_width, translucent


def data_uri(picture: Image.Image, *, largest: int = 256, photographic: bool = False) -> str:
    """`picture`, no side above `largest` pixels, as a data URI: PNG, or JPEG where small bytes matter more."""
    small = picture.convert("RGB")
    small.thumbnail((largest, largest), Image.Resampling.LANCZOS)
    return _encoded(small.tobytes(), small.size, photographic)


@lru_cache(256)  # an explorer shows the same pictures again at each step of a slider, and each takes 6 ms
def _encoded(pixels: bytes, size: tuple[int, int], photographic: bool) -> str:
    buffer, kind = io.BytesIO(), "jpeg" if photographic else "png"
    options = {"quality": 88} if photographic else {}
    Image.frombytes("RGB", size, pixels).save(buffer, kind, optimize=True, **options)
    return f"data:image/{kind};base64,{base64.b64encode(buffer.getvalue()).decode()}"


class Canvas:
    """A drawing area in pixels, its origin at the top left and y downwards, that becomes a plotly figure at the end.

    What is drawn is gathered first and handed over at once: plotly copies all of it again for each piece added.
    """

    def __init__(self, width: float = WIDTH):
        self.width = width
        self.images: list[dict[str, Any]] = []
        self.shapes: list[dict[str, Any]] = []
        self.annotations: list[dict[str, Any]] = []

    def picture(self, source: str, x: float, y: float, width: float, height: float) -> None:
        """An image (a data URI) in a box whose top left corner is (x, y), in proportion and centred."""
        place = {"xref": "x", "yref": "y", "x": x, "y": y, "sizex": width, "sizey": height}
        self.images.append({"source": source, **place, "xanchor": "left", "yanchor": "top"})

    def rectangle(self, x: float, y: float, width: float, height: float, **style: Any) -> None:
        """A rectangle by its top left corner and size; `style` as plotly's shapes take it."""
        self.shapes.append({"type": "rect", "x0": x, "y0": y, "x1": x + width, "y1": y + height, **style})

    def line(self, start: tuple[float, float], end: tuple[float, float], colour: str) -> None:
        """A thin straight line."""
        ends = {"x0": start[0], "y0": start[1], "x1": end[0], "y1": end[1]}
        self.shapes.append({"type": "line", **ends, "line": {"color": colour}, "layer": "below"})

    def words(
        self,
        text: str,
        x: float,
        y: float,
        *,
        size: int = 14,
        colour: str = INK,
        across: str = "left",
        down: str = "top",
        **style: Any,
    ) -> None:
        """`text` (already a label) whose left, centre or right and top, middle or bottom is at (x, y)."""
        font = {"size": size, "color": colour}
        place = {"x": x, "y": y, "xref": "x", "yref": "y", "xanchor": across, "yanchor": down, "align": across}
        self.annotations.append({"text": text, **place, "showarrow": False, "borderpad": 0, "font": font, **style})

    def arrow(self, start: tuple[float, float], end: tuple[float, float], colour: str) -> None:
        """An arrow from point to point."""
        ends = {"ax": start[0], "ay": start[1], "x": end[0], "y": end[1]}
        axes = {"xref": "x", "yref": "y", "axref": "x", "ayref": "y"}
        head = {"arrowhead": 2, "arrowsize": 1.1, "arrowwidth": 2, "arrowcolor": colour}
        self.annotations.append({**ends, **axes, **head, "text": "", "standoff": 0, "startstandoff": 0})

    def figure(self, title: str, subtitle: str, *, height: float) -> go.Figure:
        """All that was drawn, `height` pixels of it, under the title."""
        hidden = {"visible": False, "fixedrange": True, "automargin": False}
        drawn = go.Figure(layout={"images": self.images, "shapes": self.shapes, "annotations": self.annotations})
        header = 92 if subtitle else 60
        figure = styled(drawn, title, subtitle, height=round(height) + header, legend=False)
        return figure.update_layout(
            width=round(self.width),
            margin={"l": 0, "r": 0, "t": header, "b": 0},
            title={"x": 16 / self.width, "xref": "container"},
            xaxis={"range": [0, self.width], **hidden},
            yaxis={"range": [height, 0], **hidden},
        )


# Rounded boxes, and words in them.


class Box(NamedTuple):
    """A box by its edges, in pixels."""

    left: float
    top: float
    right: float
    bottom: float

    def edge_towards(self, x: float, y: float, room: float = 0.0) -> tuple[float, float]:
        """Where the line from the middle of the box to (x, y) leaves it, `room` pixels outside."""
        middle = (self.left + self.right) / 2, (self.top + self.bottom) / 2
        across, down = x - middle[0], y - middle[1]
        width, height = (self.right - self.left) / 2 + room, (self.bottom - self.top) / 2 + room
        share = min(width / max(abs(across), 1e-6), height / max(abs(down), 1e-6), 1.0)
        return middle[0] + share * across, middle[1] + share * down


def fill(canvas: Canvas, box: Box, colour: str, *, radius: float = 6) -> None:
    """A box with rounded corners in one colour, below the words."""
    left, top, right, bottom = box
    r = min(radius, (right - left) / 2, (bottom - top) / 2)
    path = (
        f"M {left + r:.1f} {top:.1f} L {right - r:.1f} {top:.1f} Q {right:.1f} {top:.1f} {right:.1f} {top + r:.1f} "
        f"L {right:.1f} {bottom - r:.1f} Q {right:.1f} {bottom:.1f} {right - r:.1f} {bottom:.1f} "
        f"L {left + r:.1f} {bottom:.1f} Q {left:.1f} {bottom:.1f} {left:.1f} {bottom - r:.1f} "
        f"L {left:.1f} {top + r:.1f} Q {left:.1f} {top:.1f} {left + r:.1f} {top:.1f} Z"
    )
    canvas.shapes.append({"type": "path", "path": path, "fillcolor": colour, "line": {"width": 0}, "layer": "below"})


def chip_size(text: str, size: int) -> tuple[float, float]:
    """Width and height of a chip with `text`."""
    return min(text_width(text, size) * 1.07 + size * 1.3, 220), size * 1.9


def chip(canvas: Canvas, text: str, middle: tuple[float, float], colour: str, size: int) -> Box:
    """Bold `text`, cut where too long, in a rounded box about `middle`; gives the box."""
    width, height = chip_size(text, size)
    (x, y), short = middle, shortened(text, size * 1.07, width - size)
    box = Box(x - width / 2, y - height / 2, x + width / 2, y + height / 2)
    fill(canvas, box, colour, radius=height / 2.6)
    canvas.words(f"<b>{label(short)}</b>", x, y, size=size, colour=PAPER, across="center", down="middle")
    return box


# The gallery: pictures with captions in a grid.

SIDE, LINE = 16, 18  # pixels: margin, and from one line of text to the next


def draw_gallery(
    pictures: Sequence[Image.Image],
    captions: Sequence[str | Sequence[str]],
    *,
    title: str,
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
    cell = (WIDTH - 2 * SIDE - gap * (columns - 1)) / columns
    letters = max(10, int(cell / 6.9))
    texts = []
    for entry in captions:
        several = [entry] if isinstance(entry, str) else entry
        texts.append([label(caption, width=letters, lines=4) for caption in several])
    headings = headings or {}
    canvas, top = Canvas(), 6.0
    for row in _grid_rows(len(pictures), columns, headings):
        if row[0] in headings:
            canvas.words(f"<b>{label(headings[row[0]])}</b>", SIDE, top)
            top += 28
        for column, item in enumerate(row):
            left = SIDE + column * (cell + gap)
            canvas.picture(data_uri(pictures[item]), left, top, cell, cell)
            frame = frames[item] if frames else None
            outside = 2 if frame else 0  # a coloured frame stands outside the picture
            line = {"color": frame or translucent(GREY, 0.35), "width": 5 if frame else 1}
            canvas.rectangle(left - outside, top - outside, cell + 2 * outside, cell + 2 * outside, line=line)
            if badges and badges[item]:
                background = {"bgcolor": translucent(frame or INK, 0.92), "borderpad": 4}
                canvas.words(f"<b>{label(badges[item])}</b>", left + 6, top + 6, size=13, colour=PAPER, **background)
            below = top + cell + 8
            for text in texts[item]:
                canvas.words(text, left, below, size=13)
                below += _height(text)
        top += cell + 26 + max(sum(map(_height, texts[item])) for item in row)
    return canvas.figure(title, subtitle, height=top + 8)


def _grid_rows(count: int, columns: int, headings: Mapping[int, str]) -> list[list[int]]:
    rows: list[list[int]] = []
    for item in range(count):
        if not rows or len(rows[-1]) == columns or item in headings:
            rows.append([])
        rows[-1].append(item)
    return rows


def _height(text: str) -> float:
    return LINE * (text.count("<br>") + 1) + 5


# Arrays painted over a picture: heat from a map of weights, outlines and tints from masks of pixels.


def heat(picture: Image.Image, weights: Float[ndarray, "row column"], *, size: int = 288) -> Image.Image:
    """`picture` under the colours of `weights`: the lowest leave it grey and dim, the highest glow.

    The weights are stretched to [0, 1] (all equal: no heat at all) and enlarged bilinearly; `size` is the longer side
    in pixels.
    """
    base, weights = enlarged(picture, size), np.asarray(weights, dtype=np.float32)
    span = float(weights.max() - weights.min())
    level = (weights - weights.min()) / span if span > 0 else np.zeros_like(weights)
    smooth = Image.fromarray(level.astype(np.float32)).resize(base.size, Image.Resampling.BILINEAR)
    level = np.clip(np.asarray(smooth), 0, 1)[..., None]
    pixels, opacity = np.asarray(base, dtype=np.float32), 0.15 + 0.6 * level
    grey = pixels.mean(axis=2, keepdims=True) * 0.55 + pixels * 0.25 + 30
    return Image.fromarray(((1 - opacity) * grey + opacity * _ramp(level[..., 0])).clip(0, 255).astype(np.uint8))


def outlined(picture: Image.Image, mask: Bool[ndarray, "height width"], colour: str, *, rim: bool) -> Image.Image:
    """`picture` with the border of `mask` (any resolution) drawn on it in `colour`, on request with a dark rim."""
    inside = _resized(mask, picture)
    pixels = np.asarray(picture.convert("RGB")).copy()
    if rim:
        pixels[_border(inside, 3)] = (25, 28, 33)
    pixels[_border(inside, 2)] = hex_to_rgb(colour)
    return Image.fromarray(pixels)


def tinted(picture: Image.Image, mask: Bool[ndarray, "height width"], colour: str, opacity: float) -> Image.Image:
    """`picture` with the pixels of `mask` (any resolution) tinted in `colour`."""
    pixels = np.asarray(picture.convert("RGB"), dtype=np.float32)
    tint = (1 - opacity) * pixels + opacity * np.array(hex_to_rgb(colour), dtype=np.float32)
    return Image.fromarray(np.where(_resized(mask, picture)[..., None], tint, pixels).astype(np.uint8))


def _resized(mask: Bool[ndarray, "row column"], picture: Image.Image) -> Bool[ndarray, "height width"]:
    return np.asarray(Image.fromarray(np.asarray(mask)).resize(picture.size, Image.Resampling.NEAREST))


def enlarged(picture: Image.Image, size: int) -> Image.Image:
    """`picture` as RGB with its longer side `size` pixels."""
    shape = tuple(max(1, round(side * (size / max(picture.size)))) for side in picture.size)
    return picture.convert("RGB").resize(shape, Image.Resampling.BICUBIC)


def _border(inside: Bool[ndarray, "height width"], thickness: int) -> Bool[ndarray, "height width"]:
    """Pixels of the mask nearer than `thickness` to its outside, the picture's edge counted as outside."""
    core = np.pad(inside, 1)
    for _ in range(thickness):
        core[1:-1, 1:-1] &= core[:-2, 1:-1] & core[2:, 1:-1] & core[1:-1, :-2] & core[1:-1, 2:]
    return inside & ~core[1:-1, 1:-1]


def _ramp(level: Float[ndarray, "height width"]) -> Float[ndarray, "height width 3"]:
    """Levels in [0, 1] as RGB (0 to 255) along Inferno, which stays ordered in grey and for colour-blind eyes."""
    scale = get_colorscale("Inferno")
    stops = np.array([stop for stop, _ in scale])
    colours = np.array(validate_colors([name for _, name in scale], "tuple")) * 255
    return np.stack([np.interp(level, stops, colours[:, channel]) for channel in range(3)], axis=-1)


# The table: rows of text in named columns, optionally beside a picture with its own captions.

PICTURE = 220  # pixels


def draw_table(
    columns: Mapping[str, Sequence[str]],
    *,
    title: str,
    subtitle: str = "",
    widths: Sequence[float] = (),
    inks: Mapping[str, Sequence[str]] | None = None,
    fills: Sequence[str] | Mapping[str, Sequence[str]] = (),
    picture: Image.Image | None = None,
    beside: Sequence[str] = (),
) -> go.Figure:
    """Draw a table. All texts are escaped and wrapped.

    Args:
        columns: the texts of each named column.
        title: the figure's title.
        subtitle: what is shown.
        widths: relative widths of the columns; default: equal.
        inks: text colours of a column, one per row.
        fills: background colours, one per row, or one per row of each named column.
        picture: shown to the left of the table.
        beside: captions below the picture.
    """
    left = PICTURE + 28 if picture is not None else 0
    room = WIDTH - 2 * SIDE - left
    widths = widths or [1.0] * len(columns)
    letters = [max(int(room * width / sum(widths) / 7.2), 4) for width in widths]
    cells = [[label(text, width=wide) for text in texts] for texts, wide in zip(columns.values(), letters, strict=True)]
    count = max(map(len, cells), default=0)
    lines = [max(column[row].count("<br>") + 1 for column in cells) for row in range(count)]
    if isinstance(fills, Mapping):
        background = [list(fills.get(name, [PAPER] * count)) for name in columns]
    else:
        background = [list(fills) or [PAPER] * count] * len(columns)
    colours = [list((inks or {}).get(name, [INK] * count)) for name in columns]
    look = {"align": "left", "line": {"color": RULE}}
    head = {"values": [f"<b>{label(name)}</b>" for name in columns], "font": {"size": 13, "color": MUTED}, "height": 30}
    body = {"values": cells, "font": {"size": 13, "color": colours}, "height": 26, "fill": {"color": background}}
    figure = go.Figure()
    height = 30.0 + sum(26 + 17 * (line - 1) for line in lines)
    below = PICTURE + 12.0
    notes = [label(caption, width=33, lines=3) for caption in beside]
    height = max(height, PICTURE + 12 + sum(map(_height, notes)) if picture is not None else 60) + 12
    figure.add_table(
        header={**head, **look, "fill": {"color": PANEL}},
        cells={**body, **look},
        columnwidth=list(widths),
        domain={"x": [left / (WIDTH - 2 * SIDE), 1.0]},
    )
    figure = styled(figure, title, subtitle, height=round(height) + 100, legend=False)
    if picture is not None:
        size = {"sizex": PICTURE / (WIDTH - 2 * SIDE), "sizey": PICTURE / height}
        place = {"xref": "paper", "yref": "paper", "x": 0, "y": 1}
        figure.add_layout_image(source=data_uri(picture), **place, **size)
        for note in notes:
            corner = {"xref": "paper", "yref": "paper", "xanchor": "left", "yanchor": "top", "align": "left"}
            figure.add_annotation(text=note, x=0, y=1 - below / height, **corner, showarrow=False, font_size=13)
            below += _height(note)
    return figure.update_layout(width=WIDTH, margin={"l": SIDE, "r": SIDE, "t": 90, "b": 10})


def draw_captioned(
    picture: Image.Image,
    captions: Sequence[str],
    scores: Mapping[str, Float[ndarray, "caption"]],
    *,
    title: str,
    subtitle: str = "",
    chosen: int | None = None,
) -> go.Figure:
    """Draw a picture beside its captions, with a column of scores per model; the `chosen` row is set off."""
    columns = {"caption": list(captions)}
    columns |= {name: [f"{value:.2f}" for value in values] for name, values in scores.items()}
    fills = [PANEL if row == chosen else PAPER for row in range(len(captions))]
    widths = [5.0] + [1.4] * len(scores)
    return draw_table(columns, title=title, subtitle=subtitle, widths=widths, fills=fills, picture=picture)
