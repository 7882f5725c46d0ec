"""With and without the adaptive margin when training data are few (SAM, Table 2), beside what the paper reports."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from .labels import label
from .theme import GREY, INK, PAPER, colour, styled

MEASURES = ("RSum", "Nsum")
PAPER_GAINS = {  # SAM, Tables 2 and 3, Flickr30K: (RSum, Nsum) with the margin minus without, by share of training data
    "CVSE": {0.1: (164.5, 86.0), 0.25: (89.7, 50.3), 1.0: (7.3, 4.1)},  # Nsum at 1.0: the sum of its N; 387.9 is not
    "SGR": {0.1: (320.4, 223.9), 0.25: (269.4, 151.4), 1.0: (6.9, 4.7)},
}
Rows = Sequence[Mapping[str, Any]]


def reduced_data(
    rows: Rows,
    differences: Rows,
    *,
    title: str,
    subtitle: str = "",
    paper: Mapping[str, Mapping[float, tuple[float, float]]] | None = PAPER_GAINS,
) -> go.Figure:
    """RSum and Nsum by share of training data, what the margin adds to them, and what it adds in the paper.

    A row of `rows` is one training: its `share`, `recipe`, `seed`, "RSum" and "Nsum"; points are seeds, lines their
    means. A row of `differences` is `recipe` minus `baseline` in one `measure` with the ends of its interval. The last
    row of panels has an axis of its own: the paper's models are larger and its data are photographs.
    """
    paper = paper or {}
    pairs = list(dict.fromkeys((row["recipe"], row["baseline"]) for row in differences))
    shares = sorted({row["share"] for row in rows} | {share for gains in paper.values() for share in gains})
    place = {share: float(at) for at, share in enumerate(shares)}
    kinds = ["here", "the margin adds, here", "the margin adds, in the paper (Flickr30K)"][: 3 if paper else 2]
    figure = make_subplots(
        len(kinds),
        2,
        subplot_titles=[f"{measure}: {kind}" for kind in kinds for measure in MEASURES],
        vertical_spacing=0.11,
        horizontal_spacing=0.1,
    )
    styles = {recipe: (colour(index), "solid") for index, (recipe, _) in enumerate(pairs)}
    styles |= {baseline: (colour(index), "dot") for index, (_, baseline) in enumerate(pairs)}
    for column, measure in enumerate(MEASURES, start=1):
        for recipe in sorted({row["recipe"] for row in rows}):
            of = [row for row in rows if row["recipe"] == recipe]
            _levels(figure, of, measure, place, styles.get(recipe, (INK, "solid")), column)
        for index, pair in enumerate(pairs):
            of = [row for row in differences if (row["recipe"], row["baseline"]) == pair and row["measure"] == measure]
            shift = 0.4 * (index - (len(pairs) - 1) / 2)
            _gains(figure, of, {share: at + shift for share, at in place.items()}, colour(index), column)
        for index, (model, gains) in enumerate(paper.items()):
            values = {share: pair[column - 1] for share, pair in gains.items()}
            _printed(figure, model, values, place, GREY if index else INK, column)
    for row in range(2, len(kinds) + 1):
        figure.add_hline(y=0, line={"color": INK, "width": 1}, row=row)
    ticks = {"tickvals": list(place.values()), "ticktext": [f"{100 * share:g} %" for share in shares]}
    figure.update_xaxes(range=[-0.5, len(shares) - 0.5], **ticks)
    figure.update_xaxes(title="share of the training pictures", row=len(kinds))
    figure = styled(figure, title, subtitle, height=130 + 250 * len(kinds))
    legend = {"y": -0.26 / len(kinds), "yanchor": "top"}
    return figure.update_layout(legend=legend, margin={"t": figure.layout.margin.t, "b": 110})


def _levels(
    figure: go.Figure, rows: Rows, measure: str, place: Mapping[float, float], style: tuple[str, str], column: int
) -> None:
    """One recipe: its mean as a bar on a line, each seed as a point."""
    (shade, dash), name = style, label(rows[0]["recipe"])
    group = {"legendgroup": name, "row": 1, "col": column}
    there = [share for share in place if any(row["share"] == share for row in rows)]
    figure.add_scatter(
        x=[place[share] for share in there],
        y=[float(np.mean([row[measure] for row in rows if row["share"] == share])) for share in there],
        name=name,
        showlegend=False,
        mode="lines+markers",
        line={"color": shade, "width": 3, "dash": dash},
        marker={"symbol": "line-ew", "size": 30, "line": {"color": shade, "width": 3}},
        hovertemplate=f"{name}: mean %{{y:.1f}}<extra></extra>",
        **group,
    )
    figure.add_scatter(
        x=[place[row["share"]] for row in rows],
        y=[row[measure] for row in rows],
        name=name,
        showlegend=column == 1,
        mode="markers",
        marker={"size": 8, "color": shade if dash == "solid" else PAPER, "line": {"color": shade, "width": 2}},
        text=[f"seed {row['seed']}" for row in rows],
        hovertemplate=f"{name}, %{{text}}: %{{y:.1f}}<extra></extra>",
        **group,
    )


def _gains(figure: go.Figure, rows: Rows, place: Mapping[float, float], shade: str, column: int) -> None:
    """What one recipe adds to its baseline, with intervals."""
    said = [f"{round(row['difference']):+d}".replace("-", "−").replace("+0", "0") for row in rows]
    figure.add_scatter(
        x=[place[row["share"]] for row in rows],
        y=[row["difference"] for row in rows],
        error_y={
            "array": [row["upper"] - row["difference"] for row in rows],
            "arrayminus": [row["difference"] - row["lower"] for row in rows],
            "thickness": 2,
            "width": 5,
        },
        mode="markers+text",
        marker={"size": 11, "color": shade},
        text=[f" {words}" for words in said],
        textposition="middle right",
        textfont={"size": 12, "color": shade},
        showlegend=False,
        customdata=[label(f"{row['recipe']} − {row['baseline']}") for row in rows],
        hovertemplate="%{customdata}: %{y:+.1f}<extra></extra>",
        cliponaxis=False,
        row=2,
        col=column,
    )


def _printed(
    figure: go.Figure, model: str, values: Mapping[float, float], place: Mapping[float, float], shade: str, column: int
) -> None:
    """What the paper prints for one of its models."""
    figure.add_scatter(
        x=[place[share] for share in values],
        y=list(values.values()),
        name=f"{label(model)} (paper)",
        legendgroup=model,
        showlegend=column == 1,
        mode="lines+markers",
        line={"color": shade, "width": 2},
        marker={"symbol": "diamond", "size": 10, "color": PAPER, "line": {"width": 2, "color": shade}},
        hovertemplate=f"{label(model)}: %{{y:+.1f}}<extra></extra>",
        row=3,
        col=column,
    )
