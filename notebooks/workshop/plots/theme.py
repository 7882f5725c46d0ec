"""The look of every figure: escaped labels, colours for colour-blind readers, one font.

References:
    Okabe and Ito (2008), Color Universal Design. Tol (2021), Colour Schemes.
"""

import html
import re
import textwrap
from collections.abc import Sequence
from functools import cache
from typing import Any

import plotly.graph_objects as go
from plotly.colors import find_intermediate_color, hex_to_rgb

FONT = "Arial, 'Liberation Sans', 'Helvetica Neue', 'DejaVu Sans', sans-serif"
INK, MUTED, RULE, PANEL, PAPER = "#1F2933", "#5F6B7A", "#E3E7EC", "#F6F7F9", "#FFFFFF"
BLUE, ORANGE, GREEN, PURPLE, SKY = "#0072B2", "#E69F00", "#009E73", "#AA4499", "#56B4E9"
VERMILION, GREY = "#D55E00", "#8A94A0"
PALETTE = (BLUE, ORANGE, GREEN, PURPLE, SKY, VERMILION, "#44546A", "#6B4C1E")
MATCH, MISMATCH, POSTERIOR, WEIGHT = BLUE, VERMILION, PURPLE, GREEN
TRUTH_LABELS = {1: (GREEN, "✓ true"), 0: (VERMILION, "✗ false"), -1: (GREY, "? undecided")}  # the world's three answers
TITLE = f"font-size:20px;font-weight:700;color:{INK}"
SUBTITLE = f"font-size:14px;font-weight:400;color:{MUTED}"
LEGEND_LINE = 22  # pixels
# Pixels: the width of an exported figure, and of those that hold pictures. JupyterLab leaves as much in a window of
# 1,300 with the file browser open.
WIDTH = 860


def label(text: str, *, width: int | None = None, lines: int | None = None) -> str:
    """Escape `text` for plotly, so that no markup, link or formula in it takes effect.

    Args:
        text: any text, for example a caption. Control characters become spaces.
        width: wrap after so many characters.
        lines: cut with an ellipsis after so many lines.

    >>> label("a <b> dog", width=6)
    'a &lt;b&gt;<br>dog'
    """
    plain = "".join(character if character.isprintable() else " " for character in text)
    if width is None:
        return _literal(plain)
    # A full stop after a blank must not begin a line.
    joined = re.sub(r" (?=[.,;:!?]( |$))", "\N{NO-BREAK SPACE}", plain)
    parts = textwrap.wrap(joined, width, max_lines=lines, placeholder=" …")
    return "<br>".join(_literal(part.replace("\N{NO-BREAK SPACE}", " ").strip()) for part in parts)


def _literal(text: str) -> str:
    # plotly knows few entities (&quot; is none of them) and hands what stands between two dollar signs to MathJax
    return html.escape(text).replace("&quot;", "&#34;").replace("$", "&#36;")


def colour(index: int) -> str:
    """Return the palette's colour of a series. The palette repeats after its last colour."""
    return PALETTE[index % len(PALETTE)]


def mixed(share: float, shades: Sequence[str]) -> str:
    """Interpolate in a colour scale.

    Args:
        share: place on the scale, clipped to 0 to 1.
        shades: evenly spaced #RRGGBB colours.

    >>> mixed(0.25, ("#000000", "#FF8000", "#FFFFFF")), mixed(7, ("#000000", "#FF8000"))
    ('#804000', '#FF8000')
    """
    place = min(max(share, 0.0), 1.0) * (len(shades) - 1)
    lower = min(int(place), len(shades) - 2)
    ends = map(hex_to_rgb, shades[lower : lower + 2])
    return f"#{bytes(map(round, find_intermediate_color(*ends, place - lower))).hex().upper()}"


def translucent(colour: str, opacity: float) -> str:
    """Give a #RRGGBB colour an opacity between 0 and 1.

    >>> translucent("#FF8000", 0.25)
    'rgba(255,128,0,0.25)'
    """
    return f"rgba({','.join(str(value) for value in bytes.fromhex(colour[1:]))},{opacity:g})"


# The house style of a figure.


def styled(figure: go.Figure, title: str, subtitle: str = "", *, height: int, legend: bool = True) -> go.Figure:
    """Put `figure` into the house style, with an escaped title and an escaped and wrapped subtitle.

    Args:
        figure: changed in place.
        title: one short line.
        subtitle: what was measured, on which data, with how many seeds.
        height: in pixels.
        legend: whether a legend is shown, above the plot.

    Returns:
        The same figure.
    """
    # Plotly places its own subtitle by measuring the title. That fails in a cell that is out of sight.
    parts = _span(label(title, width=70), TITLE), _span(label(subtitle, width=106), SUBTITLE)
    text = "<br>".join(filter(None, parts))
    further = text.count("<br>")
    first = 38 if further else 25  # plotly puts a line that is alone lower, by the height of its capitals
    return figure.update_layout(
        template=template(),
        title={"text": text, "y": 1, "yref": "container", "yanchor": "top", "pad": {"t": first}},
        height=height,
        showlegend=legend,
        margin={"l": 70, "r": 36, "t": 55 + 23 * further + (34 if legend else 6), "b": 62},
    )


@cache  # plotly takes milliseconds to check one
def template() -> go.layout.Template:
    """Return the house template: few grid lines, titles on the left, the legend above the plot."""
    colours = {"gridcolor": RULE, "linecolor": MUTED, "tickcolor": RULE, "tickfont": {"size": 13, "color": MUTED}}
    title = {"font": {"size": 14, "color": MUTED}, "standoff": 10}
    axis: dict[str, Any] = {**colours, "zeroline": False, "automargin": True, "title": title}
    legend = {"orientation": "h", "x": 0, "xanchor": "left", "y": 1.02, "yanchor": "bottom"}
    # 18: not the size of the title's spans, but it sets 23 pixels from line to line
    heading = {"x": 0, "xref": "paper", "xanchor": "left", "font": {"size": 18, "color": INK}}
    return go.layout.Template(
        layout=go.Layout(
            font={"family": FONT, "size": 14, "color": INK},
            paper_bgcolor=PAPER,
            plot_bgcolor=PAPER,
            colorway=PALETTE,
            title=heading,
            legend={**legend, "font": {"size": 14}, "bgcolor": "rgba(0,0,0,0)"},
            hoverlabel={"font": {"family": FONT, "size": 13}, "bgcolor": PAPER, "bordercolor": RULE},
            xaxis={**axis, "showgrid": False, "showline": True, "ticks": "outside"},
            yaxis=axis,
            annotationdefaults={"font": {"size": 14}},
            bargap=0.25,
        )
    )


def title_and_subtitle(figure: go.Figure) -> tuple[str, str]:
    """Return title and subtitle as plain text, without the markup that `styled` adds."""
    text = figure.layout.title.text or ""
    spans = f"(?:{_span('(.*?)', TITLE)})?(?:<br>)?(?:{_span('(.*?)', SUBTITLE)})?"
    match = re.fullmatch(spans, text)
    parts = match.groups("") if match else (text, "")
    title, subtitle = (html.unescape(part.replace("<br>", " ")) for part in parts)
    return title, subtitle


def _span(words: str, style: str) -> str:
    return f'<span style="{style}">{words}</span>' if words else ""


def whiskers(
    value: Sequence[float], lower: Sequence[float], upper: Sequence[float], shade: str = INK, **style: Any
) -> dict[str, Any]:
    """Turn the ends of intervals into plotly's `error_x` or `error_y`, which take distances from the value.

    >>> whiskers([40.0], [37.0], [44.0], thickness=1.4)
    {'array': [4.0], 'arrayminus': [3.0], 'color': '#1F2933', 'thickness': 1.4}
    """
    above = [high - middle for middle, high in zip(value, upper, strict=True)]
    below = [middle - low for middle, low in zip(value, lower, strict=True)]
    return {"array": above, "arrayminus": below, "color": shade, **style}


def text_width(text: str, size: float) -> float:
    """Estimate the pixels that `text` takes at a font size of `size` pixels."""
    return 0.56 * size * len(text)


def shortened(text: str, size: float, room: float) -> str:
    """Cut `text` with an ellipsis so that it takes about `room` pixels at most.

    >>> shortened("umbrella", 10, 32)
    'umbr…'
    """
    letters = max(int(room / (0.56 * size)), 1)
    return text if len(text) <= letters else text[: letters - 1] + "…"
