"""How hard negatives are: the cosines of each kind of them in a row of its own, over one axis."""

from collections.abc import Mapping

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float
from numpy import ndarray

from .labels import label
from .theme import BLUE, GREY, INK, MUTED, ORANGE, PAPER, SKY, VERMILION, colour, styled, translucent

COLOURS = {
    "matches": BLUE,
    "negatives of the batch": GREY,
    "the hardest of them": "#44546A",
    "synthetic negatives": ORANGE,
    "the hardest synthetic": VERMILION,
    "Gaussian noise": SKY,
}
BINS = 80
ROW = 74  # pixels


def hardness(
    scores: Mapping[str, Float[ndarray, "score"]],
    *,
    title: str,
    subtitle: str = "",
    axis: str = "cosine with the anchor",
) -> go.Figure:
    """A histogram a kind, the first on top, each as high as the others at its peak; its mean is marked and written.

    A kind without any score keeps its row. Kinds that `explain.hardness` names have colours of their own.
    """
    names, figure = list(scores), go.Figure()
    shades = [COLOURS.get(name, colour(index)) for index, name in enumerate(names)]
    present = [values for values in scores.values() if len(values)]
    low, high = (
        (min(values.min() for values in present), max(values.max() for values in present)) if present else (0, 1)
    )
    edges = np.linspace(float(low), float(high) + 1e-9, BINS + 1)
    for row, (name, shade) in enumerate(zip(names, shades, strict=True)):
        counts = np.histogram(scores[name], edges)[0]
        heights = 0.82 * counts / max(counts.max(), 1)
        base = len(names) - 1 - row
        ends = [edges[0], *np.repeat(edges[1:-1], 2), edges[-1]]
        figure.add_scatter(
            x=[*ends, edges[-1], edges[0]],
            y=[*(base + np.repeat(heights, 2)), base, base],
            fill="toself",
            fillcolor=translucent(shade, 0.45),
            line={"color": shade, "width": 1.4},
            mode="lines",
            hoverinfo="skip",
        )
        mean = float(np.mean(scores[name])) if len(scores[name]) else None
        figure.add_scatter(
            x=[mean],
            y=[base],
            mode="markers",
            marker={"size": 11, "color": PAPER, "line": {"color": shade, "width": 3}},
            cliponaxis=False,
            hovertemplate=f"{label(name)}: {len(scores[name]):,}, mean %{{x:.3f}}<extra></extra>",
        )
        said = f"mean {round(mean, 2) + 0.0:.2f}".replace("-", "−") if mean is not None else "none"
        _note(figure, f"<b>{label(name)}</b>", base + 0.40, INK, 14)
        _note(figure, f"{len(scores[name]):,}, {said}", base + 0.14, MUTED, 12)
    figure.update_xaxes(title=axis)
    figure.update_yaxes(visible=False, range=[-0.16, len(names)])
    figure = styled(figure, title, subtitle, height=150 + ROW * len(names), legend=False)
    return figure.update_layout(margin_l=210)


def _note(figure: go.Figure, text: str, y: float, shade: str, size: int) -> None:
    place = {"x": 0, "xref": "x domain", "xanchor": "right", "xshift": -14, "y": y, "yref": "y", "yanchor": "middle"}
    figure.add_annotation(text=text, **place, showarrow=False, font={"size": size, "color": shade})
