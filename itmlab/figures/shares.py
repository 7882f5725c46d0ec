"""How many of the negatives that each sampler takes are false: bars of named percentages."""

from collections.abc import Mapping

import plotly.graph_objects as go

from .labels import label
from .theme import VERMILION, styled


def false_negative_shares(
    shares: Mapping[str, tuple[float, float, float]], *, title: str, subtitle: str = ""
) -> go.Figure:
    """One bar a sampler, in the order given: percentage of false negatives with the ends of its interval."""
    names = [label(name) for name in shares]
    values = [value for value, _, _ in shares.values()]
    figure = go.Figure(
        go.Bar(
            x=values,
            y=names,
            orientation="h",
            marker_color=VERMILION,
            error_x={
                "array": [upper - value for value, _, upper in shares.values()],
                "arrayminus": [value - lower for value, lower, _ in shares.values()],
                "color": "#44546A",
                "thickness": 1.5,
            },
            hovertemplate="%{y}: %{x:.1f} %<extra></extra>",
        )
    )
    for name, (value, _, upper) in zip(names, shares.values(), strict=True):
        figure.add_annotation(x=upper, y=name, text=f"{value:.1f} %", showarrow=False, xanchor="left", xshift=8)
    figure.update_xaxes(title="negatives taken that are true, %", range=[0, 1.15 * max(u for *_, u in shares.values())])
    figure.update_yaxes(autorange="reversed", showgrid=False)
    return styled(figure, title, subtitle, height=130 + 52 * len(names), legend=False)
