"""What a captioning metric says of pairs that nobody annotated, and what the world that drew the pictures says."""

from collections.abc import Mapping, Sequence

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float, Integer
from numpy import ndarray
from plotly.subplots import make_subplots

from .calibration import wilson
from .labels import label
from .recall import DIRECTIONS
from .theme import GREEN, GREY, INK, PAPER, VERDICTS, colour, styled, translucent

BINS, FEW = 18, 10  # bins of fewer decided pairs tell nothing and are not drawn


def relevance_by_truth(
    relevance: Mapping[str, Float[ndarray, "pair"]],
    verdicts: Integer[ndarray, "pair"],
    *,
    title: str,
    subtitle: str = "",
) -> go.Figure:
    """A column a metric: above, how φ is distributed over true, false and undecided pairs; below, how many are true.

    `verdicts` are 1 true, 0 false, −1 undecided. Bins are equally wide in √φ, since most pairs have little in common.
    Below, the share of true ones among the decided pairs of a bin with Wilson's 95 % interval.
    """
    figure = make_subplots(
        2,
        max(len(relevance), 1),
        subplot_titles=[label(name) for name in relevance],
        shared_xaxes=True,
        row_heights=[0.55, 0.45],
        vertical_spacing=0.07,
        horizontal_spacing=0.09,
    )
    for column, (name, values) in enumerate(relevance.items(), start=1):
        root = np.sqrt(np.maximum(values, 0))
        edges = np.linspace(0, float(root.max()) or 1.0, BINS + 1)
        middle = (edges[:-1] + edges[1:]) / 2
        counts = {verdict: np.histogram(root[verdicts == verdict], edges)[0] for verdict in VERDICTS}
        for verdict, (shade, said) in VERDICTS.items():
            share = 100 * counts[verdict] / max(counts[verdict].sum(), 1)
            figure.add_scatter(
                x=middle,
                y=share,
                name=said,
                legendgroup=said,
                showlegend=column == 1,
                mode="lines",
                line={"color": shade, "width": 3, "dash": "dot" if verdict < 0 else "solid", "shape": "hvh"},
                fill="tozeroy",
                fillcolor=translucent(shade, 0.08),
                customdata=middle**2,
                hovertemplate=f"{said}: %{{y:.1f}} % of them near {label(name)} %{{customdata:.2f}}<extra></extra>",
                row=1,
                col=column,
            )
        decided = counts[1] + counts[0]
        some = decided >= FEW
        shown, (lower, upper) = counts[1][some] / decided[some], wilson(counts[1][some], decided[some])
        figure.add_scatter(
            x=middle[some],
            y=100 * shown,
            error_y={"array": 100 * (upper - shown), "arrayminus": 100 * (shown - lower), "thickness": 1.5, "width": 4},
            mode="lines+markers",
            showlegend=False,
            line={"color": GREEN, "width": 3},
            marker={"size": 8, "line": {"color": PAPER, "width": 1}},
            customdata=np.stack([middle[some] ** 2, counts[1][some], decided[some]], axis=-1),
            hovertemplate="φ near %{customdata[0]:.2f}: %{customdata[1]} of %{customdata[2]} true<extra></extra>",
            row=2,
            col=column,
        )
        ticks = _ticks(edges[-1] ** 2)
        figure.update_xaxes(tickvals=np.sqrt(ticks), ticktext=[f"{tick:g}" for tick in ticks], col=column)
        figure.update_xaxes(title=label(name), row=2, col=column)
    figure.update_yaxes(rangemode="tozero")
    figure.update_yaxes(title="pairs of a kind, %", row=1, col=1)
    figure.update_yaxes(title="true among them, %", range=[0, 102], row=2)
    figure.update_yaxes(title=None, row=2, col=2)
    counted = " · ".join(f"{int((verdicts == verdict).sum()):,} {said}" for verdict, (_, said) in VERDICTS.items())
    figure = styled(figure, title, f"{subtitle} · {counted}" if subtitle else counted, height=620)
    return figure.update_layout(legend={"y": 1.06}, margin_t=figure.layout.margin.t + 26)


def truth_among_relevant(
    relevant: Sequence[int],
    shares: Mapping[str, Mapping[str, Float[ndarray, "m"]]],
    most: Mapping[str, Float[ndarray, "m"]],
    *,
    title: str,
    subtitle: str = "",
) -> go.Figure:
    """How many (%) of the m candidates that each ranks first are true: a panel a direction, a line a ranking.

    `shares[ranking][direction]` by metrics or models; `most[direction]` is what a perfect ranking would reach, drawn
    dotted.
    """
    directions = list(most)
    titles = [DIRECTIONS[direction] for direction in directions]
    figure = make_subplots(1, len(directions), subplot_titles=titles, shared_yaxes=True, horizontal_spacing=0.06)
    for column, direction in enumerate(directions, start=1):
        line = {"color": GREY, "width": 2, "dash": "dot"}
        figure.add_scatter(
            x=list(relevant), y=list(most[direction]), mode="lines", line=line, name="all true ones first",
            legendgroup="most", showlegend=column == 1, row=1, col=column,
        )  # fmt: skip
        for index, (name, by_direction) in enumerate(shares.items()):
            figure.add_scatter(
                x=list(relevant),
                y=list(by_direction[direction]),
                name=label(name),
                legendgroup=name,
                showlegend=column == 1,
                mode="lines+markers",
                line={"color": colour(index), "width": 3},
                marker={"size": 8, "line": {"color": PAPER, "width": 1}},
                hovertemplate=f"{label(name)}, first %{{x}}: %{{y:.1f}} % true<extra></extra>",
                row=1,
                col=column,
            )
    figure.update_xaxes(type="log", tickvals=list(relevant), ticktext=[str(m) for m in relevant])
    figure.update_xaxes(title="m: unannotated candidates ranked first")
    figure.update_yaxes(range=[0, 102])
    figure.update_yaxes(title="true among them, %", col=1)
    figure = styled(figure, title, subtitle, height=470)
    figure.update_annotations(font={"size": 15, "color": INK})
    return figure.update_layout(legend={"y": 1.1}, margin_t=figure.layout.margin.t + 28)


def _ticks(largest: float) -> Float[ndarray, "tick"]:
    """A few round values of φ up to its largest, further apart as they grow."""
    steps = np.array([0, 0.01, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1, 2, 4, 6, 8, 10])
    room = steps[steps <= largest]
    kept = [0.0]
    for tick in room[1:]:
        if np.sqrt(tick) - np.sqrt(kept[-1]) >= 0.09 * np.sqrt(largest):
            kept.append(float(tick))
    return np.array(kept)
