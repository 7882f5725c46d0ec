"""Does a posterior mean what it says? The share of true pairs among those given each probability, against it."""

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Bool, Float
from numpy import ndarray
from plotly.subplots import make_subplots

from .theme import GREY, MUTED, PAPER, POSTERIOR, styled

TICKS = (1e-4, 1e-3, 1e-2, 0.1, 0.5, 0.9, 0.99, 0.999)


def calibration(
    posterior: Float[ndarray, "pair"],
    truth: Bool[ndarray, "pair"],
    *,
    title: str,
    subtitle: str = "",
    bins: int = 14,
) -> go.Figure:
    """Reliability curve on log-odds axes, which give 0.001 and 0.999 the room of 0.5, with counts a bin below.

    Bins are equally wide in log-odds; a point is the share of true pairs in its bin against its mean posterior, with
    Wilson's 95 % interval; shares of 0 and 1 are drawn at the edge of the axis.
    """
    edge = 1e-4
    odds = _log_odds(np.clip(posterior, edge, 1 - edge))
    edges = np.linspace(odds.min(), odds.max() + 1e-9, bins + 1) if len(odds) else np.zeros(2)
    which = np.clip(np.digitize(odds, edges) - 1, 0, bins - 1)
    used = np.unique(which)
    count = np.array([(which == index).sum() for index in used])
    mean = np.array([odds[which == index].mean() for index in used])
    hits = np.array([truth[which == index].sum() for index in used])
    share, lower, upper = hits / count, *wilson(hits, count)
    shown, low, high = (_log_odds(np.clip(values, edge, 1 - edge)) for values in (share, lower, upper))
    figure = make_subplots(2, 1, shared_xaxes=True, vertical_spacing=0.04, row_heights=[0.74, 0.26])
    ends = [_log_odds(np.array(edge / 2)), _log_odds(np.array(1 - edge / 2))]
    figure.add_scatter(
        x=ends, y=ends, mode="lines", name="calibrated", line={"color": GREY, "dash": "dash"}, row=1, col=1
    )
    figure.add_scatter(
        x=mean,
        y=shown,
        error_y={"array": high - shown, "arrayminus": shown - low, "thickness": 1.6, "width": 4, "color": POSTERIOR},
        mode="lines+markers",
        name="measured",
        line={"color": POSTERIOR, "width": 3},
        marker={"size": 10, "line": {"color": PAPER, "width": 1.5}},
        customdata=np.stack([_odds_to_probability(mean), share, count], axis=-1),
        hovertemplate="P = %{customdata[0]:.3g}: %{customdata[1]:.3g} of %{customdata[2]} pairs true<extra></extra>",
        row=1,
        col=1,
    )
    figure.add_bar(
        x=(edges[used] + edges[used + 1]) / 2,
        y=count,
        width=0.92 * np.diff(edges)[used],
        marker_color=GREY,
        showlegend=False,
        hovertemplate="%{y} pairs<extra></extra>",
        row=2,
        col=1,
    )
    ticks = {"tickvals": _log_odds(np.array(TICKS)), "ticktext": [f"{tick:g}" for tick in TICKS], "range": ends}
    figure.update_xaxes(**ticks)
    figure.update_xaxes(title="posterior probability that the negative matches", row=2)
    figure.update_yaxes(**ticks, title="share that is true", row=1)
    figure.update_yaxes(title="pairs", type="log", dtick=1, tickfont={"color": MUTED}, row=2)
    return styled(figure, title, subtitle, height=600)


def wilson(hits: Float[ndarray, "bin"], count: Float[ndarray, "bin"]) -> tuple[ndarray, ndarray]:
    """Wilson's 95 % interval of a share, which stays inside [0, 1] for few and for extreme counts."""
    z = 1.959964
    share = hits / count
    centre = share + z**2 / (2 * count)
    half = z * np.sqrt(share * (1 - share) / count + z**2 / (4 * count**2))
    return (centre - half) / (1 + z**2 / count), (centre + half) / (1 + z**2 / count)


def _log_odds(probability: Float[ndarray, "*any"]) -> Float[ndarray, "*any"]:
    return np.log(probability / (1 - probability))


def _odds_to_probability(odds: Float[ndarray, "*any"]) -> Float[ndarray, "*any"]:
    return 1 / (1 + np.exp(-odds))
