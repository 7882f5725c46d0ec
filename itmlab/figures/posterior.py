"""Where a negative's probability of being false comes from: densities, posterior and sampling weight (FNE, Fig. 2)."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float, Integer
from numpy import ndarray
from plotly.subplots import make_subplots

from .theme import GREY, INK, MATCH, MISMATCH, MUTED, ORANGE, PAPER, POSTERIOR, VERDICTS, WEIGHT, styled, translucent

if TYPE_CHECKING:
    from ..explain.false_negatives import Curves

REGIONS = (("easy", GREY), ("hard", WEIGHT), ("false negatives", POSTERIOR))
SHOWN = 400  # candidates drawn at most, the best-scoring


def false_negative_probability(
    curves: "Curves",
    positive_scores: Float[ndarray, "pair"],
    negative_scores: Float[ndarray, "negative"],
    *,
    title: str,
    subtitle: str = "",
    scores: Float[ndarray, "candidate"] | None = None,
    weights: Float[ndarray, "candidate"] | None = None,
    verdicts: Integer[ndarray, "candidate"] | None = None,
    drawn: Sequence[int] = (),
) -> go.Figure:
    """Three panels over one axis of similarity, the regions easy, hard and false negative shaded behind them.

    Top: histograms of observed positives and negatives and the two normals fitted to them, μ marked, σ as a bar.
    Middle: posterior, raw (Eq. 9, dashed) and monotone. Bottom: sampling weight (Eq. 13), s⁺ marked; with `scores`,
    `weights` and the world's `verdicts` (1 true, 0 false, −1 undecided) one anchor's candidates on it, those `drawn`
    ringed. The number of traces does not depend on the values, so that a widget can update them in place.
    """
    figure = make_subplots(3, 1, shared_xaxes=True, vertical_spacing=0.035, row_heights=[0.42, 0.29, 0.29])
    low, high = float(curves.similarity[0]), float(curves.similarity[-1])
    top = _densities(figure, curves, positive_scores, negative_scores)
    _line(figure, curves.similarity, curves.monotone, "posterior", {"color": POSTERIOR, "width": 3.2}, row=2)
    _line(figure, curves.similarity, curves.raw, "raw posterior", {"color": INK, "width": 1.8, "dash": "dot"}, row=2)
    _line(figure, curves.similarity, curves.weight, "sampling weight", {"color": WEIGHT, "width": 3.2}, row=3)
    _candidates(figure, scores, weights, verdicts, drawn)
    _regions(figure, curves, low, high)
    figure.add_shape(
        type="line",
        xref="x",
        yref="y3 domain",
        x0=curves.positive_score,
        x1=curves.positive_score,
        y0=0,
        y1=1,
        line={"color": MATCH, "width": 1.5, "dash": "dash"},
    )
    figure.add_annotation(
        text="s⁺",
        x=curves.positive_score,
        xref="x",
        y=0.04,
        yref="y3 domain",
        showarrow=False,
        xanchor="left",
        xshift=3,
        yanchor="bottom",
        font_color=MATCH,
    )
    figure.update_xaxes(range=[low, high], showline=False, ticks="")
    figure.update_xaxes(title="similarity to the anchor", row=3, showline=True, ticks="outside")
    figure.update_yaxes(title="density", range=[0, top], showticklabels=False, showgrid=False, row=1)
    figure.update_yaxes(title="P(match | s)", range=[-0.03, 1.08], tickvals=[0, 0.5, 1], row=2)
    figure.update_yaxes(title="weight", range=[-0.03, 1.12], tickvals=[0, 0.5, 1], row=3)
    figure = styled(figure, title, subtitle, height=680)
    figure.update_layout(legend_y=1.01, bargap=0, barmode="overlay", margin_t=figure.layout.margin.t + 8)
    return figure


def _densities(
    figure: go.Figure,
    curves: "Curves",
    positive_scores: Float[ndarray, "pair"],
    negative_scores: Float[ndarray, "negative"],
) -> float:
    """Histograms, normals and their μ ± σ in the top panel; returns the panel's height in density."""
    edges = np.linspace(curves.similarity[0], curves.similarity[-1], 81)
    centres, width = (edges[:-1] + edges[1:]) / 2, edges[1] - edges[0]
    top = 1e-9
    for index, (observed, density, name, shade) in enumerate(
        (
            (positive_scores, curves.match, "positives", MATCH),
            (negative_scores, curves.mismatch, "negatives", MISMATCH),
        )
    ):
        counts = np.histogram(observed, edges)[0] / (max(len(observed), 1) * width)
        top = max(top, float(counts.max()), float(density.max()))
        figure.add_bar(
            x=centres,
            y=counts,
            width=width,
            marker_color=translucent(shade, 0.28),
            marker_line_width=0,
            showlegend=False,
            hoverinfo="skip",
            row=1,
            col=1,
        )
        _line(figure, curves.similarity, density, name, {"color": shade, "width": 3}, row=1)
        mean, deviation = curves.means[index], curves.deviations[index]
        figure.add_scatter(
            x=[mean],
            y=[0],
            error_x={"array": [deviation], "color": shade, "thickness": 3, "width": 0},
            mode="markers",
            marker={"size": 11, "color": PAPER, "line": {"color": shade, "width": 3}},
            cliponaxis=False,
            showlegend=False,
            hovertemplate=f"{name}: μ = {mean:.3f}, σ = {deviation:.3f}<extra></extra>",
            row=1,
            col=1,
        )
    return 1.2 * top


def _line(figure: go.Figure, x: Sequence[float], y: Sequence[float], name: str, line: dict, row: int) -> None:
    figure.add_scatter(
        x=x,
        y=y,
        name=name,
        mode="lines",
        line=line,
        row=row,
        col=1,
        showlegend=name not in ("posterior", "sampling weight"),  # the axes name these
        hovertemplate=f"{name} %{{y:.3g}} at %{{x:.3f}}<extra></extra>",
    )


def _candidates(
    figure: go.Figure,
    scores: Float[ndarray, "candidate"] | None,
    weights: Float[ndarray, "candidate"] | None,
    verdicts: Integer[ndarray, "candidate"] | None,
    drawn: Sequence[int],
) -> None:
    """One trace a verdict and one for the drawn negatives, empty when there is nothing to draw."""
    if scores is None or weights is None:
        scores = weights = np.zeros(0)
    best = np.argsort(-scores, kind="stable")[:SHOWN]
    said = np.full(len(scores), -1) if verdicts is None else verdicts
    for verdict, (shade, name) in VERDICTS.items():
        among = best[said[best] == verdict]
        figure.add_scatter(
            x=scores[among],
            y=weights[among],
            mode="markers",
            name=f"{'negative' if verdicts is None else name.split(' ', 1)[1]}",
            marker={"size": 7, "color": shade, "opacity": 0.8},
            showlegend=bool(len(among)),
            customdata=among,
            hovertemplate="candidate %{customdata}: s = %{x:.3f}, weight %{y:.3f}<extra></extra>",
            row=3,
            col=1,
        )
    chosen = np.unique(np.asarray(drawn, dtype=int))
    figure.add_scatter(
        x=scores[chosen],
        y=weights[chosen],
        mode="markers",
        name="drawn",
        marker={"size": 14, "color": "rgba(0,0,0,0)", "line": {"color": INK, "width": 2}},
        showlegend=bool(len(chosen)),
        hoverinfo="skip",
        row=3,
        col=1,
    )


def _regions(figure: go.Figure, curves: "Curves", low: float, high: float) -> None:
    """Shade where the posterior is under the threshold, up to one half, and above: always three bands and names."""
    ends = [_crossing(curves, curves.threshold, high), _crossing(curves, 0.5, high)]
    ends = [low, ends[0], max(ends), high]
    for (name, shade), left, right in zip(REGIONS, ends[:-1], ends[1:], strict=True):
        figure.add_shape(
            type="rect",
            xref="x",
            yref="paper",
            x0=left,
            x1=right,
            y0=0,
            y1=1,
            line_width=0,
            fillcolor=translucent(shade, 0.08 if shade == GREY else 0.11),
            layer="below",
        )
        wide = (right - left) / (high - low) > 0.04
        figure.add_annotation(
            text=f"<i>{name.replace(' ', '<br>') if (right - left) / (high - low) < 0.16 else name}</i>"
            if wide
            else "",
            x=(left + right) / 2,
            xref="x",
            y=1,
            yref="paper",
            yanchor="top",
            showarrow=False,
            font={"size": 13, "color": MUTED if shade == GREY else shade},
        )
    figure.add_shape(
        type="line",
        xref="x domain",
        yref="y2",
        x0=0,
        x1=1,
        y0=curves.threshold,
        y1=curves.threshold,
        line={"color": ORANGE, "width": 1.5, "dash": "dash"},
    )
    figure.add_annotation(
        text=f"λ = {curves.threshold:g}",
        x=0,
        xref="x domain",
        y=curves.threshold,
        yref="y2",
        xanchor="left",
        yanchor="bottom",
        showarrow=False,
        font={"size": 12, "color": MUTED},
    )


def _crossing(curves: "Curves", level: float, otherwise: float) -> float:
    """The lowest similarity from which the monotone posterior is at least `level`."""
    reached = np.flatnonzero(curves.monotone >= level)
    return float(curves.similarity[reached[0]]) if len(reached) else otherwise
