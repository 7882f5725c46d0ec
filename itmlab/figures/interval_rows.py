"""Named rows of values with intervals, in panels side by side: what several tables are drawn as."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isnan

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from .labels import label
from .theme import INK, MUTED, PAPER, styled

LINE = 28  # pixels a row


@dataclass(frozen=True)
class Dot:
    """A value of a row in one panel: with an interval, or (`printed`) a number from a paper, drawn as a diamond.

    Its `text` stands behind it, or where `at` says.
    """

    value: float
    lower: float | None = None
    upper: float | None = None
    shade: str = INK
    text: str = ""
    printed: bool = False
    at: float | None = None


# Its name, and a value for each panel or several; without values it is a heading.
Row = tuple[str, Sequence[Dot | Sequence[Dot] | None]]


def interval_rows(
    rows: Sequence[Row],
    *,
    axes: Sequence[Mapping[str, object]],
    title: str,
    subtitle: str = "",
    panels: Sequence[str] = (),
) -> go.Figure:
    """Rows from the top down in as many panels as `axes` (plotly's settings of each x axis) has."""
    figure = make_subplots(
        1,
        len(axes),
        shared_yaxes=True,
        horizontal_spacing=0.06,
        subplot_titles=[label(name) for name in panels] or None,
    )
    for place, (_, dots) in enumerate(rows):
        for column, panel in enumerate(dots, start=1):
            for dot in [panel] if isinstance(panel, Dot) else panel or []:
                if not isnan(dot.value):
                    _draw(figure, dot, place, column)
    names = [label(name) if any(dots) else f"<b>{label(name)}</b>" for name, dots in rows]
    figure.update_yaxes(
        tickvals=list(range(len(rows))), ticktext=names, range=[len(rows) - 0.4, -0.6], showgrid=False, zeroline=False
    )
    for column, axis in enumerate(axes, start=1):
        figure.update_xaxes(showgrid=True, **axis, row=1, col=column)
    figure.update_annotations(selector={"xref": "paper"}, font={"size": 14, "color": MUTED})
    figure = styled(figure, title, subtitle, height=190 + LINE * len(rows), legend=False)
    return figure.update_layout(margin_t=figure.layout.margin.t + (26 if panels else 6))


def _draw(figure: go.Figure, dot: Dot, place: int, column: int) -> None:
    marker = {"size": 11, "color": dot.shade}
    if dot.printed:
        marker = {"symbol": "diamond", "size": 11, "color": PAPER, "line": {"color": INK, "width": 2}}
    error = None
    if dot.lower is not None and dot.upper is not None:
        ends = {"array": [dot.upper - dot.value], "arrayminus": [dot.value - dot.lower]}
        error = {**ends, "color": dot.shade, "thickness": 2, "width": 4}
    figure.add_scatter(
        x=[dot.value],
        y=[place],
        mode="markers",
        marker=marker,
        error_x=error,
        hovertemplate="%{x:.4g}<extra></extra>",
        row=1,
        col=column,
    )
    end = next(value for value in (dot.at, dot.upper, dot.value) if value is not None)
    axis = "" if column == 1 else str(column)
    # written by the trace's own coordinates, which a logarithmic axis takes as they are
    figure.add_scatter(
        x=[end],
        y=[place],
        mode="markers+text",
        marker={"size": 14, "opacity": 0},  # for the room that it takes
        text=[label(dot.text)],
        textposition="middle right",
        textfont={"size": 13, "color": INK},
        hoverinfo="skip",
        cliponaxis=False,
        xaxis=f"x{axis}",
        yaxis=f"y{axis}",
    )
