"""The difficulty of negatives over the steps of training, as a density: darker is more of them (TAGS-DC, Fig. 3)."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from .labels import label
from .theme import INK, ORANGE, styled

if TYPE_CHECKING:
    from ..explain.difficulty import DifficultyHistory

SHADES = ((0, "#FFFFFF"), (0.25, "#BBD6EA"), (0.6, "#3D8FC4"), (1, "#08365C"))
RARE = 0.002  # the share of a run's negatives below which a bin may lie outside the axis
COLUMNS = 60  # of a panel, at most: neighbouring steps are added up
LINES = ((0.1, "dot", "a tenth lies below, a tenth above"), (0.5, "solid", "median"), (0.9, "dot", None))


def difficulty(histories: "Mapping[str, DifficultyHistory]", *, title: str, subtitle: str = "") -> go.Figure:
    """A panel a run, all on one scale: which share of a step's negatives has which score less the caption's.

    A column is a step or some neighbouring ones. Above the dashed line a negative scores higher than the caption that
    it was made of or drawn for.
    """
    grouped = {name: history.grouped(COLUMNS) for name, history in histories.items()}
    figure = make_subplots(
        1,
        max(len(grouped), 1),
        subplot_titles=[label(name) for name in grouped],
        shared_yaxes=True,
        horizontal_spacing=0.04,
    )
    shares = {name: _shares(history) for name, history in grouped.items()}
    most = max((float(share.max()) for share in shares.values()), default=1.0) or 1.0
    for column, (name, history) in enumerate(grouped.items(), start=1):
        place = {"row": 1, "col": column}
        figure.add_heatmap(
            x=history.steps,
            y=(history.edges[:-1] + history.edges[1:]) / 2,
            z=100 * shares[name].T,
            zmin=0,
            zmax=100 * most,
            colorscale=SHADES,
            showscale=column == len(grouped),
            colorbar={
                "title": {"text": "% of the<br>negatives", "font": {"size": 13}},
                "thickness": 14,
                "outlinewidth": 0,
                "len": 0.9,
            },
            hovertemplate="step %{x:.0f}: %{z:.1f} % near %{y:.2f}<extra></extra>",
            **place,
        )
        for share, dash, said in LINES:
            figure.add_scatter(
                x=history.steps,
                y=history.quantile(share),
                mode="lines",
                name=said,
                legendgroup=str(dash),
                showlegend=column == 1 and said is not None,
                line={"color": ORANGE, "width": 2.5 if dash == "solid" else 1.8, "dash": dash},
                hoverinfo="skip",
                **place,
            )
        figure.add_hline(y=0, line={"color": INK, "width": 1.2, "dash": "dash"}, **place)
    figure.update_xaxes(title="step of training", showgrid=False)
    figure.update_yaxes(range=_reach(list(grouped.values())), showgrid=False)
    figure.update_yaxes(title="score of the negative less the caption's", col=1)
    figure = styled(figure, title, subtitle, height=500)
    return figure.update_layout(legend_y=1.08, margin={"t": figure.layout.margin.t + 26, "r": 20})


def _shares(history: "DifficultyHistory") -> np.ndarray:
    """Each step's negatives by bin, adding up to 1; a step without any stays empty."""
    return history.counts / np.maximum(history.counts.sum(axis=1, keepdims=True), 1)


def _reach(histories: "list[DifficultyHistory]") -> list[float]:
    """From the lowest to the highest bin that holds more than `RARE` of any run's negatives, zero always among them."""
    lowest, highest = 0.0, 0.0
    for history in histories:
        held = (history.counts.sum(axis=0) > RARE * history.counts.sum()).nonzero()[0]
        if len(held):
            lowest, highest = min(lowest, history.edges[held[0]]), max(highest, history.edges[held[-1] + 1])
    return [lowest - 0.02, highest + 0.05]
