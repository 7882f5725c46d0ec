"""InfoCMR's denominator: what each kind of negative has of it over τ, and one anchor's terms one by one."""

from collections.abc import Mapping, Sequence
from math import log10
from typing import TYPE_CHECKING

import plotly.graph_objects as go
from jaxtyping import Float
from numpy import ndarray

from .labels import label
from .theme import BLUE, GREY, LEGEND_LINE, MUTED, PAPER, SKY, VERMILION, styled

if TYPE_CHECKING:
    from ..explain.info_cmr import Terms

COLOURS = {"match": BLUE, "negatives of the batch": GREY, "synthetic negatives": VERMILION, "Gaussian noise": SKY}
ROW = 34


def denominator_shares(
    temperatures: Sequence[float],
    shares: Mapping[str, Float[ndarray, "temperature"]],
    *,
    title: str,
    subtitle: str = "",
    paper: float | None = 0.05,
) -> go.Figure:
    """Stacked shares of each kind of term, in percent, over τ on a logarithmic axis; the paper's τ is dotted."""
    figure = go.Figure()
    for name, values in shares.items():
        figure.add_scatter(
            x=list(temperatures),
            y=values,
            name=label(name),
            stackgroup="all",
            mode="lines",
            line={"color": PAPER, "width": 1},
            fillcolor=COLOURS[name],
            hovertemplate=f"{label(name)}: %{{y:.1f}} % at τ = %{{x:.3g}}<extra></extra>",
        )
    if paper is not None:
        figure.add_vline(x=paper, line={"color": PAPER, "width": 2, "dash": "dot"})
        place = {
            "x": log10(paper),
            "xanchor": "left",
            "xshift": 5,
            "y": 1,
            "yref": "paper",
            "yanchor": "top",
            "yshift": -6,
        }
        figure.add_annotation(text=f"<b>τ = {paper:g}</b>", **place, showarrow=False, font={"color": PAPER})
    ticks = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1]
    figure.update_xaxes(title="temperature τ", type="log", tickvals=ticks)
    figure.update_yaxes(title="share of the denominator, %", range=[0, 100])
    return styled(figure, title, subtitle, height=430).update_layout(legend_traceorder="normal")


def info_cmr_terms(
    terms: "Terms", names: Sequence[str], *, title: str, subtitle: str = "", first: int = 12
) -> go.Figure:
    """The largest terms of one anchor's denominator as bars, with their cosines; `names` says what each is of."""
    shown = min(first, len(terms.share))
    figure = go.Figure()
    for kind, shade in COLOURS.items():
        rows = [row for row in range(shown) if terms.kind[row] == kind]
        figure.add_bar(
            x=[100 * float(terms.share[row]) for row in rows] or [None],
            y=rows or [None],
            name=kind,
            orientation="h",
            width=0.72,
            marker_color=shade,
            hovertemplate="%{x:.2f} %<extra></extra>",
        )
    most = 100 * float(terms.share[:shown].max(initial=0.0))
    for row in range(shown):
        cosine = f"{float(terms.score[row]):.2f}".replace("-", "−")
        text = f"{100 * float(terms.share[row]):.1f} %  <span style='color:{MUTED}'>s = {cosine}</span>"
        figure.add_annotation(
            text=text, x=100 * float(terms.share[row]), y=row, xanchor="left", xshift=6, showarrow=False, font_size=13
        )
    ticks = [label(names[row], width=44, lines=2) for row in range(shown)]
    figure.update_yaxes(tickvals=list(range(shown)), ticktext=ticks, range=[shown - 0.4, -0.6], showgrid=False)
    figure.update_yaxes(ticks="outside", ticklen=8, tickcolor=PAPER)
    figure.update_xaxes(title=f"share of the denominator at τ = {terms.temperature:g}, %", range=[0, 1.3 * most or 1])
    figure = styled(figure, title, subtitle, height=170 + LEGEND_LINE + ROW * shown)
    # beside long names the plot is narrow, and the legend takes a second line
    return figure.update_layout(barmode="overlay", margin_t=figure.layout.margin.t + LEGEND_LINE)
