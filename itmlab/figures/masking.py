"""What maskings hide: kinds of phrases in captions, and the share of words hidden."""

from collections.abc import Mapping

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float
from numpy import ndarray
from plotly.subplots import make_subplots

from .labels import label
from .spans import KIND_COLOURS
from .theme import INK, MUTED, PURPLE, styled, translucent

WAYS = (PURPLE, KIND_COLOURS["word"])  # of phrases and words
STEP, MOST = 5, 60  # percent: the width of a bar of shares, and where the last one begins


def phrase_kinds(counts: Mapping[str, Mapping[str, float]], *, title: str, subtitle: str = "") -> go.Figure:
    """Phrases per caption, by kind, on each named set of captions."""
    figure = go.Figure()
    for name, by_kind in counts.items():
        figure.add_bar(
            x=[label(f"{kind}s") for kind in by_kind],
            y=list(by_kind.values()),
            name=label(name),
            marker={
                "color": [translucent(KIND_COLOURS[kind], 1.0 - 0.55 * (len(figure.data) % 2)) for kind in by_kind],
                "line": {"color": [KIND_COLOURS[kind] for kind in by_kind], "width": 2},
            },
            text=[f"{label(name)}<br><b>{value:.2f}</b>" for value in by_kind.values()],
            textposition="outside",
            cliponaxis=False,
            hovertemplate="%{x}: %{y:.2f} a caption<extra></extra>",
        )
    top = max(value for by_kind in counts.values() for value in by_kind.values())
    figure.update_yaxes(title="phrases per caption", range=[0, 1.25 * top], showgrid=False)
    return styled(figure, title, subtitle, height=430, legend=False)


def masked_shares(
    shares: Mapping[str, Mapping[str, Float[ndarray, "masking"]]],
    expected: Mapping[str, Mapping[str, float]],
    *,
    title: str,
    subtitle: str = "",
) -> go.Figure:
    """Of many maskings, how many hide which share of the words: a panel for each set, bars for each way of masking.

    `shares` and `expected` (the dashed lines: means by calculation) are between 0 and 1, by set, then by way. All
    shares from 60 % are in the last bar.
    """
    figure = make_subplots(1, len(shares), subplot_titles=[label(name) for name in shares], horizontal_spacing=0.09)
    edges = np.arange(0, MOST + 2 * STEP, STEP)
    tallest = 0.0
    for panel, ways in enumerate(shares.values(), start=1):
        for index, (way, values) in enumerate(ways.items()):
            found = (
                100
                * np.histogram(np.minimum(100 * np.asarray(values), MOST + STEP / 2), edges)[0]
                / max(len(values), 1)
            )
            tallest = max(tallest, float(found.max()))
            figure.add_bar(
                x=edges[:-1] + STEP / 2,
                y=found,
                name=label(way),
                legendgroup=way,
                showlegend=panel == 1,
                marker_color=WAYS[index % len(WAYS)],
                hovertemplate=f"%{{y:.1f}} % of maskings hide {STEP} % of words about %{{x}} %<extra></extra>",
                row=1,
                col=panel,
            )
    ticks = {"tickvals": [0, 20, 40, MOST + STEP / 2], "ticktext": ["0", "20", "40", f"≥ {MOST}"]}
    for panel, name in enumerate(shares, start=1):
        lines = sorted((100 * share, index) for index, share in enumerate(expected[name].values()))
        for place, (share, index) in enumerate(lines):
            line = {"color": WAYS[index % len(WAYS)], "width": 2, "dash": "dash"}
            ends = {"x0": share, "x1": share, "y0": 0, "y1": (1.16 - 0.09 * place) * tallest}
            figure.add_shape(type="line", **ends, line=line, row=1, col=panel)
            words = {"text": f"mean {share:.1f} %", "font": {"color": INK, "size": 13}, "showarrow": False}
            figure.add_annotation(
                x=share, y=ends["y1"], xanchor="left", xshift=5, yanchor="middle", **words, row=1, col=panel
            )
        figure.update_xaxes(title="share of words hidden, %", range=[0, MOST + STEP], **ticks, row=1, col=panel)
        figure.update_yaxes(range=[0, 1.24 * tallest], row=1, col=panel)
    figure.update_yaxes(title="maskings, %", row=1, col=1)
    figure.update_layout(barmode="group", bargap=0.12)
    figure.update_annotations(selector={"xref": "paper"}, font={"size": 15, "color": MUTED})
    styled(figure, title, subtitle, height=460)
    above = figure.layout.margin.t + 26  # the panels' names stand between legend and panels
    return figure.update_layout(legend={"y": 1.1}, margin={"t": above})
