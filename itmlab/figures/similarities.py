"""How similar pairs are that belong together and pairs that do not: two distributions, a panel a model."""

from collections.abc import Mapping

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float
from numpy import ndarray
from plotly.subplots import make_subplots

from .labels import label
from .theme import MATCH, MISMATCH, styled, translucent

BINS = 60


def similarities(
    negatives: Mapping[str, Float[ndarray, "negative"]],
    positives: Mapping[str, Float[ndarray, "positive"]],
    *,
    title: str,
    subtitle: str = "",
    quantity: str = "cosine",
) -> go.Figure:
    """Histograms of negatives' and positives' similarity by model, each in percent of its own pairs, on one scale.

    Both are by model under the same names; every bin has the same width in every panel.
    """
    both = [values for of in (negatives, positives) for values in of.values() if len(values)]
    lowest, highest = (min(map(np.min, both)), max(map(np.max, both))) if both else (0.0, 1.0)
    edges = np.linspace(lowest, max(highest, lowest + 1e-6), BINS + 1)
    figure = make_subplots(
        1,
        max(len(negatives), 1),
        subplot_titles=[label(name) for name in negatives],
        horizontal_spacing=0.06,
        shared_yaxes=True,
    )
    for column, name in enumerate(negatives, start=1):
        kinds = (("negatives", negatives[name], MISMATCH), ("positives", positives[name], MATCH))
        for kind, values, shade in kinds:
            figure.add_scatter(
                x=(edges[:-1] + edges[1:]) / 2,
                y=100 * np.histogram(values, edges)[0] / max(len(values), 1),
                name=kind,
                legendgroup=kind,
                showlegend=column == 1,
                mode="lines",
                line={"color": shade, "width": 2.5, "shape": "hvh"},
                fill="tozeroy",
                fillcolor=translucent(shade, 0.15),
                hovertemplate=f"%{{y:.1f}} % of {kind} near %{{x:.2f}}<extra></extra>",
                row=1,
                col=column,
            )
    figure.update_xaxes(title=label(quantity), range=[edges[0], edges[-1]])
    figure.update_yaxes(rangemode="tozero")
    figure.update_yaxes(title="% of its pairs", col=1)
    figure = styled(figure, title, subtitle, height=430)
    return figure.update_layout(legend_y=1.1, margin_t=figure.layout.margin.t + 26)
