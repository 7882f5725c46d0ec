"""The look of every figure: colours that colour-blind eyes tell apart, one font, air, and no more ink than needed."""

import html
import re
import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any
from unicodedata import combining, east_asian_width

import plotly.graph_objects as go

if TYPE_CHECKING:
    from ...metrics.statistics import Share


# Words from outside (captions, names) made fit for a figure: escaped, wrapped, cut.


def label(text: str, *, width: int | None = None, lines: int | None = None) -> str:
    """`text` as plotly shows it letter by letter: no markup, link or formula in it takes effect.

    It is wrapped at `width` characters and, when longer than `lines` lines, cut with an ellipsis. Control characters
    become spaces.
    """
    plain = "".join(character if character.isprintable() else " " for character in text)
    if width is None:
        return _literal(plain)
    return "<br>".join(map(_literal, textwrap.wrap(plain, width, max_lines=lines, placeholder=" …")))


def _literal(text: str) -> str:
    """Escaped for HTML in the entities that plotly knows (&quot; is none of them), and the dollar sign too, because it
    hands text between two of them to MathJax.
    """
    return html.escape(text).replace("&quot;", "&#34;").replace("$", "&#36;")


FONT = "Arial, 'Liberation Sans', 'Helvetica Neue', 'DejaVu Sans', sans-serif"
INK, MUTED, RULE, PANEL, PAPER = "#1F2933", "#5F6B7A", "#E3E7EC", "#F6F7F9", "#FFFFFF"
BLUE, ORANGE, GREEN, PURPLE, SKY = "#0072B2", "#E69F00", "#009E73", "#AA4499", "#56B4E9"  # after Okabe and Ito, and Tol
VERMILION, GREY = "#D55E00", "#8A94A0"
PALETTE = (BLUE, ORANGE, GREEN, PURPLE, SKY, VERMILION, "#44546A", "#C9B400")
MATCH, MISMATCH, POSTERIOR, WEIGHT = BLUE, VERMILION, PURPLE, GREEN
VERDICTS = {1: (GREEN, "✓ true"), 0: (VERMILION, "✗ false"), -1: (GREY, "? undecided")}  # the world's three answers
TITLE = f"font-size:20px;font-weight:700;color:{INK}"
SUBTITLE = f"font-size:14px;font-weight:400;color:{MUTED}"
LEGEND_LINE = 22  # pixels
WIDTH = 940  # pixels: the width of an exported figure, and of those that hold pictures


def colour(index: int) -> str:
    """The palette's colour of the index-th series; after the last it begins again."""
    return PALETTE[index % len(PALETTE)]


def translucent(colour: str, opacity: float) -> str:
    """A #RRGGBB colour with an opacity between 0 and 1, as plotly reads it."""
    red, green, blue = (int(colour[start : start + 2], 16) for start in (1, 3, 5))
    return f"rgba({red},{green},{blue},{opacity:g})"


def template() -> go.layout.Template:
    """The house template: grid lines only where values are read, titles on the left, legend above the plot."""
    axis: dict[str, Any] = {
        "gridcolor": RULE,
        "linecolor": MUTED,
        "tickcolor": RULE,
        "zeroline": False,
        "automargin": True,
        "title": {"font": {"size": 14, "color": MUTED}, "standoff": 10},
        "tickfont": {"size": 13, "color": MUTED},
    }
    layout = go.Layout(
        font={"family": FONT, "size": 14, "color": INK},
        paper_bgcolor=PAPER,
        plot_bgcolor=PAPER,
        colorway=PALETTE,
        title={
            "x": 0,
            "xref": "paper",
            "xanchor": "left",
            "font": {"size": 18, "color": INK},  # what its spans are not: 23 pixels from line to line
        },
        legend={
            "orientation": "h",
            "x": 0,
            "xanchor": "left",
            "y": 1.02,
            "yanchor": "bottom",
            "font": {"size": 14},
            "bgcolor": "rgba(0,0,0,0)",
        },
        hoverlabel={"font": {"family": FONT, "size": 13}, "bgcolor": PAPER, "bordercolor": RULE},
        xaxis={**axis, "showgrid": False, "showline": True, "ticks": "outside"},
        yaxis=axis,
        annotationdefaults={"font": {"size": 14}},
        bargap=0.25,
    )
    return go.layout.Template(layout=layout)


def styled(figure: go.Figure, title: str, subtitle: str = "", *, height: int, legend: bool = True) -> go.Figure:
    """`figure` in the house style, with an escaped title, an escaped and wrapped subtitle, and a height in pixels.

    Room above the plot is reckoned from what stands there, so that title, subtitle and legend never overlap.
    """
    # Not plotly's own subtitle: that is placed by measuring the title, which fails before the figure is in the page
    # (an explorer is drawn so), and then stands on the title.
    parts = _span(label(title, width=80), TITLE), _span(label(subtitle, width=118), SUBTITLE)
    text = "<br>".join(filter(None, parts))
    further = text.count("<br>")
    above = 55 + 23 * further
    first = 38 if further else 25  # plotly puts a line that is alone lower, by the height of its capitals
    figure.update_layout(
        template=template(),
        title={"text": text, "y": 1, "yref": "container", "yanchor": "top", "pad": {"t": first}},
        height=height,
        showlegend=legend,
        margin={"l": 70, "r": 36, "t": above + (34 if legend else 6), "b": 62},
    )
    return figure


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


# How wide words are on paper: needed where boxes are drawn around them before any browser has seen them.


# Advance widths of Arial (and of its metric twins Helvetica and Liberation Sans), thousandths of the font size.
_ASCII = dict(
    zip(
        map(chr, range(32, 127)),
        [278, 278, 355, 556, 556, 889, 667, 191, 333, 333, 389, 584, 278, 333, 278, 278]
        + [556] * 10
        + [278, 278, 584, 584, 584, 556, 1015]
        + [667, 667, 722, 722, 667, 611, 778, 722, 278, 500, 667, 556, 833]
        + [722, 778, 667, 778, 722, 667, 611, 722, 667, 944, 667, 667, 611]
        + [278, 278, 278, 469, 556, 333]
        + [556, 556, 500, 556, 556, 278, 556, 556, 222, 222, 500, 222, 833]
        + [556, 556, 556, 556, 333, 500, 278, 556, 500, 722, 500, 500, 500]
        + [334, 260, 334, 584],
        strict=True,
    )
)


def text_width(text: str, size: float) -> float:
    """Pixels that `text` takes in the house font at `size` pixels; letters beyond ASCII are estimated."""
    return sum(_ASCII.get(letter) or _estimate(letter) for letter in text) * size / 1000


def shortened(text: str, size: float, room: float) -> str:
    """`text`, or as much of its beginning as fits into `room` pixels together with an ellipsis."""
    if text_width(text, size) <= room:
        return text
    kept = 0.0
    for at, letter in enumerate(text):
        kept += text_width(letter, size)
        if kept > room - size:
            return text[:at] + "…"
    return text


def _estimate(letter: str) -> int:
    if combining(letter) or not letter.isprintable():
        return 0
    return 1000 if east_asian_width(letter) in "WF" else 600


# Intervals of shares as plotly's error bars.


def error_bars(shares: "Sequence[Share]", shade: str) -> dict[str, Any]:
    """The 95 % intervals of percentages, as `error_x` or `error_y`; of a share of no cases none."""
    ends = [(share.upper - share.percent, share.percent - share.lower) if share.of else (0, 0) for share in shares]
    upper, lower = [up for up, _ in ends], [low for _, low in ends]
    return {"array": upper, "arrayminus": lower, "color": shade, "thickness": 1.8, "width": 5}
