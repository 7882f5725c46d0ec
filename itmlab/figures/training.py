"""How training went: loss and recall over the epochs, several recipes in one picture, seeds as a band."""

from collections.abc import Mapping

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float
from numpy import ndarray
from plotly.subplots import make_subplots

from .labels import label
from .theme import colour, styled, translucent


def training_curves(
    loss: Mapping[str, Float[ndarray, "seed epoch"]],
    recall: Mapping[str, Float[ndarray, "seed epoch"]],
    *,
    title: str,
    subtitle: str = "",
    measure: str = "R@1, %",
) -> go.Figure:
    """Two panels, loss and `measure` after each epoch: the mean over seeds as a line, lowest to highest as a band.

    Both are by recipe, under the same names; the number of epochs may differ between recipes.
    """
    figure = make_subplots(
        1, 2, subplot_titles=("training loss", f"validation {label(measure)}"), horizontal_spacing=0.11
    )
    for column, curves in enumerate((loss, recall), start=1):
        for index, (name, values) in enumerate(curves.items()):
            _curve(figure, name, np.atleast_2d(values), colour(index), column)
    figure.update_xaxes(title="epoch", dtick=None, rangemode="tozero")
    figure.update_yaxes(title=label(measure), rangemode="tozero", col=2)
    figure.update_yaxes(title="loss", col=1)
    figure = styled(figure, title, subtitle, height=460)
    figure.update_layout(legend_y=1.1, margin_t=figure.layout.margin.t + 26)
    return figure


def _curve(figure: go.Figure, name: str, values: Float[ndarray, "seed epoch"], shade: str, column: int) -> None:
    epochs = np.arange(1, values.shape[1] + 1)
    shown = {"row": 1, "col": column}
    if len(values) > 1:
        figure.add_scatter(
            x=np.concatenate([epochs, epochs[::-1]]),
            y=np.concatenate([values.max(axis=0), values.min(axis=0)[::-1]]),
            fill="toself",
            fillcolor=translucent(shade, 0.18),
            line={"width": 0},
            hoverinfo="skip",
            legendgroup=name,
            showlegend=False,
            **shown,
        )
    figure.add_scatter(
        x=epochs,
        y=values.mean(axis=0),
        name=label(name),
        mode="lines+markers",
        line={"color": shade, "width": 3},
        marker={"size": 6},
        legendgroup=name,
        showlegend=column == 1,
        hovertemplate=f"{label(name)}: %{{y:.4g}} after epoch %{{x}}<extra></extra>",
        **shown,
    )
