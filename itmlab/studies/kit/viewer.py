"""A run directory at a glance: its recipe, its curves, its recall, how its gradients and cosines were spread."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float, Int
from numpy import ndarray
from plotly.subplots import make_subplots

from ...runs.run import Run
from .theme import BLUE, GREY, INK, LEGEND_LINE, MATCH, MISMATCH, ORANGE, RULE, label, styled, translucent

PANELS = ("loss", "validation recall", "gradients", "cosines of the batch")
SMALLEST = -32  # the exponent of the first bin of gradients, as `training.loop` records them


def view(run: Run | str | Path) -> go.Figure:
    """The recipe of a run, its loss step by step, its recall epoch by epoch, and histograms as it went.

    `run` is a Run or its directory, finished or not; one without recipe.json is an ItmlabError. Histograms are of every
    tenth step: the powers of two in which the gradient's numbers lie, and the cosines of a batch's positives and
    negatives (median, and what lies between the tenth and the ninetieth percentile). What a run has not recorded, as
    those from before these were, is said in its panel.

    >>> import itmlab
    >>> len(view(itmlab.pretrained("fne")).data) > 6
    True
    """
    run = run if isinstance(run, Run) else Run(run)
    records = run.history
    steps, epochs = ([one for one in records if one.get("kind") == kind] for kind in ("step", "epoch"))
    figure = make_subplots(
        3,
        2,
        specs=[[{}, {}], [{}, {}], [{"type": "table", "colspan": 2}, None]],
        subplot_titles=PANELS,
        row_heights=[0.32, 0.32, 0.36],
        vertical_spacing=0.1,
        horizontal_spacing=0.12,
    )
    _loss(figure, steps, epochs)
    _recall(figure, [one for one in epochs if "i2t" in one])
    _gradients(figure, [one for one in steps if "gradients" in one])
    _cosines(figure, [one for one in steps if "cosines" in one])
    _recipe(figure, run)
    recorded = (len(steps), len(epochs), *(sum(name in one for one in steps) for name in ("gradients", "cosines")))
    for number, there in enumerate(recorded):
        if not there:
            panel = {"row": 1 + number // 2, "col": 1 + number % 2}
            figure.add_scatter(x=[0], y=[0], opacity=0, showlegend=False, hoverinfo="skip", **panel)  # it has axes then
            place = {"xref": "x domain", "yref": "y domain", "x": 0.5, "y": 0.5, "showarrow": False}
            figure.add_annotation(text="not recorded by this run", font={"color": GREY}, **place, **panel)
            figure.update_xaxes(showticklabels=False, **panel)
            figure.update_yaxes(showticklabels=False, showgrid=False, **panel)
    recipe, last = run.recipe, f"step {records[-1]['step']:,}" if records else "nothing trained yet"
    told = f"{recipe.size}, seed {recipe.seed}; {last}, {len(epochs)} epochs{'' if run.finished else ', not finished'}"
    figure.update_xaxes(title="step", row=2)
    figure = styled(figure, recipe.name, told, height=1000)
    # the panels' titles stand between the axes and the legend, which has two lines
    return figure.update_layout(legend_y=1.03, margin_t=figure.layout.margin.t + 26 + LEGEND_LINE)


def _loss(figure: go.Figure, steps: Sequence[dict[str, Any]], epochs: Sequence[dict[str, Any]]) -> None:
    for some, name, look in (
        (steps, "every tenth step", {"mode": "lines", "line": {"color": translucent(BLUE, 0.45), "width": 1.5}}),
        (epochs, "mean of an epoch", {"mode": "lines+markers", "line": {"color": BLUE, "width": 3}}),
    ):
        at, loss = ([one[field] for one in some] for field in ("step", "loss"))
        hover = "step %{x}: %{y:.4g}<extra></extra>"
        figure.add_scatter(x=at, y=loss, name=name, **look, hovertemplate=hover, row=1, col=1)


def _recall(figure: go.Figure, epochs: Sequence[dict[str, Any]]) -> None:
    directions = (("i2t", "image to text", ORANGE, "solid"), ("t2i", "text to image", INK, "dot"))
    for side, words, shade, dash in directions:
        named: dict[str, list[str]] = {}  # lines that end within ten points share a label, above the highest
        ends = sorted((epochs[-1][side].items() if epochs else ()), key=lambda end: -end[1])
        for k, value in ends:
            above = next((high for high in named if epochs[-1][side][high] - value < 10), k)
            named.setdefault(above, []).insert(0, f"R@{k}")
        for rank, k in enumerate(epochs[0][side] if epochs else ()):
            values, at = ([one[side][k] for one in epochs], [one["step"] for one in epochs])
            line = {"color": shade, "width": 3 - rank * 0.8, "dash": dash}
            label = ", ".join(named.get(k, ()))
            text = {"text": [*[""] * (len(at) - 1), label], "textposition": "top left", "cliponaxis": False}
            text["mode"] = "lines+markers+text" if side == "i2t" else "lines+markers"
            hover = f"{words}, R@{k} %{{y:.1f}} after step %{{x}}<extra></extra>"
            name = {"name": words, "legendgroup": side, "showlegend": rank == 0}
            figure.add_scatter(x=at, y=values, line=line, hovertemplate=hover, **text, **name, row=1, col=2)
    figure.update_yaxes(title="R@k, %", rangemode="tozero", row=1, col=2)


def _gradients(figure: go.Figure, steps: Sequence[dict[str, Any]]) -> None:
    if not steps:
        return
    counts = np.array([one["gradients"] for one in steps], dtype=float)
    shares = 100 * counts / counts.sum(axis=1, keepdims=True)
    used = np.flatnonzero(shares.max(axis=0) > 0.05)
    low, high = int(used.min()), int(used.max()) + 1
    figure.add_heatmap(
        x=[one["step"] for one in steps],
        y=np.arange(low, high) + SMALLEST,
        z=shares[:, low:high].T,
        colorscale=[[0, "#FFFFFF"], [1, BLUE]],
        showscale=False,
        hovertemplate="step %{x}: %{z:.1f} % below 2<sup>%{y}</sup><extra></extra>",
        row=2,
        col=1,
    )
    figure.update_yaxes(title="power of two", row=2, col=1)


def _cosines(figure: go.Figure, steps: Sequence[dict[str, Any]]) -> None:
    for name, words, shade in (("positive", "positives", MATCH), ("negative", "negatives", MISMATCH)):
        if not steps:
            continue
        at = [one["step"] for one in steps]
        low, middle, high = _quantiles(np.array([one["cosines"][name] for one in steps]), (0.1, 0.5, 0.9))
        band = {"fill": "toself", "fillcolor": translucent(shade, 0.18), "mode": "none", "hoverinfo": "skip"}
        there = {"row": 2, "col": 2, "legendgroup": name}
        figure.add_scatter(x=[*at, *at[::-1]], y=[*high, *low[::-1]], showlegend=False, **band, **there)
        hover = f"{words}: median %{{y:.2f}} at step %{{x}}<extra></extra>"
        figure.add_scatter(x=at, y=middle, name=words, line={"color": shade}, hovertemplate=hover, **there)
    figure.update_yaxes(title="cosine", row=2, col=2)


def _quantiles(counts: Int[ndarray, "step bin"], shares: Sequence[float]) -> list[Float[ndarray, "step"]]:
    """The values below which these shares of each step's histogram over [-1, 1] lie, even within a bin.

    >>> _quantiles(np.array([[0, 10, 0, 0]]), (0.5,))
    [array([-0.25])]
    """
    edges = np.linspace(-1, 1, counts.shape[1] + 1)
    below = np.concatenate([np.zeros((len(counts), 1)), np.cumsum(counts, axis=1)], axis=1)
    below = below / below[:, -1:].clip(min=1)
    return [np.array([np.interp(share, row, edges) for row in below]) for share in shares]


def _recipe(figure: go.Figure, run: Run) -> None:
    fields = _fields(run.recipe.to_json())
    cells = [[label(text, width=70) for text in column] for column in zip(*fields, strict=True)]
    shared = {"align": "left", "line": {"color": RULE}, "fill": {"color": "#FFFFFF"}, "font": {"color": INK}}
    header = {"values": ["recipe", "value"], **shared}
    figure.add_table(header=header, cells={"values": cells, "height": 24, **shared}, row=3, col=1)


def _fields(value: Any, name: str = "") -> list[tuple[str, str]]:
    """Every field of a recipe under its whole name, those of the model last."""
    if not isinstance(value, dict) or not value:
        return [(name, str(value))]
    parts = sorted(value.items(), key=lambda part: part[0] == "model")
    return [field for key, part in parts for field in _fields(part, f"{name}.{key}".strip("."))]
