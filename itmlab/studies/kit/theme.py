"""The look of every figure: words made fit for it, colours that colour-blind eyes tell apart, one font, air.

Colours are after Okabe and Ito (2008), and Tol. Words are measured here too, because boxes are drawn around them before
any browser has seen them.
"""

import html
import re
import textwrap
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any
from unicodedata import combining, east_asian_width

import plotly.graph_objects as go
from plotly.colors import find_intermediate_color, hex_to_rgb

if TYPE_CHECKING:
    from ...metrics.statistics import Share

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
    """`text` as plotly shows it letter by letter: no markup, link or formula in it takes effect.

    It is wrapped at `width` characters and, when longer than `lines` lines, cut with an ellipsis. Control characters
    become spaces.

    >>> label("a <b> dog", width=6)
    'a &lt;b&gt;<br>dog'
    """
    return "<br>".join(map(_literal, _parts(text, width, lines)))


def _parts(text: str, width: int | None, lines: int | None) -> list[str]:
    plain = "".join(character if character.isprintable() else " " for character in text)
    if width is None:
        return [plain]
    held = re.sub(r" (?=[.,;:!?]( |$))", "\N{NO-BREAK SPACE}", plain)  # a full stop after a blank begins no line
    parts = textwrap.wrap(held, width, max_lines=lines, placeholder=" …")
    return [part.replace("\N{NO-BREAK SPACE}", " ").strip() for part in parts]


def fitted(text: str, size: float, room: float, *, lines: int | None = None) -> str:
    """`label(text)` wrapped into lines of at most `room` pixels each at `size`.

    >>> fitted("a dog on the sand .", 10, 50)
    'a dog on<br>the sand .'
    """
    width = max(int(room / (0.42 * size)), 1)  # letters, narrow ones
    while width > 1 and any(text_width(part, size) > room for part in _parts(text, width, lines)):
        width -= 1
    return label(text, width=width, lines=lines)


def _literal(text: str) -> str:
    # plotly knows few entities (&quot; is none of them) and hands what stands between two dollar signs to MathJax
    return html.escape(text).replace("&quot;", "&#34;").replace("$", "&#36;")


def colour(index: int) -> str:
    """The palette's colour of the index-th series; after the last it begins again."""
    return PALETTE[index % len(PALETTE)]


def mixed(share: float, shades: Sequence[str]) -> str:
    """The colour at `share` (0 to 1, beyond it the nearer end) of a scale of evenly spaced #RRGGBB `shades`.

    >>> mixed(0.25, ("#000000", "#FF8000", "#FFFFFF")), mixed(7, ("#000000", "#FF8000"))
    ('#804000', '#FF8000')
    """
    at = min(max(share, 0.0), 1.0) * (len(shades) - 1)
    lower = min(int(at), len(shades) - 2)
    ends = map(hex_to_rgb, shades[lower : lower + 2])
    return f"#{bytes(map(round, find_intermediate_color(*ends, at - lower))).hex().upper()}"


def translucent(colour: str, opacity: float) -> str:
    """A #RRGGBB colour with an opacity between 0 and 1, as plotly reads it.

    >>> translucent("#FF8000", 0.25)
    'rgba(255,128,0,0.25)'
    """
    return f"rgba({','.join(str(value) for value in bytes.fromhex(colour[1:]))},{opacity:g})"


# The house style of a figure.


def styled(figure: go.Figure, title: str, subtitle: str = "", *, height: int, legend: bool = True) -> go.Figure:
    """`figure` in the house style, with an escaped title, an escaped and wrapped subtitle, and a height in pixels.

    Room above the plot is reckoned from what stands there, so that title, subtitle and legend never overlap.
    """
    # Not plotly's own subtitle: that is placed by measuring the title, which fails before the figure is in the page
    # (a cell out of sight is drawn so), and then stands on the title.
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
    """The house template: grid lines only where values are read, titles on the left, legend above the plot."""
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
    """Both as plain text: what `styled` made of them, undone; another figure's title as it is, and no subtitle."""
    text = figure.layout.title.text or ""
    # the words are escaped: no other </span> among them
    spans = f"(?:{_span('(.*?)', TITLE)})?(?:<br>)?(?:{_span('(.*?)', SUBTITLE)})?"
    found = re.fullmatch(spans, text)
    title, subtitle = (html.unescape(part.replace("<br>", " ")) for part in (found.groups("") if found else (text, "")))
    return title, subtitle


def _span(words: str, style: str) -> str:
    return f'<span style="{style}">{words}</span>' if words else ""


def whiskers(
    value: Sequence[float], lower: Sequence[float], upper: Sequence[float], shade: str = INK, **style: Any
) -> dict[str, Any]:
    """Intervals by their ends as plotly's `error_x` or `error_y`, which takes distances from the value.

    >>> whiskers([40.0], [37.0], [44.0], thickness=1.4)
    {'array': [4.0], 'arrayminus': [3.0], 'color': '#1F2933', 'thickness': 1.4}
    """
    above = [high - middle for middle, high in zip(value, upper, strict=True)]
    below = [middle - low for middle, low in zip(value, lower, strict=True)]
    return {"array": above, "arrayminus": below, "color": shade, **style}


def error_bars(shares: "Sequence[Share]", shade: str) -> dict[str, Any]:
    """The 95 % intervals of percentages, as `error_x` or `error_y`; of a share of no cases none."""
    ends = [(share.percent, share.lower, share.upper) if share.of else (0, 0, 0) for share in shares]
    return whiskers(*(zip(*ends, strict=True) if ends else ((), (), ())), shade, thickness=1.8, width=5)


# How wide words are on paper.

# Advance widths of Arial (and of its metric twins Helvetica and Liberation Sans), thousandths of the font size.
_WIDTHS = """
278 278 355 556 556 889 667 191 333 333 389 584 278 333 278 278 556 556 556 556 556 556 556 556 556 556
278 278 584 584 584 556 1015 667 667 722 722 667 611 778 722 278 500 667 556 833
722 778 667 778 722 667 611 722 667 944 667 667 611 278 278 278 469 556 333
556 556 500 556 556 278 556 556 222 222 500 222 833
556 556 556 556 333 500 278 556 500 722 500 500 500 334 260 334 584
"""
_ASCII = dict(zip(map(chr, range(32, 127)), map(int, _WIDTHS.split()), strict=True))


def text_width(text: str, size: float) -> float:
    """Pixels that `text` takes in the house font at `size` pixels; letters beyond ASCII are estimated.

    >>> text_width("dog", 10)
    16.68
    """
    return sum(_ASCII.get(letter) or _estimate(letter) for letter in text) * size / 1000


def _estimate(letter: str) -> int:
    if combining(letter) or not letter.isprintable():
        return 0
    return 1000 if east_asian_width(letter) in "WF" else 600


def shortened(text: str, size: float, room: float) -> str:
    """`text`, or as much of its beginning as fits into `room` pixels together with an ellipsis.

    >>> shortened("umbrella", 10, 32)
    'umb…'
    """
    if text_width(text, size) <= room:
        return text
    kept = 0.0
    for at, letter in enumerate(text):
        kept += text_width(letter, size)
        if kept > room - size:
            return text[:at] + "…"
    return text
