"""Pictures inside plotly figures: encoded once, placed on a canvas whose units are pixels."""

import base64
import io

import plotly.graph_objects as go
from PIL import Image

from .theme import INK, WIDTH, styled

HEADER = 92  # pixels above a canvas's content: title and one line of subtitle


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


def canvas(title: str, subtitle: str, *, height: float, width: float = WIDTH) -> go.Figure:
    """An empty drawing area of `width` × `height` pixels under the title, its origin at the top left, y downwards."""
    figure = styled(go.Figure(), title, subtitle, height=round(height) + HEADER, legend=False)
    hidden = {"visible": False, "fixedrange": True, "automargin": False}
    figure.update_layout(
        width=round(width),
        margin={"l": 0, "r": 0, "t": HEADER, "b": 0},
        title={"x": 16 / width, "xref": "container"},
        xaxis={"range": [0, width], **hidden},
        yaxis={"range": [height, 0], **hidden},
    )
    return figure


def place(figure: go.Figure, source: str, x: float, y: float, width: float, height: float) -> None:
    """Put an image (a data URI) with its top left corner at (x, y), kept in proportion and centred in the box."""
    figure.add_layout_image(
        source=source, xref="x", yref="y", x=x, y=y, sizex=width, sizey=height, xanchor="left", yanchor="top"
    )


def write(
    figure: go.Figure,
    text: str,
    x: float,
    y: float,
    *,
    size: int = 14,
    colour: str = INK,
    anchor: str = "left",
    middle: bool = False,
) -> None:
    """Put `text` (already a label) at (x, y), its top there or, when `middle`, its middle."""
    figure.add_annotation(
        text=text,
        x=x,
        y=y,
        xref="x",
        yref="y",
        xanchor=anchor,
        yanchor="middle" if middle else "top",
        align=anchor,
        showarrow=False,
        borderpad=0,
        font={"size": size, "color": colour},
    )
