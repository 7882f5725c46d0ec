"""What becomes of synthetic negatives over a parameter of SynHNC: how hard, of how many prototypes, how long."""

from typing import TYPE_CHECKING

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float
from numpy import ndarray
from plotly.subplots import make_subplots

from .theme import BLUE, GREY, INK, MUTED, ORANGE, styled, translucent

if TYPE_CHECKING:
    from ..explain.memory_sweeps import MemorySweep

NAMES = {"least_squares": ("least squares", BLUE), "identity": ("identity", ORANGE)}
WIDTHS = {BLUE: 4.5, ORANGE: 2}  # where the two coincide both are seen
AXES = {"sigma": "width σ of the kernel", "clusters": "clusters m"}


def memory_sweep(sweep: "MemorySweep", *, title: str, subtitle: str = "", paper: float | None = None) -> go.Figure:
    """Panels over σ (on a logarithmic axis) or m, a line a kind of weights, the paper's value dotted.

    From the top: the cosine of the hardest synthetic negative with its anchor (mean, quartiles shaded), beside those of
    the batch's own hardest negative and of the match; of how many anchors it is harder than either, in percent; the
    length of what is recalled; how many prototypes of a cluster share the kernel weights, whatever their kind.
    """
    figure = make_subplots(4, 1, shared_xaxes=True, vertical_spacing=0.055, row_heights=[0.4, 0.22, 0.19, 0.19])
    values = sweep.values
    for kind, curve in sweep.curves.items():
        name, shade = NAMES[kind]
        band = np.concatenate([curve.quartiles[1], curve.quartiles[0][::-1]])
        figure.add_scatter(
            x=np.concatenate([values, values[::-1]]),
            y=band,
            fill="toself",
            fillcolor=translucent(shade, 0.13),
            line_width=0,
            mode="lines",
            showlegend=False,
            hoverinfo="skip",
            row=1,
            col=1,
        )
        _line(figure, values, curve.hardness, name, shade, 1, legend=True)
        _line(figure, values, curve.above_hardest, f"{name}: harder than any real negative", shade, 2, suffix=" %")
        _line(figure, values, curve.above_match, f"{name}: nearer than the match", shade, 2, dash="dot", suffix=" %")
        _line(figure, values, curve.length, f"{name}: length", shade, 3)
    for score, name, shade in ((sweep.match, "match", INK), (sweep.hardest, "hardest real negative", GREY)):
        _line(figure, values[[0, -1]], np.array([score, score]), name, shade, 1, dash="dash", legend=True)
    _line(figure, values, next(iter(sweep.curves.values())).effective, "prototypes that share", INK, 4)
    _words(figure)
    if sweep.parameter == "sigma":
        figure.update_xaxes(type="log", tickvals=[0.01, 0.03, 0.1, 0.3, 1, 3, 10])
    else:
        figure.update_xaxes(tickvals=values)
    figure.update_xaxes(showline=False, ticks="", showticklabels=False)
    bottom = {"showline": True, "ticks": "outside", "showticklabels": True}
    figure.update_xaxes(title=AXES[sweep.parameter], **bottom, row=4)
    figure.update_yaxes(title="cosine", row=1)
    figure.update_yaxes(title="anchors, %", range=[-4, 106], tickvals=[0, 50, 100], row=2)
    figure.update_yaxes(title="length", rangemode="tozero", nticks=4, row=3)
    figure.update_yaxes(title="number", rangemode="tozero", nticks=4, row=4)
    if paper is not None:
        figure.add_vline(x=paper, line={"color": MUTED, "width": 1.2, "dash": "dot"})
    figure = styled(figure, title, subtitle, height=800)
    return figure.update_layout(margin_t=figure.layout.margin.t + 4, legend_y=1.01)


def _line(
    figure: go.Figure,
    x: Float[ndarray, "point"],
    y: Float[ndarray, "point"],
    name: str,
    shade: str,
    row: int,
    *,
    dash: str = "solid",
    legend: bool = False,
    suffix: str = "",
) -> None:
    figure.add_scatter(
        x=x,
        y=y,
        name=name,
        mode="lines",
        line={"color": shade, "width": WIDTHS.get(shade, 3) if dash == "solid" else 2, "dash": dash},
        showlegend=legend,
        hovertemplate=f"{name}: %{{y:.3g}}{suffix} at %{{x:.3g}}<extra></extra>",
        row=row,
        col=1,
    )


def _words(figure: go.Figure) -> None:
    """What the lines of the lower panels are, above each panel."""
    notes = {
        "y2": "line: harder than any real negative · dots: nearer than the match",
        "y3": "length of what is recalled, before it is scaled to 1",
        "y4": "prototypes of a cluster that share the kernel weights",
    }
    for axis, text in notes.items():
        place = {"x": 0, "xref": "paper", "y": 1, "yref": f"{axis} domain", "xanchor": "left", "yanchor": "bottom"}
        figure.add_annotation(text=text, **place, showarrow=False, font={"size": 12, "color": MUTED})
