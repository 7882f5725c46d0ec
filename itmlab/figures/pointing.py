"""Does attention land on the object that the word means? Two measures of several checkpoints against chance."""

from collections.abc import Mapping

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from .labels import label
from .theme import INK, PAPER, colour, styled

Interval = tuple[float, float, float]
PANELS = {"accuracy": "map's peak is on the object", "mass": "mass of the map on the object"}


def pointing_bars(
    measures: Mapping[str, Mapping[str, Interval]], chance: float, *, title: str, subtitle: str = ""
) -> go.Figure:
    """Percentages of `measures[checkpoint]["accuracy" | "mass"]` = (value, lower, upper), all three shares in [0, 1].

    `chance` is the objects' mean share of the picture: what a flat map, or a peak thrown anywhere, reaches.
    """
    figure = make_subplots(1, 2, subplot_titles=tuple(PANELS.values()), horizontal_spacing=0.12)
    names = [label(name) for name in measures]
    for column, measure in enumerate(PANELS, start=1):
        values = [[100 * number for number in measures[name][measure]] for name in measures]
        figure.add_bar(
            x=names,
            y=[value for value, _, _ in values],
            error_y={
                "array": [upper - value for value, _, upper in values],
                "arrayminus": [value - lower for value, lower, _ in values],
                "color": INK,
                "thickness": 1.5,
                "width": 6,
            },
            marker_color=[colour(index) for index in range(len(names))],
            text=[f"<b>{value:.1f}</b>" for value, _, _ in values],
            textposition="inside",
            insidetextanchor="start",
            textfont={"color": PAPER, "size": 14},
            hovertemplate="%{x}: %{y:.1f} %<extra></extra>",
            row=1,
            col=column,
        )
        figure.add_hline(
            y=100 * chance,
            line={"color": INK, "width": 1.5, "dash": "dash"},
            annotation={
                "text": f"chance {100 * chance:.1f} %",
                "font": {"size": 12},
                "bgcolor": "rgba(255,255,255,0.85)",
            },
            row=1,
            col=column,
        )
    figure.update_yaxes(rangemode="tozero", ticksuffix=" %")
    figure = styled(figure, title, subtitle, height=430, legend=False)
    return figure.update_layout(bargap=0.45, margin_t=figure.layout.margin.t + 28)
