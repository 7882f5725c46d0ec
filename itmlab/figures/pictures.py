"""Pictures inside plotly figures: encoded once, placed on a canvas whose units are pixels."""

import base64
import io
from typing import Any

import plotly.graph_objects as go
from PIL import Image

from .theme import INK, WIDTH, styled


def data_uri(picture: Image.Image, *, largest: int = 256, photographic: bool = False) -> str:
    """`picture`, no side above `largest` pixels, as a data URI: PNG, or JPEG where small bytes matter more."""
    small = picture.convert("RGB")
    small.thumbnail((largest, largest), Image.Resampling.LANCZOS)
    buffer = io.BytesIO()
    if photographic:
        small.save(buffer, "JPEG", quality=88, optimize=True)
    else:
        small.save(buffer, "PNG", optimize=True)
    kind = "jpeg" if photographic else "png"
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

    def arrow(self, start: tuple[float, float], end: tuple[float, float], colour: str, *, clear: float) -> None:
        """An arrow whose head stops `clear` pixels before `end`."""
        ends = {"ax": start[0], "ay": start[1], "x": end[0], "y": end[1]}
        axes = {"xref": "x", "yref": "y", "axref": "x", "ayref": "y"}
        head = {"arrowhead": 2, "arrowsize": 1.1, "arrowwidth": 2, "arrowcolor": colour}
        self.annotations.append({**ends, **axes, **head, "text": "", "standoff": clear, "startstandoff": 20})

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
