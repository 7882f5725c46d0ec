"""Recall of several recipes side by side, with intervals, and a paper's numbers where it printed some."""

from collections.abc import Mapping, Sequence

import plotly.graph_objects as go
from jaxtyping import Float
from numpy import ndarray
from plotly.subplots import make_subplots

from .labels import label
from .theme import INK, PAPER, colour, styled

DIRECTIONS = {"i2t": "image → text", "t2i": "text → image"}


def recall_bars(
    recalls: Mapping[str, Mapping[str, Float[ndarray, "measure 3"]]],
    *,
    title: str,
    subtitle: str = "",
    cutoffs: Sequence[int] = (1, 5, 10),
    paper: Mapping[str, Mapping[str, Sequence[float]]] | None = None,
    paper_name: str = "paper",
) -> go.Figure:
    """Recall at the cut-offs in percent: a panel a direction ("i2t", "t2i"), a bar a recipe with its interval.

    `recalls[recipe][direction]` holds the value and the interval's lower and upper end for each cut-off (an end that is
    NaN draws no whisker); `paper[recipe][direction]` the printed numbers, drawn as diamonds.
    """
    figure = make_subplots(1, 2, subplot_titles=tuple(DIRECTIONS.values()), shared_yaxes=True, horizontal_spacing=0.05)
    names = [f"R@{k}" for k in cutoffs]
    for column, direction in enumerate(DIRECTIONS, start=1):
        for index, (recipe, by_direction) in enumerate(recalls.items()):
            value, lower, upper = by_direction[direction].T
            figure.add_bar(
                x=names,
                y=value,
                name=label(recipe),
                legendgroup=recipe,
                offsetgroup=recipe,
                showlegend=column == 1,
                marker_color=colour(index),
                error_y={
                    "array": upper - value,
                    "arrayminus": value - lower,
                    "color": INK,
                    "thickness": 1.4,
                    "width": 4,
                },
                text=[f"{number:.0f}" for number in value],
                textposition="inside",
                insidetextanchor="start",
                textangle=0,
                textfont={"color": PAPER, "size": 12},
                hovertemplate=f"{label(recipe)} %{{x}}: %{{y:.1f}} %<extra></extra>",
                row=1,
                col=column,
            )
        for recipe, by_direction in (paper or {}).items():
            figure.add_scatter(
                x=names,
                y=list(by_direction[direction]),
                name=label(paper_name),
                legendgroup=paper_name,
                offsetgroup=recipe,
                showlegend=column == 1 and recipe == next(iter(paper or {})),
                mode="markers",
                marker={"symbol": "diamond", "size": 11, "color": PAPER, "line": {"color": INK, "width": 2}},
                hovertemplate=f"{label(paper_name)}, {label(recipe)} %{{x}}: %{{y:.1f}} %<extra></extra>",
                row=1,
                col=column,
            )
    figure.update_layout(barmode="group", scattermode="group", bargroupgap=0.08)
    figure.update_yaxes(range=[0, 102], title=None)
    figure.update_yaxes(title="recall, %", col=1)
    figure = styled(figure, title, subtitle, height=500)
    # Many recipes take several lines of legend, which have no room above: below the plot they may take what they need.
    figure.update_layout(legend={"y": -0.1, "yanchor": "top"}, margin={"t": figure.layout.margin.t, "b": 110})
    return figure
