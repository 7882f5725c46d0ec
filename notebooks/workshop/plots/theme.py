"""The look of every figure: escaped labels, colours for colour-blind readers, one font.

References:
    Okabe and Ito (2008), Color Universal Design. Tol (2021), Colour Schemes.
"""

import html
import re
import textwrap
from collections.abc import Sequence
from functools import cache
from itertools import groupby
from operator import itemgetter
from typing import Any

import plotly.graph_objects as go

FONT = "Arial, 'Liberation Sans', 'Helvetica Neue', 'DejaVu Sans', sans-serif"
INK, MUTED, RULE, PANEL, PAPER = "#1F2933", "#5F6B7A", "#E3E7EC", "#F6F7F9", "#FFFFFF"
ON_COLOUR = "#FDFDFD"  # text on a coloured ground, the same in a dark theme
NIGHT = {INK: "#E8ECF0", MUTED: "#A8B3C0", RULE: "#39424D", PANEL: "#1C232B", PAPER: "#111418"}  # in a dark theme
BLUE, ORANGE, GREEN, PURPLE, SKY = "#0072B2", "#E69F00", "#009E73", "#AA4499", "#56B4E9"
NIGHT_BLUE = "#4DA3DB"  # blue letters in a dark theme
VERMILION, OLIVE, BROWN, GREY = "#D55E00", "#999933", "#8C5A2B", "#8A94A0"
PALETTE = (BLUE, ORANGE, GREEN, PURPLE, SKY, VERMILION, OLIVE, BROWN)
MATCH, MISMATCH, POSTERIOR, WEIGHT = BLUE, VERMILION, PURPLE, GREEN
TRUTH_LABELS = {1: (GREEN, "✓ true"), 0: (VERMILION, "✗ false"), -1: (GREY, "? undecided")}  # the world's three answers
METHODS = {  # one colour for each method, in all figures
    **dict.fromkeys(("fne", "with fne", "posterior"), BLUE),
    "fne without memory": "#6F8FD0",
    **{"positives": MATCH, "negatives": MISMATCH},
    **dict.fromkeys(("hardest", "the hardest"), ORANGE),
    **dict.fromkeys(("hardest memory", "hardest of a memory", "without fne"), BROWN),
    "semi hard": OLIVE,
    "triplet": SKY,
    **dict.fromkeys(("info nce", "infonce"), GREEN),
    "sam": PURPLE,
    **dict.fromkeys(("info cmr", "infocmr", "itcontrast", "synhnc"), VERMILION),
    **dict.fromkeys(("cider", "similarity"), "#CC79A7"),
    "spice": "#6B8E23",
    **dict.fromkeys(("start", "aligned", "vit dual encoder", "uniter"), GREY),
    **dict.fromkeys(("random", "at random"), "#B3BAC3"),
}
TITLE = f"font-size:20px;font-weight:700;color:{INK}"
SUBTITLE = f"font-size:14px;font-weight:400;color:{MUTED}"
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
    parts = textwrap.wrap(_joined(plain), width, max_lines=lines, placeholder=" …")
    return "<br>".join(_literal(part.replace("\N{NO-BREAK SPACE}", " ").strip()) for part in parts)


def _joined(text: str) -> str:
    # A full stop or a percent sign after a blank must not begin a line, nor a verdict stand apart from its mark.
    return re.sub(r"(?<=[✓✗]) | (?=[.,;:!?%]( |$))", "\N{NO-BREAK SPACE}", text)


def _literal(text: str) -> str:
    # plotly knows few entities (&quot; is none of them) and hands what stands between two dollar signs to MathJax
    return html.escape(text).replace("&quot;", "&#34;").replace("$", "&#36;")


def rich_label(parts: Sequence[tuple[str, str]], *, width: int) -> str:
    """Return a wrapped label of several texts, the coloured ones in bold.

    Args:
        parts: texts with their #RRGGBB colours; an empty colour leaves a text unchanged.
        width: of a line, in characters.

    >>> rich_label([("a ", ""), ("red", "#D55E00"), (" dog", "")], width=5)
    'a <span style="color:#D55E00"><b>red</b></span><br>dog'
    """
    shades = iter([shade for text, shade in parts for letter in text if not letter.isspace()])
    written = []
    for line in textwrap.wrap(_joined("".join(text for text, _ in parts)), width):
        shade, marked = "", []
        for letter in line:
            shade = shade if letter.isspace() else next(shades)
            marked.append((shade, letter))
        for shade, run in groupby(marked, itemgetter(0)):
            text = label("".join(letter for _, letter in run))
            written.append(f'<span style="color:{shade}"><b>{text}</b></span>' if shade else text)
        written.append("<br>")
    return "".join(written).removesuffix("<br>")


def colour(index: int) -> str:
    """Return the palette's colour of a series. The palette repeats after its last colour."""
    return PALETTE[index % len(PALETTE)]


def method_colour(name: str) -> str | None:
    """Return the colour that a method has in every figure, or None for other names.

    >>> method_colour("hardest_memory") == method_colour("hardest of a memory"), method_colour("fne (area 0.936)")
    (True, '#0072B2')
    """
    first = re.split(r" \(|, ", name)[0]
    return METHODS.get(re.sub(r"[_-]", " ", first).lower())


def series_colours(names: Sequence[str]) -> dict[str, str]:
    """Return a colour for each series: a method's own, and for other names the palette's colours in turn."""
    shades = {name: method_colour(name) for name in dict.fromkeys(names)}
    free = [shade for shade in PALETTE if shade not in shades.values()] or PALETTE
    others = iter(free * len(shades))
    return {name: shade or next(others) for name, shade in shades.items()}


def translucent(colour: str, opacity: float) -> str:
    """Give a #RRGGBB colour an opacity between 0 and 1.

    >>> translucent("#FF8000", 0.25)
    'rgba(255,128,0,0.25)'
    """
    return f"rgba({','.join(str(value) for value in bytes.fromhex(colour[1:]))},{opacity:g})"


# The house style of a figure.


def styled(figure: go.Figure, title: str = "", subtitle: str = "", *, height: int, legend: bool = True) -> go.Figure:
    """Put `figure` into the house style, with a title and a subtitle.

    Args:
        figure: changed in place.
        title: one short line.
        subtitle: what was measured, on which data, with how many seeds.
        height: in pixels, without title and subtitle.
        legend: whether a legend is shown, above the plot.

    Returns:
        The same figure.
    """
    margin = {"l": 70, "r": 36, "t": 34 if legend else 6, "b": 62}
    figure.update_layout(template=template(), height=height, showlegend=legend, margin=margin)
    return titled(figure, title, subtitle)


def titled(figure: go.Figure, title: str, subtitle: str = "") -> go.Figure:
    """Write an escaped title and an escaped and wrapped subtitle above a figure that has none.

    The figure becomes higher by them, so that the plot keeps its size.
    """
    # Plotly places its own subtitle by measuring the title. That fails in a cell that is out of sight.
    names = "<br>".join(figure.layout.yaxis.ticktext or ()).split("<br>")  # to the left of title and plot
    letters = min(106, int((WIDTH - 16 - max(text_width(name, 13) for name in names)) / 6.5))
    parts = (label(title, width=70), TITLE), (label(subtitle, width=letters), SUBTITLE)
    text = "<br>".join(f'<span style="{style}">{words}</span>' for words, style in parts if words)
    first = 38 if "<br>" in text else 25  # plotly puts a line that is alone lower, by the height of its capitals
    heading = {"text": text, "y": 1, "yref": "container", "yanchor": "top", "pad": {"t": first}}
    higher = 54 + 23 * text.count("<br>") if text else 0
    height, above = (figure.layout.height or 460) + higher, (figure.layout.margin.t or 0) + higher
    return figure.update_layout(title=heading, height=height, margin_t=above)


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
            title=heading,
            legend={**legend, "font": {"size": 14}, "bgcolor": "rgba(0,0,0,0)"},
            hoverlabel={"font": {"family": FONT, "size": 13}, "bgcolor": PAPER, "bordercolor": RULE},
            xaxis={**axis, "showgrid": False, "showline": True, "ticks": "outside"},
            yaxis=axis,
            annotationdefaults={"font": {"size": 14}},
        )
    )


def text_width(text: str, size: float) -> float:
    """Estimate the pixels that `text` takes at a font size of `size` pixels."""
    return 0.56 * size * len(text)


def night_style(theme: str = '[data-jp-theme-light="false"]') -> str:
    """Return style rules that show figures in dark colours inside elements that match the selector `theme`.

    Only the neutral colours change: ink, grey, lines and paper. The colours of methods can be read on both, but for
    thin letters in blue, which become lighter.
    JupyterLab sets the default selector's attribute, so that open figures follow when its theme is switched.
    """
    rules = []
    elements = {INK: ":not(rect)", BLUE: ":is(text, tspan)"}  # a dark box behind light words stays dark
    for day, night in {**NIGHT, BLUE: NIGHT_BLUE}.items():
        channels = f"rgb({', '.join(str(value) for value in bytes.fromhex(day[1:]))})"
        element = elements.get(day, "")
        for key in ("fill", "stroke", "background"):
            written = (f"{key}: {channels}", f"{key}:{channels}", f"{key}: {day}", f"{key}:{day}")
            where = ", ".join(f'{theme} .js-plotly-plot [style*="{text}" i]{element}' for text in written)
            rules.append(f"{where} {{ {key}: {night} !important; }}")
    return "\n".join(rules)
