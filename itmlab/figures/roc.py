"""How well a score tells hidden positives from true negatives, whatever threshold one takes."""

from collections.abc import Mapping

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Bool, Float
from numpy import ndarray

from .labels import label
from .theme import GREY, colour, styled, translucent

FEW = 4  # curves whose names stand beside each other


def roc(
    scores: Mapping[str, Float[ndarray, "pair"]],
    truth: Bool[ndarray, "pair"],
    *,
    title: str,
    subtitle: str = "",
    points: int = 400,
) -> go.Figure:
    """One receiver operating characteristic a named score, with its area; the number of pairs stands below the title.

    At most `points` points a curve are kept (evenly along it), so that the figure stays small. A truth without both
    answers has no curve: only the diagonal is drawn.
    """
    from sklearn.metrics import roc_auc_score, roc_curve

    figure = go.Figure()
    figure.add_scatter(
        x=[0, 1], y=[0, 1], mode="lines", line={"color": GREY, "dash": "dash"}, name="chance", hoverinfo="skip"
    )
    both = bool(truth.any() and not truth.all())
    for index, (name, values) in enumerate(scores.items() if both else ()):
        false, true, _ = roc_curve(truth, values)
        along = np.concatenate([[0], np.cumsum(np.hypot(np.diff(false), np.diff(true)))])
        kept = np.unique(np.searchsorted(along, np.linspace(0, along[-1], points)).clip(0, len(along) - 1))
        area = roc_auc_score(truth, values)
        figure.add_scatter(
            x=false[kept],
            y=true[kept],
            mode="lines",
            name=f"{label(name)} (area {area:.3f})",
            line={"color": colour(index), "width": 3},
            fill="tozeroy" if len(scores) == 1 else None,
            fillcolor=translucent(colour(index), 0.08),
            hovertemplate="%{y:.2f} of the hidden positives at %{x:.3f} of the true negatives<extra></extra>",
        )
    figure.update_xaxes(title="share of true negatives above the threshold", range=[0, 1])
    figure.update_yaxes(title="share of hidden positives above it", range=[0, 1.005])
    counts = f"{int(truth.sum()):,} hidden positives, {int((~truth).sum()):,} true negatives"
    figure = styled(figure, title, f"{subtitle} · {counts}" if subtitle else counts, height=540)
    if len(figure.data) > FEW:  # the legend takes more than its line above: there is room under the curves
        figure.update_layout(legend={"orientation": "v", "x": 0.99, "y": 0.03, "xanchor": "right", "yanchor": "bottom"})
    return figure
