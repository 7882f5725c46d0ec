"""A fixed margin and SAM's adaptive one around an anchor picture (SAM, Figure 2)."""

from collections.abc import Sequence
from math import cos, pi, sin

import plotly.graph_objects as go
from jaxtyping import Float
from numpy import ndarray
from PIL import Image

from .labels import label
from .pictures import Canvas, data_uri
from .theme import BLUE, GREY, INK, MUTED, PANEL, PAPER, RULE, VERMILION, WIDTH

SIDE, PICTURE, MATCH, OUTER = 16, 84, 64, 182  # pixels: margins, the picture, the radius of margin 0, of the largest
TOP, ROW = 26, 44
MIDDLE = "#8C7C8B"  # between alike and unlike


def adaptive_margins(
    picture: Image.Image,
    positives: Sequence[str],
    negatives: Sequence[str],
    relevance: Float[ndarray, "negative"],
    margins: Float[ndarray, "negative"],
    *,
    title: str,
    subtitle: str = "",
    fixed: float = 0.2,
) -> go.Figure:
    """How far each negative caption must stay behind the match: as far as any other, or by what it says.

    The distance from the ring of the matches is the margin. A negative is the bluer, the larger its `relevance` φ to
    the anchor's captions, the redder, the less; its row below has its words, φ and both margins.
    """
    largest = max(fixed, float(max(margins, default=fixed)), 1e-6)
    top = float(max(relevance, default=0.0)) or 1.0
    shades = [blueness(float(value) / top) for value in relevance]
    canvas, middle = Canvas(), TOP + OUTER + 22
    centres = {"a fixed margin": WIDTH * 0.26, "an adaptive margin": WIDTH * 0.74}
    points = []
    for name, centre in centres.items():
        adaptive = name != "a fixed margin"
        canvas.words(f"<b>{name}</b>", centre, 0, size=16, across="center")
        ring = MATCH + fixed / largest * (OUTER - MATCH)
        _circle(canvas, centre, middle, ring, GREY, "dot" if adaptive else "solid")
        _circle(canvas, centre, middle, MATCH, INK, "solid")
        source = data_uri(picture)
        canvas.picture(source, centre - PICTURE / 2, middle - PICTURE / 2, PICTURE, PICTURE)
        for index in range(len(negatives)):
            margin = float(margins[index]) if adaptive else fixed
            points.append((*_at(centre, middle, index, len(negatives), margin / largest), index, margin))
    key = "●  its own captions   ·   a number: a negative, as far outside their ring as it is to stay"
    canvas.words(key, WIDTH / 2, middle + OUTER + 20, size=13, colour=MUTED, across="center")
    lines = _rows(canvas, negatives, relevance, margins, shades, fixed, largest, middle + OUTER + 62)
    figure = canvas.figure(title, subtitle, height=lines + 8)
    for centre in centres.values():
        _matches(figure, positives, centre, middle)
    _negatives(figure, points, negatives, relevance, shades)
    return figure


def blueness(share: float) -> str:
    """A colour from vermilion (0: nothing in common) through a muted middle to blue (1: the most alike)."""
    share = min(max(share, 0.0), 1.0)
    ends, at = ((VERMILION, MIDDLE), share * 2) if share < 0.5 else ((MIDDLE, BLUE), share * 2 - 1)
    pair = [[int(shade[start : start + 2], 16) for start in (1, 3, 5)] for shade in ends]
    return "#{:02X}{:02X}{:02X}".format(*(round(a + at * (b - a)) for a, b in zip(*pair, strict=True)))


def _at(centre: float, middle: float, place: float, count: int, share: float) -> tuple[float, float]:
    """Clockwise from the top; `share` 0 is the ring of the matches, 1 the largest margin."""
    angle, radius = 2 * pi * (place + 0.5) / max(count, 1) - pi / 2, MATCH + share * (OUTER - MATCH)
    return centre + radius * cos(angle), middle + radius * sin(angle)


def _circle(canvas: Canvas, x: float, y: float, radius: float, shade: str, dash: str) -> None:
    box = {"x0": x - radius, "x1": x + radius, "y0": y - radius, "y1": y + radius}
    canvas.shapes.append(
        {"type": "circle", **box, "line": {"color": shade, "width": 1.5, "dash": dash}, "layer": "below"}
    )


def _matches(figure: go.Figure, positives: Sequence[str], centre: float, middle: float) -> None:
    """The anchor's own captions, on the ring of margin 0."""
    places = [_at(centre, middle, place, len(positives), 0.0) for place in range(len(positives))]
    figure.add_scatter(
        x=[x for x, _ in places],
        y=[y for _, y in places],
        mode="markers",
        marker={"size": 11, "color": INK, "line": {"color": PAPER, "width": 1.5}},
        text=[label(text, width=60) for text in positives],
        hovertemplate="match: %{text}<extra></extra>",
    )


def _negatives(
    figure: go.Figure,
    points: Sequence[tuple[float, float, int, float]],
    negatives: Sequence[str],
    relevance: Float[ndarray, "negative"],
    shades: Sequence[str],
) -> None:
    figure.add_scatter(
        x=[x for x, *_ in points],
        y=[y for _, y, *_ in points],
        mode="markers+text",
        marker={
            "size": 23,
            "color": [shades[index] for *_, index, _ in points],
            "line": {"color": PAPER, "width": 1.5},
        },
        text=[f"<b>{index + 1}</b>" for *_, index, _ in points],
        textfont={"color": PAPER, "size": 12},
        customdata=[label(negatives[index], width=60) for *_, index, _ in points],
        hovertext=[f"φ {relevance[index]:.2f}, margin {margin:.2f}" for *_, index, margin in points],
        hovertemplate="%{customdata}<br>%{hovertext}<extra></extra>",
    )


def _rows(
    canvas: Canvas,
    negatives: Sequence[str],
    relevance: Float[ndarray, "negative"],
    margins: Float[ndarray, "negative"],
    shades: Sequence[str],
    fixed: float,
    largest: float,
    top: float,
) -> float:
    """A row a negative: number, words, φ, and its margin as a bar beside the fixed one; returns where they end."""
    right, phi = WIDTH - SIDE, WIDTH - SIDE - 330
    start, smallest = phi + 70, min(0.0, float(min(margins, default=0.0)))
    scale = (right - 64 - start) / (largest - smallest)
    zero = start - smallest * scale
    canvas.words("negative", SIDE + 44, top, size=13, colour=MUTED)
    canvas.words("φ", phi, top, size=13, colour=MUTED)
    canvas.words("its margin", zero, top, size=13, colour=MUTED)
    canvas.words(f"fixed {fixed:g}", zero + fixed * scale, top, size=13, colour=MUTED, across="center")
    top += 24
    for index, text in enumerate(negatives):
        middle = top + (ROW - 6) / 2
        canvas.rectangle(SIDE, top, right - SIDE, ROW - 6, fillcolor=PANEL, line={"color": RULE}, layer="below")
        canvas.rectangle(SIDE, top, 30, ROW - 6, fillcolor=shades[index], line={"width": 0})
        number = {"size": 13, "colour": PAPER, "across": "center", "down": "middle"}
        canvas.words(f"<b>{index + 1}</b>", SIDE + 15, middle, **number)
        canvas.words(label(text, width=74, lines=2), SIDE + 44, middle, size=13, down="middle")
        canvas.words(f"{relevance[index]:.2f}", phi, middle, size=13, down="middle")
        ends = sorted((zero, zero + float(margins[index]) * scale))
        canvas.rectangle(ends[0], middle - 7, ends[1] - ends[0], 14, fillcolor=shades[index], line={"width": 0})
        said = f"{margins[index]:.2f}".replace("-", "−")
        canvas.words(said, right - 12, middle, size=13, across="right", down="middle")
        top += ROW
    for place, shade in ((zero, INK), (zero + fixed * scale, GREY)):
        line = {"color": shade, "width": 1.5, "dash": "solid" if shade == INK else "dot"}
        ends = {"x0": place, "x1": place, "y0": top - ROW * len(negatives) - 4, "y1": top - 4}
        canvas.shapes.append({"type": "line", **ends, "line": line})
    return top
