"""A batch around one anchor on a map, and how its negatives' similarities are spread (ITContrast, Fig. 2)."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from .labels import label
from .projection import frame
from .theme import BLUE, GREEN, GREY, INK, LEGEND_LINE, MUTED, PAPER, PURPLE, VERMILION, styled, translucent

if TYPE_CHECKING:
    from ..explain.surroundings import Surroundings

BIN = 0.05  # of cosine
ORDER = ("anchor", "positives", "hard negatives", "easy negatives", "synthesised")  # of the legend


def surroundings(
    batch: "Surroundings", *, title: str, subtitle: str = "", ids: Sequence[str] | None = None
) -> go.Figure:
    """Left, the map: anchor, positives, hard, easy and synthesised negatives; right, the negatives by similarity.

    Hard are those right of the dashed line, which a triplet loss learns from. A green rim marks a negative that the
    world calls true. `ids` are names by the candidates' number in the data; a point's `customdata` is that number.
    """
    specs = [[{"rowspan": 2}, {}], [None, {}]]
    figure = make_subplots(
        2,
        2,
        specs=specs,
        column_widths=[0.53, 0.47],
        row_heights=[0.8, 0.2],
        horizontal_spacing=0.1,
        vertical_spacing=0.03,
        shared_xaxes=True,
    )
    scores, places = batch.scores.numpy(), batch.places
    kinds = {
        "easy negatives": (~(batch.positives | batch.hard)).numpy(),
        "hard negatives": batch.hard.numpy(),
        "positives": batch.positives.numpy(),
    }
    looks = {
        "easy negatives": {"color": translucent(GREY, 0.55), "size": 7},
        "hard negatives": {"color": VERMILION, "size": 9},
        "positives": {"color": BLUE, "size": 11, "symbol": "square"},
    }
    shown = {"row": 1, "col": 1}
    for kind, chosen in kinds.items():
        numbers = batch.index.numpy()[chosen]
        rims = [GREEN if batch.true is not None and batch.true[row] else PAPER for row in chosen.nonzero()[0].tolist()]
        widths = [2.5 if rim == GREEN else 0.8 for rim in rims]
        figure.add_scatter(
            x=places[chosen, 0],
            y=places[chosen, 1],
            mode="markers",
            name=f"{kind} ({chosen.sum()})",
            legendrank=ORDER.index(kind),
            marker={"line": {"color": rims, "width": widths}, **looks[kind]},
            customdata=numbers,
            text=[f"{_name(ids, n)}: {s:.2f}" for n, s in zip(numbers.tolist(), scores[chosen].tolist(), strict=True)],
            hovertemplate=f"%{{text}}<extra>{kind}</extra>",
            **shown,
        )
    if len(batch.synthetic_scores):
        figure.add_scatter(
            x=batch.synthetic_places[:, 0],
            y=batch.synthetic_places[:, 1],
            mode="markers",
            name=f"synthesised ({len(batch.synthetic_scores)})",
            legendrank=ORDER.index("synthesised"),
            marker={"color": PURPLE, "size": 13, "symbol": "diamond-open", "line": {"width": 2.5}},
            text=[f"synthesised {n + 1}: {s:.2f}" for n, s in enumerate(batch.synthetic_scores.tolist())],
            hovertemplate="%{text}<extra></extra>",
            **shown,
        )
    figure.add_scatter(
        x=batch.anchor_place[:, 0],
        y=batch.anchor_place[:, 1],
        mode="markers",
        name="anchor",
        legendrank=ORDER.index("anchor"),
        marker={"color": INK, "size": 17, "symbol": "star", "line": {"color": PAPER, "width": 1.5}},
        hovertemplate="the anchor<extra></extra>",
        **shown,
    )
    if batch.true is not None and batch.true.any():
        rim = {"color": PAPER, "size": 9, "line": {"color": GREEN, "width": 2.5}}
        said = {"name": "true, not annotated", "legendrank": len(ORDER)}
        figure.add_scatter(x=[None], y=[None], mode="markers", marker=rim, **said, **shown)
    frame(figure, [places, batch.anchor_place, batch.synthetic_places], shown)
    _similarities(figure, batch, {kind: scores[chosen] for kind, chosen in kinds.items()})
    figure = styled(figure, title, subtitle, height=560 + LEGEND_LINE)
    # in a notebook's width the legend takes a second line
    margin = {"l": 30, "r": 30, "t": figure.layout.margin.t + LEGEND_LINE, "b": 56}
    return figure.update_layout(margin=margin, barmode="stack", legend_traceorder="normal")


def _similarities(figure: go.Figure, batch: "Surroundings", scores: dict[str, np.ndarray]) -> None:
    """The negatives as bars over their similarity, and below them every positive and every synthesised one."""
    everything = np.concatenate([*scores.values(), batch.synthetic_scores.numpy()]) - batch.threshold
    edges = batch.threshold + BIN * np.arange(np.floor(everything.min() / BIN), np.ceil(everything.max() / BIN) + 1)
    for kind, shade in (("easy negatives", translucent(GREY, 0.7)), ("hard negatives", VERMILION)):
        figure.add_bar(
            x=(edges[:-1] + edges[1:]) / 2,
            y=np.histogram(scores[kind], edges)[0],
            width=BIN,
            marker={"color": shade, "line": {"width": 0}},
            showlegend=False,
            hovertemplate=f"%{{y}} {kind} near %{{x:.2f}}<extra></extra>",
            row=1,
            col=2,
        )
    rows = [("positives", scores["positives"], BLUE, "square")]
    if len(batch.synthetic_scores):
        rows.insert(0, ("synthesised", batch.synthetic_scores.numpy(), PURPLE, "diamond-open"))
    for height, (kind, values, shade, symbol) in enumerate(rows):
        figure.add_scatter(
            x=values,
            y=np.full(len(values), height),
            mode="markers",
            marker={
                "color": translucent(shade, 0.8),
                "size": 10,
                "symbol": symbol,
                "line": {"width": 2 if symbol.endswith("open") else 0},
            },
            showlegend=False,
            hovertemplate=f"{label(kind)}: %{{x:.3f}}<extra></extra>",
            row=2,
            col=2,
        )
    ticks = {"tickvals": list(range(len(rows))), "ticktext": [kind for kind, *_ in rows]}
    figure.update_yaxes(range=[-0.7, len(rows) - 0.3], showgrid=False, **ticks, row=2, col=2)
    figure.update_yaxes(title="negatives", row=1, col=2)
    figure.update_xaxes(title="cosine with the anchor", row=2, col=2)
    figure.update_xaxes(ticks="", showline=True, row=1, col=2)
    most = max(np.histogram(scores[kind], edges)[0].max() for kind in ("easy negatives", "hard negatives"))
    figure.update_yaxes(range=[0, 1.14 * max(most, 1)], row=1, col=2)
    dashed = {"color": INK, "width": 1.5, "dash": "dash"}
    ends = {"x0": batch.threshold, "x1": batch.threshold, "xref": "x2", "y0": 0, "y1": 1, "yref": "paper"}
    figure.add_shape(type="line", **ends, line=dashed)
    figure.add_annotation(
        x=batch.threshold,
        y=1,
        xref="x2",
        yref="paper",
        text="mean positive − margin",
        showarrow=False,
        xanchor="right" if batch.threshold > edges.mean() else "left",
        xshift=-5 if batch.threshold > edges.mean() else 5,
        yanchor="top",
        font={"size": 13, "color": MUTED},
    )


def _name(ids: Sequence[str] | None, number: int) -> str:
    return label(ids[number]) if ids is not None else str(number)
