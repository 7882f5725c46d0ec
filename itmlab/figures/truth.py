"""How much truth nobody annotated: true images per caption, and the share of unannotated true pairs by the knob."""

from collections.abc import Mapping, Sequence

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float, Integer
from numpy import ndarray

from .labels import label
from .theme import BLUE, MUTED, VERMILION, colour, styled


def true_images(true: Integer[ndarray, "caption"], *, title: str, subtitle: str = "") -> go.Figure:
    """Share of captions (%) by the number of images that they are true of; one image is the annotated one.

    Numbers are gathered into steps that double (1, 2, 3–4, 5–8, …).
    """
    true = np.asarray(true)
    edges = [1]
    while edges[-1] < true.max():
        edges.append(edges[-1] * 2)
    step = np.ceil(np.log2(np.maximum(true, 1))).astype(int)
    share = 100 * np.bincount(step, minlength=len(edges)) / len(true)
    names = [f"{edge // 2 + 1}–{edge}" if edge > 2 else str(edge) for edge in edges]
    names[0] = "1: its own only"
    figure = go.Figure(
        go.Bar(
            x=names,
            y=share,
            marker_color=[BLUE] + [VERMILION] * (len(edges) - 1),
            text=[f"{value:.1f} %" if value < 10 else f"{value:.0f} %" for value in share],
            textposition="outside",
            cliponaxis=False,
            hovertemplate="%{x} images: %{y:.1f} % of captions<extra></extra>",
        )
    )
    figure.update_xaxes(title="images that the caption is true of", type="category")
    figure.update_yaxes(title="captions, %", range=[0, 1.12 * share.max()])
    return styled(figure, title, subtitle, height=430, legend=False)


def truth_by_knob(
    knob: Sequence[float], shares: Mapping[str, Float[Sequence, "setting"]], *, title: str, subtitle: str = ""
) -> go.Figure:
    """Percentages against the setting of the knob, one named line each."""
    figure = go.Figure()
    for index, (name, share) in enumerate(shares.items()):
        figure.add_scatter(
            x=list(knob),
            y=list(share),
            name=label(name),
            mode="lines+markers+text",
            text=[f"{value:.2g}" for value in share],
            textposition="top center",
            textfont={"color": MUTED, "size": 12},
            cliponaxis=False,
            line={"color": colour(index), "width": 3},
            marker={"size": 9},
            hovertemplate="%{y:.2f} % at %{x}<extra></extra>",
        )
    figure.update_xaxes(title="knob")
    figure.update_yaxes(title="share, %", rangemode="tozero")
    return styled(figure, title, subtitle, height=430, legend=len(shares) > 1)
