"""Matching scores of captions and of their hardest negatives, by where the negatives come from (TAGS, Figure 1a)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float, Integer
from numpy import ndarray
from plotly.subplots import make_subplots

from ..errors import ItmlabError
from .labels import label
from .theme import GREY, INK, MUTED, PURPLE, VERDICTS, styled, translucent

if TYPE_CHECKING:
    from ..explain.made import Made

LEGEND = (None, 0, 1, -1)
GAP = 0.05  # the paper's solid line: the negative that much below


@dataclass(frozen=True)
class Pairs:
    """A source of negatives: score of each caption, of its negative, and the world's verdict (1, 0, −1 undecided)."""

    positive: Float[ndarray, "pair"]
    negative: Float[ndarray, "pair"]
    verdicts: Integer[ndarray, "pair"] | None = None

    @classmethod
    def of(cls, made: "Made", *, logits: bool = False) -> "Pairs":
        """The hardest negative of each caption that has one, by s or by the logits that models rank by."""
        hardest = made.first(1)
        positive, negative = (values.numpy() for values in (hardest.matched if logits else hardest.scores))
        return cls(positive, negative, None if made.data.world is None else hardest.verdicts.numpy())


def score_scatter(
    sources: Mapping[str, Pairs], *, title: str, subtitle: str = "", score: str = "s", gap: float = GAP
) -> go.Figure:
    """A panel for each source, a dot for each triple: its caption's score across, its negative's upwards.

    On the dotted line both are equal; on the solid one the negative is `gap` below. Above each panel stands the share
    of dots left of the dotted and right of the solid line. Dots have the colour of the world's verdict where known.
    """
    figure = make_subplots(1, len(sources), shared_yaxes=True, horizontal_spacing=0.035)
    values = np.concatenate([np.concatenate([pairs.positive, pairs.negative]) for pairs in sources.values()])
    if not len(values):
        raise ItmlabError("there is no pair to draw", remedy="make negatives of more captions")
    low, high = float(values.min()), float(values.max())
    pad = 0.04 * max(high - low, 1e-6)
    ends = [low - pad, high + pad]
    for column, (name, pairs) in enumerate(sources.items(), start=1):
        _lines(figure, ends, gap, column)
        for verdict, (shade, words) in _verdicts(pairs):
            chosen = np.ones(len(pairs.positive), bool) if verdict is None else pairs.verdicts == verdict
            figure.add_scatter(
                x=pairs.positive[chosen],
                y=pairs.negative[chosen],
                mode="markers",
                name=words,
                legendgroup=words,
                legendrank=LEGEND.index(verdict),
                showlegend=verdict is not None and not any(trace.name == words for trace in figure.data),
                marker={"color": translucent(shade, 0.55), "size": 5.5, "line": {"color": shade, "width": 0.5}},
                hovertemplate="caption %{x:.3f}, negative %{y:.3f}<extra></extra>",
                row=1,
                col=column,
            )
        harder = 100 * float(np.mean(pairs.negative >= pairs.positive))
        easy = 100 * float(np.mean(pairs.negative < pairs.positive - gap))
        axis = "" if column == 1 else str(column)
        place = {"x": 0, "xref": f"x{axis} domain", "xanchor": "left", "y": 1.02, "yref": "paper", "yanchor": "bottom"}
        text = f"<b>{label(name)}</b><br>{harder:.0f} % at least as high<br>{easy:.0f} % more than {gap:g} below"
        figure.add_annotation(**place, text=text, align="left", showarrow=False, font={"size": 13, "color": INK})
    figure.update_xaxes(title=f"{label(score)} of the caption", range=ends, showgrid=True, exponentformat="none")
    figure.update_yaxes(range=ends, exponentformat="none")
    figure.update_yaxes(title=f"{label(score)} of its negative", col=1)
    shown = any(pairs.verdicts is not None for pairs in sources.values())
    figure = styled(figure, title, subtitle, height=540, legend=shown)
    return figure.update_layout(margin_t=figure.layout.margin.t + 66, legend_y=1.21)


def _verdicts(pairs: Pairs) -> list[tuple[int | None, tuple[str, str]]]:
    if pairs.verdicts is None:
        return [(None, (PURPLE, "negatives"))]
    names = {0: "false of the picture: a true negative", 1: "true: a false negative", -1: "undecided"}
    shades = {0: PURPLE, 1: VERDICTS[1][0], -1: GREY}
    return [(verdict, (shades[verdict], names[verdict])) for verdict in (-1, 0, 1) if (pairs.verdicts == verdict).any()]


def _lines(figure: go.Figure, ends: list[float], gap: float, column: int) -> None:
    for below, style in ((0.0, {"dash": "dot", "color": INK}), (gap, {"color": MUTED})):
        line = {"width": 1.5, **style}
        where = {"x0": ends[0] + below, "y0": ends[0], "x1": ends[1], "y1": ends[1] - below}
        figure.add_shape(type="line", **where, line=line, layer="above", row=1, col=column)
