"""The two charts of all figures: the forest plot (dots with intervals) and curves."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil, isnan, log10
from typing import Any

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float
from numpy import ndarray
from plotly.subplots import make_subplots

from itmlab.train.comparison import Comparison

from .theme import BLUE, GREY, INK, MUTED, ON_COLOUR, PAPER, VERMILION, label, series_colours, styled, translucent

Ends = tuple[float, float, float]  # a value, and the lower and upper end of its interval
CLEAR = "rgba(0,0,0,0)"


# The forest plot: named rows of dots with intervals, in panels side by side.


@dataclass(frozen=True)
class Dot:
    """One value of a row in one panel of the forest plot.

    Args:
        value: where the dot is drawn. NaN draws nothing.
        lower: lower end of the interval; None draws no whisker.
        upper: upper end of the interval.
        shade: colour of dot and whisker.
        text: written to the right of the interval.
        printed: whether the number comes from a paper; it is then drawn as a diamond.
        at: where the text begins, if not at the end of the interval.
        symbol: plotly's name of the symbol.
        thickness: of the whisker, in pixels. One without ends and a dot of size 0 is a region.
        size: of the symbol, in pixels.
    """

    value: float
    lower: float | None = None
    upper: float | None = None
    shade: str = INK
    text: str = ""
    printed: bool = False
    at: float | None = None
    symbol: str = "circle"
    thickness: float = 2
    size: float = 11

    @property
    def look(self) -> tuple[Any, ...]:
        """All dots of one look are one trace."""
        return self.printed, self.shade, self.symbol, self.thickness, self.size, self.upper is None


# The row's name, and its dots in each panel. A row without panels is a heading.
Row = tuple[str, Sequence[Sequence[Dot]]]


def draw_forest(
    rows: Sequence[Row],
    *,
    axes: Sequence[Mapping[str, Any]],
    title: str = "",
    subtitle: str = "",
    panels: Sequence[str] = (),
) -> go.Figure:
    """Draw a forest plot: rows from top to bottom, and the same rows again in each panel.

    Args:
        rows: names and dots, in order. Rows without dots become bold headings.
        axes: plotly's settings of each panel's x axis. Without a "range" the axis covers all dots and their texts.
        title: the figure's title.
        subtitle: what was measured.
        panels: names of the panels.
    """
    heads = [label(name, width=88 // len(axes)) for name in panels]
    space = 0.06 if len(axes) < 4 else 0.03
    figure = make_subplots(1, len(axes), shared_yaxes=True, horizontal_spacing=space, subplot_titles=heads or None)
    for column, axis in enumerate(axes):
        place = {"row": 1, "col": column + 1}
        drawn: list[tuple[int, Dot]] = []
        for height, (_, cells) in enumerate(rows):
            drawn += [(height, dot) for dot in (cells[column] if cells else ()) if not isnan(dot.value)]
        for look in dict.fromkeys(dot.look for _, dot in drawn):
            _draw_dots(figure, [(height, dot) for height, dot in drawn if dot.look == look], place)
        _draw_texts(figure, drawn, place)
        reach = _range([dot for _, dot in drawn], logarithmic=axis.get("type") == "log")
        figure.update_xaxes(**{"range": reach, "showgrid": True, **axis}, **place)
    names = [label(name, width=48, lines=3) if cells else f"<b>{label(name)}</b>" for name, cells in rows]
    heights = {"tickvals": list(range(len(rows))), "ticktext": names, "range": [len(rows) - 0.4, -0.6]}
    figure.update_yaxes(**heights, showgrid=False, zeroline=False)
    figure.update_annotations(font={"size": 14, "color": MUTED})
    row_height = 11 + 17 * max((name.count("<br>") + 1 for name in names), default=1)
    figure = styled(figure, title, subtitle, height=110 + row_height * len(rows), legend=False)
    above = 26 + 17 * max(head.count("<br>") for head in heads) if heads else 6
    return figure.update_layout(margin_t=figure.layout.margin.t + above)


def _draw_dots(figure: go.Figure, dots: Sequence[tuple[int, Dot]], place: Mapping[str, int]) -> None:
    """Draw dots of one look as one trace."""
    heights, values = zip(*((height, dot.value) for height, dot in dots), strict=True)
    first, error = dots[0][1], None
    if first.upper is not None:
        above = [dot.upper - dot.value for _, dot in dots]
        below = [dot.value - dot.lower for _, dot in dots]
        line = {"color": first.shade, "thickness": first.thickness, "width": 4 if first.thickness < 6 else 0}
        error = {"array": above, "arrayminus": below, **line}
    marker: dict[str, Any] = {"size": first.size, "color": first.shade, "symbol": first.symbol}
    if first.printed:
        marker |= {"symbol": "diamond", "color": PAPER}
    if first.printed or first.symbol == "line-ns":
        marker["line"] = {"color": INK, "width": 2}
    points = {"x": values, "y": heights, "mode": "markers", "marker": marker, "error_x": error}
    figure.add_scatter(**points, hovertemplate="%{x:.4g}<extra></extra>", **place)


def _draw_texts(figure: go.Figure, drawn: Sequence[tuple[int, Dot]], place: Mapping[str, int]) -> None:
    dots = [(height, dot) for height, dot in drawn if dot.text]
    # A trace, not annotations: on a logarithmic axis an annotation would need the logarithm.
    ends = [next(value for value in (dot.at, dot.upper, dot.value) if value is not None) for _, dot in dots]
    points = {"x": ends, "y": [height for height, _ in dots], "mode": "markers+text", "textposition": "middle right"}
    gap = 22 if any(dot.printed for _, dot in drawn) else 14  # keeps the text away from the dot
    points["marker"] = {"size": gap, "opacity": 0}
    points["text"] = [label(dot.text, width=36, lines=2) for _, dot in dots]
    points["textfont"] = {"size": 13, "color": INK}
    figure.add_scatter(**points, hoverinfo="skip", cliponaxis=False, **place)


def _range(dots: Sequence[Dot], *, logarithmic: bool) -> list[float]:
    """Return an axis that covers dots, intervals and the texts to the right."""
    values = [value for dot in dots for value in (dot.value, dot.lower, dot.upper, dot.at) if value is not None]
    values = [log10(value) for value in values] if logarithmic else values
    least, most = min(values, default=0.0), max(values, default=1.0)
    room = (most - least) or 1.0
    texts = 0.4 if any(dot.text for dot in dots) else 0.05
    before = 0.1 if any(dot.printed for dot in dots) else 0.05
    return [least - before * room, most + texts * room]


def draw_gains(
    gains: Mapping[str, Mapping[str, Mapping[str, Ends]]],
    panels: Mapping[str, str],
    *,
    title: str = "",
    subtitle: str = "",
) -> go.Figure:
    """Draw differences with their intervals as a forest plot around zero.

    Args:
        gains: `gains[heading][row][column]`. Missing cells stay empty; the heading "" is not written.
        panels: the name of each column to draw, in order.
        title: the figure's title.
        subtitle: what was measured.
    """
    cells = [row for rows in gains.values() for row in rows.values()]
    ends = {column: max([0.0, *(row[column][2] for row in cells if column in row)]) for column in panels}
    rows: list[Row] = []
    for heading, named in gains.items():
        if heading:
            rows.append((heading, []))
        for name, row in named.items():
            zero = Dot(0.0, shade=CLEAR)  # always in sight
            rows.append((name, [[*_gain(row, column, ends[column]), zero] for column in panels]))
    axes = [{"title": "points", "tickangle": 0, "tickfont_size": 11}] * len(panels)
    figure = draw_forest(rows, axes=axes, title=title, subtitle=subtitle, panels=list(panels.values()))
    return figure.update_xaxes(zeroline=True, zerolinecolor=INK, zerolinewidth=1)


def _gain(row: Mapping[str, Ends], column: str, at: float) -> list[Dot]:
    """Return a difference as a dot: blue above zero, red below, grey where the interval contains zero."""
    if column not in row:
        return []
    value, lower, upper = row[column]
    shade = BLUE if lower > 0 else VERMILION if upper < 0 else GREY
    return [Dot(value, lower, upper, shade, f"{round(value, 1) + 0.0:+.1f}".replace("-", "−"), at=at)]


def draw_comparison(comparison: Comparison, *columns: str) -> go.Figure:
    """Draw what `itmlab.compare` measured: each recipe's difference to the baseline, a panel per column.

    Beside a recipe stands the p value of the first column, corrected for everything that is drawn.
    """
    chosen = columns or tuple(comparison.shown)
    rows = {}
    for name, tests in comparison.tests(*chosen).items():
        differences = {column: tuple(test.difference) for column, test in tests.items()}
        rows[f"{name} (p {tests[chosen[0]].corrected:.3f})"] = differences
    measured = f"{len(comparison.seeds)} seeds, {comparison.images} pictures; paired 95 % intervals over both"
    titles = {"title": f"Differences to {comparison.baseline}", "subtitle": f"{measured}; p of {chosen[0]} by Holm"}
    return draw_gains({"": rows}, dict(zip(chosen, chosen, strict=True)), **titles)


# Curves: values over an axis, in panels side by side.


@dataclass(frozen=True)
class Line:
    """One curve of a panel, where an array of values is not enough.

    Args:
        y: the values.
        x: their places; default: 1, 2, ….
        lower: lower ends of an interval of each value, drawn as a shaded band.
        upper: upper ends.
        shade: colour; default: the method's or the palette's, the same for a name in all panels.
        dash: plotly's dash pattern.
        markers: whether each value is marked.
        width: of the line, in pixels.
        fill: whether the area under the curve is shaded.
        texts: written into the marks, which become large.
    """

    y: Float[ndarray, "point"]
    x: Sequence[Any] | None = None
    lower: Float[ndarray, "point"] | None = None
    upper: Float[ndarray, "point"] | None = None
    shade: str | None = None
    dash: str = "solid"
    markers: bool = False
    width: float = 3
    fill: bool = False
    texts: Sequence[str] | None = None


def draw_curves(
    panels: Mapping[str, Mapping[str, Line]],
    *,
    title: str = "",
    subtitle: str = "",
    axis: str = "epoch",
    across: int | None = None,
    named_at_end: bool = False,
) -> go.Figure:
    """Draw named curves in panels.

    Args:
        panels: `panels[panel][curve]`.
        title: the figure's title.
        subtitle: what was measured.
        axis: title of the x axis.
        across: panels side by side; more panels go into further lines. Default: all.
        named_at_end: whether curves are named at their right ends instead of in a legend.
    """
    columns = across or len(panels)
    lines = ceil(len(panels) / columns)
    spacing = {"horizontal_spacing": 0.24 if named_at_end else 0.11, "vertical_spacing": 0.25 / lines}
    figure = make_subplots(lines, columns, subplot_titles=[label(name) for name in panels], **spacing)
    shades = series_colours([name for curves in panels.values() for name in curves])
    listed: set[str] = set()
    for index, curves in enumerate(panels.values()):
        place = {"row": index // columns + 1, "col": index % columns + 1}
        drawn = {name: replace(line, shade=line.shade or shades[name]) for name, line in curves.items()}
        for name, line in drawn.items():
            _draw_line(figure, name, line, name not in listed, place)
            listed.add(name)
        if named_at_end:
            _name_ends(figure, drawn, place)
    for index in range(max(len(panels) - columns, 0), len(panels)):  # the lowest panel of each column
        figure.update_xaxes(title=label(axis), row=index // columns + 1, col=index % columns + 1)
    figure.update_yaxes(rangemode="tozero")
    figure = styled(figure, title, subtitle, height=100 + 290 * lines, legend=not named_at_end)
    legend_lines = 0 if named_at_end else sum(8 * len(name) + 60 for name in shades) // 750  # pixels
    margin = {"t": figure.layout.margin.t + 26 + 22 * legend_lines, "r": 150 if named_at_end else 36}
    return figure.update_layout(legend_y=1 + 0.1 / lines, margin=margin)


def _draw_line(figure: go.Figure, name: str, line: Line, listed: bool, place: Mapping[str, int]) -> None:
    x = np.arange(1, len(line.y) + 1) if line.x is None else np.asarray(line.x)
    group = {"legendgroup": label(name), **place}
    if line.lower is not None:  # a band: forth along the upper ends, back along the lower ones
        outline = np.concatenate([line.upper, line.lower[::-1]])
        band = {"fill": "toself", "fillcolor": translucent(line.shade, 0.15), "line": {"width": 0}, "mode": "lines"}
        figure.add_scatter(x=[*x, *x[::-1]], y=outline, **band, hoverinfo="skip", showlegend=False, **group)
    look = {"mode": "lines+markers" if line.markers else "lines", "marker": {"size": 7}}
    if line.texts:
        font = {"size": 12, "color": ON_COLOUR}
        look = {"mode": "lines+markers+text", "marker": {"size": 34}, "text": line.texts, "textfont": font}
    look |= {"fill": "tozeroy" if line.fill else None, "fillcolor": translucent(line.shade, 0.08)}
    look["line"] = {"color": line.shade, "width": line.width, "dash": line.dash}
    hover = f"{label(name)}: %{{y:.4g}} at %{{x:.4g}}<extra></extra>"
    figure.add_scatter(x=x, y=line.y, name=label(name), showlegend=listed, hovertemplate=hover, **look, **group)


CLOSEST = 0.07  # of a panel's height, between two names


def _name_ends(figure: go.Figure, lines: Mapping[str, Line], place: Mapping[str, int]) -> None:
    """Write each curve's name to the right of its last value, moved apart where two would overlap."""
    values = np.concatenate([line.y for line in lines.values()])
    gap = CLOSEST * (float(values.max() - min(values.min(), 0.0)) or 1.0)
    ends = {name: float(line.y[-1]) for name, line in lines.items()}
    ordered = sorted(lines, key=ends.__getitem__)
    heights: list[float] = []
    for name in ordered:
        heights.append(max(ends[name], heights[-1] + gap) if heights else ends[name])
    centred = np.mean(list(ends.values())) - np.mean(heights)
    for name, height in zip(ordered, heights, strict=True):
        corner = {
            "x": 1,
            "xref": "x domain",
            "xanchor": "left",
            "xshift": 8,
            "y": height + centred,
            "yanchor": "middle",
        }
        font = {"size": 12, "color": lines[name].shade}
        figure.add_annotation(text=f"<b>{label(name)}</b>", showarrow=False, font=font, **corner, **place)
