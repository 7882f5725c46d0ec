"""Several measures of the same rankings side by side: do they put the models in one order?"""

from collections.abc import Mapping
from math import ceil

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from .labels import label
from .theme import INK, MUTED, colour, styled

Interval = tuple[float, float, float]
COLUMNS = 4  # panels beside each other, as long as that takes two rows


def measures_by_model(measures: Mapping[str, Mapping[str, Interval]], *, title: str, subtitle: str = "") -> go.Figure:
    """A panel a measure, a line in it a model: `measures[model][measure]` = (value, lower, upper) in percent.

    Over each point stands the model's place by that measure, and the value. Each panel has its own axis: what can be
    compared across panels is the order, not the height.
    """
    models, names = list(measures), list(next(iter(measures.values()), {}))
    columns = max(min(COLUMNS, len(names)), ceil(len(names) / 2), 1)
    rows = ceil(len(names) / columns) or 1
    figure = make_subplots(
        rows,
        columns,
        subplot_titles=[label(name, width=16) for name in names],
        shared_yaxes=True,
        horizontal_spacing=0.035,
        vertical_spacing=0.3 / rows,
    )
    for at, name in enumerate(names):
        place = {"row": at // columns + 1, "col": at % columns + 1}
        values = [measures[model][name] for model in models]
        order = sorted(range(len(models)), key=lambda index: -values[index][0])
        for index, (value, lower, upper) in enumerate(values):
            figure.add_scatter(
                x=[value],
                y=[label(models[index])],
                error_x={"array": [upper - value], "arrayminus": [value - lower], "thickness": 2, "width": 5},
                mode="markers",
                marker={"size": 10, "color": colour(index)},
                hovertemplate=f"%{{y}}: %{{x:.1f}} % ({lower:.1f} to {upper:.1f})<extra></extra>",
                cliponaxis=False,
                **place,
            )
            figure.add_annotation(
                x=value,
                y=label(models[index]),
                text=f"<b>{order.index(index) + 1}</b>  <span style='color:{MUTED}'>{value:.1f}</span>",
                showarrow=False,
                yshift=18,
                font={"size": 13, "color": colour(index)},
                **place,
            )
        low, high = min(value[1] for value in values), max(value[2] for value in values)
        room = 0.12 * (high - low) or 1.0
        figure.update_xaxes(
            range=[low - room, high + room], nticks=3, tickangle=0, ticksuffix=" %", showgrid=True, **place
        )
    figure.update_yaxes(range=[len(models) - 0.5, -0.8], tickfont={"size": 14, "color": INK}, showgrid=True)
    figure = styled(figure, title, subtitle, height=110 + rows * (90 + 56 * len(models)), legend=False)
    return figure.update_layout(margin_t=figure.layout.margin.t + 26)
