"""One anchor's kernel associative memories: a map of its clusters and what they recall, and how hard that is."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float
from numpy import ndarray
from plotly.subplots import make_subplots

from .labels import label
from .theme import GREY, INK, MUTED, PAPER, RULE, WIDTH, colour, styled, translucent

if TYPE_CHECKING:
    from ..explain.kernel_memory import Recollection

RINGS = (0.75, 0.5, 0.25, 0.0, -0.25, -0.5)  # cosines
MAP = 452  # pixels a side
SYMBOLS = ("circle", "square")  # clusters 9 to 16 have the colours of 1 to 8 again
SMALLEST, LARGEST = 6.0, 24.0  # pixels a prototype: kernel weight 0, kernel weight 1
LINKED = 0.05  # kernel weight from which a prototype is tied to what it helped to make


def kernel_memory(
    recollection: "Recollection", names: Sequence[str], *, title: str, subtitle: str = "", match: int | None = None
) -> go.Figure:
    """Left a map: the anchor in its middle, every candidate as far out as the angle between the two says.

    Colours are clusters, sizes kernel weights, diamonds the synthetic negatives, tied to what they are made of. Right
    the same, a row a cluster: the cosine of each prototype with the anchor, and of the diamond. `names` are those of
    the candidates; `match` is the anchor's own. The number of traces is always the same.
    """
    figure = make_subplots(1, 2, column_widths=[0.53, 0.47], horizontal_spacing=0.12)
    order = [int(row) for row in np.argsort(-_hardness(recollection), kind="stable")]
    _map(figure, recollection, names, match)
    _strips(figure, recollection, names, order)
    _legend(figure)
    figure = styled(figure, title, subtitle, height=MAP)
    figure.update_layout(margin_t=figure.layout.margin.t + 8)
    figure.update_layout(width=WIDTH, legend_y=1.03, bargap=0, margin={"l": 16, "r": 20, "b": 56})
    height = figure.layout.margin.t + MAP + figure.layout.margin.b
    rows = len(order)
    score = float(recollection.score[match]) if match is not None else None
    _match_line(figure, score, rows)
    _rows(figure, recollection, order)
    return figure.update_layout(height=height)


def _map(figure: go.Figure, recollection: "Recollection", names: Sequence[str], match: int | None) -> None:
    place, made = recollection.place.numpy(), recollection.points_place.numpy()
    extent = 1.04 * float(np.nanmax(np.linalg.norm(np.concatenate([place, made]), axis=1)))
    for cosine in RINGS:
        _ring(figure, cosine, extent)
    membership, kernel = recollection.membership.numpy(), recollection.kernel.numpy()
    ends = [
        np.array([made[membership[at]], place[at], [np.nan, np.nan]])
        for at in np.flatnonzero((membership >= 0) & (kernel >= LINKED))
    ]
    lines = np.concatenate(ends) if ends else np.zeros((0, 2))
    thin = {"color": translucent(INK, 0.3), "width": 1.2}
    _points(figure, lines, 1, mode="lines", line=thin, hoverinfo="skip")
    shown = np.flatnonzero(membership >= 0)
    shown = shown[np.argsort(-kernel[shown], kind="stable")]  # the small ones above
    _points(figure, place[shown], 1, **_prototypes(recollection, names, shown))
    _points(figure, made, 1, **_synthetic(recollection, range(len(made))))
    own = place[[match]] if match is not None else np.zeros((0, 2))
    _points(
        figure,
        own,
        1,
        marker={"size": 13, "symbol": "circle", "color": PAPER, "line": {"color": INK, "width": 3}},
        hovertemplate="its match<extra></extra>",
    )
    star = {"size": 19, "symbol": "star", "color": INK, "line": {"color": PAPER, "width": 1.5}}
    _points(figure, np.zeros((1, 2)), 1, marker=star, hovertemplate="the anchor<extra></extra>")
    hidden = {"visible": False, "range": [-extent, extent], "automargin": False}
    figure.update_xaxes(**hidden, col=1, constrain="domain")
    figure.update_yaxes(**hidden, col=1, scaleanchor="x", constrain="domain")


def _ring(figure: go.Figure, cosine: float, extent: float) -> None:
    """A circle where the cosine with the anchor is so much, with that number on its top."""
    radius = float(np.arccos(cosine))
    if radius > extent:
        return
    box = {"x0": -radius, "x1": radius, "y0": -radius, "y1": radius}
    figure.add_shape(type="circle", xref="x", yref="y", **box, line={"color": RULE, "width": 1.3}, layer="below")
    figure.add_annotation(
        text=f"{cosine:g}".replace("-", "−"),
        x=0,
        y=radius,
        xref="x",
        yref="y",
        showarrow=False,
        font={"size": 11, "color": MUTED},
        bgcolor=PAPER,
        borderpad=1,
    )


def _strips(figure: go.Figure, recollection: "Recollection", names: Sequence[str], order: Sequence[int]) -> None:
    membership, score = recollection.membership.numpy(), recollection.score.numpy()
    row_of = {cluster: row for row, cluster in enumerate(order)}
    shown = np.flatnonzero(membership >= 0)
    shown = shown[np.argsort(-recollection.kernel.numpy()[shown], kind="stable")]
    rows = np.array([row_of[cluster] for cluster in membership[shown]])
    _points(figure, np.stack([score[shown], rows], axis=1), 2, **_prototypes(recollection, names, shown))
    hardness = recollection.hardness.numpy()
    diamonds = np.stack([hardness[order], np.arange(len(order), dtype=float)], axis=1)
    _points(figure, diamonds, 2, **_synthetic(recollection, order))
    low = float(np.nanmin(np.concatenate([score[shown], hardness, [0.0]])))
    figure.update_xaxes(title="cosine with the anchor", range=[low - 0.06, 1.02], showgrid=True, col=2)
    figure.update_yaxes(range=[len(order) - 0.45, -0.75], showgrid=False, showticklabels=False, col=2)


def _prototypes(recollection: "Recollection", names: Sequence[str], shown: Sequence[int]) -> dict:
    clusters, kernel = recollection.membership.numpy()[shown], recollection.kernel.numpy()[shown]
    coefficients = recollection.coefficients.numpy()[shown]
    return {
        "marker": {
            "size": SMALLEST + (LARGEST - SMALLEST) * np.sqrt(kernel),
            "color": [translucent(colour(cluster % 8), 0.75) for cluster in clusters],
            "symbol": [SYMBOLS[cluster // 8 % 2] for cluster in clusters],
            "line": {"color": PAPER, "width": 0.8},
        },
        "customdata": np.stack(
            [[label(names[at]) for at in shown], *_digits(recollection.score.numpy()[shown], kernel, coefficients)],
            axis=1,
        ),
        "hovertemplate": (
            "%{customdata[0]}<br>cosine %{customdata[1]}, kernel weight %{customdata[2]}, "
            "coefficient %{customdata[3]}<extra></extra>"
        ),
    }


def _synthetic(recollection: "Recollection", clusters: Sequence[int]) -> dict:
    hardness, lengths = recollection.hardness.numpy(), recollection.points.norm(dim=1).numpy()
    listed = list(clusters)
    return {
        "marker": {
            "size": 15,
            "symbol": "diamond",
            "color": [colour(cluster % 8) for cluster in listed],
            "line": {"color": INK, "width": 1.8},
        },
        "customdata": np.stack(_digits(hardness[listed], lengths[listed]), axis=1),
        "hovertemplate": "synthetic: cosine %{customdata[0]}, length %{customdata[1]}<extra></extra>",
    }


def _points(figure: go.Figure, places: Float[ndarray, "point 2"], column: int, **style: object) -> None:
    style = {"mode": "markers", "cliponaxis": False, "showlegend": False, **style}
    figure.add_scatter(x=places[:, 0], y=places[:, 1], row=1, col=column, **style)


def _legend(figure: go.Figure) -> None:
    """Entries without a colour of their own: colours are clusters."""
    entries = {
        "the anchor": {"symbol": "star", "size": 15, "color": INK},
        "its match": {"symbol": "circle", "size": 11, "color": PAPER, "line": {"color": INK, "width": 3}},
        "a negative, sized by its kernel weight": {"symbol": "circle", "size": 12, "color": GREY},
        "a synthetic negative": {"symbol": "diamond", "size": 13, "color": GREY, "line": {"color": INK, "width": 1.8}},
    }
    for name, marker in entries.items():
        figure.add_scatter(x=[None], y=[None], mode="markers", name=name, marker=marker, showlegend=True, row=1, col=1)


def _match_line(figure: go.Figure, score: float | None, rows: int) -> None:
    if score is None:
        return
    ends = {"x0": score, "x1": score, "y0": -0.62, "y1": rows - 0.45}
    line = {"color": INK, "width": 1.5, "dash": "dash"}
    figure.add_shape(type="line", xref="x2", yref="y2", **ends, line=line, layer="below")
    figure.add_annotation(
        text="its match", x=score, y=-0.62, xref="x2", yref="y2", showarrow=False, yanchor="bottom", font_size=12
    )


def _rows(figure: go.Figure, recollection: "Recollection", order: Sequence[int]) -> None:
    """Left of each strip how many prototypes the cluster has, and how many of them share the weight."""
    for row, cluster in enumerate(order):
        number = len(recollection.prototypes(cluster))
        text = f"{number} · <b>{recollection.effective(cluster):.1f}</b>" if number else "empty"
        place = {"x": 0, "xref": "x2 domain", "xanchor": "right", "xshift": -8, "y": row, "yref": "y2"}
        shade = colour(cluster % 8) if number else MUTED
        figure.add_annotation(text=text, **place, showarrow=False, font={"size": 12, "color": shade})
    place = {"x": 0, "xref": "x2 domain", "xanchor": "right", "xshift": -8, "y": -0.62, "yref": "y2"}
    figure.add_annotation(
        text="size · effective", **place, yanchor="bottom", showarrow=False, font={"size": 11, "color": MUTED}
    )


def _hardness(recollection: "Recollection") -> Float[ndarray, "cluster"]:
    """For the order of the rows: empty clusters last."""
    return np.nan_to_num(recollection.hardness.numpy(), nan=-2.0)


def _digits(*columns: Float[ndarray, "point"]) -> list[list[str]]:
    """For hovering: three digits, as text, whose zeros and minus signs stay as they are."""
    return [[f"{value:.3f}".replace("-", "−") for value in column] for column in columns]
