"""Figures of FNE (Li et al., 2023): where the probability of a false negative comes from, and an anchor's negatives."""

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float, Integer
from numpy import ndarray
from PIL import Image

from ..analysis.false_negatives import Curves, Judgement
from . import theme
from .canvas import draw_table
from .charts import CLEAR, Line, draw_curves
from .theme import translucent


def draw_false_negative_probability(
    curves: Curves,
    positive_scores: Float[ndarray, "pair"],
    negative_scores: Float[ndarray, "negative"],
    *,
    title: str = "",
    subtitle: str = "",
    judged: Judgement | None = None,
) -> go.Figure:
    """Draw densities, posterior and sampling weight over one axis of similarity.

    The regions "easy", "hard" and "false negatives" are shaded: below the threshold λ, up to a posterior of one half,
    and above it.

    Args:
        curves: the three functions.
        positive_scores: observed scores of positives, drawn as a histogram.
        negative_scores: observed scores of negatives.
        title: the figure's title.
        subtitle: the settings.
        judged: one anchor's negatives, points on the sampling weight; those that the sampler drew are ringed.

    References:
        Li et al. (2023), Figure 2, and Eqs. 5, 9 and 13.
    """
    x = curves.similarity
    panels = {
        "density": {
            "observed positives": _histogram(positive_scores, x, theme.MATCH),
            "observed negatives": _histogram(negative_scores, x, theme.MISMATCH),
            "positives": Line(curves.match, x, shade=theme.MATCH),
            "negatives": Line(curves.mismatch, x, shade=theme.MISMATCH),
        },
        "P(match | s)": {
            "posterior": Line(curves.monotone, x, shade=theme.POSTERIOR),
            "raw posterior": Line(curves.raw, x, shade=theme.INK, dash="dot", width=1.8),
        },
        "sampling weight": {"sampling weight": Line(curves.weight, x, shade=theme.WEIGHT)},
    }
    figure = draw_curves(panels, title=title, subtitle=subtitle, axis="similarity to the anchor", across=1)
    if judged is not None:
        _draw_candidates(figure, judged)
    dashed = {"width": 1.5, "dash": "dash"}
    figure.add_hline(curves.threshold, line={"color": theme.ORANGE, **dashed}, annotation_text="λ", row=2, col=1)
    figure.add_vline(curves.positive_score, line={"color": theme.MATCH, **dashed}, annotation_text="s⁺", row=3, col=1)
    low, high = float(x[0]), float(x[-1])
    ends = [low, _crossing(curves, curves.threshold), _crossing(curves, 0.5), high]
    ends[2] = max(ends[1:3])
    regions = (("easy", theme.GREY), ("hard", theme.WEIGHT), ("false negatives", theme.POSTERIOR))
    for (name, shade), left, right in zip(regions, ends[:-1], ends[1:], strict=True):
        look = {"fillcolor": translucent(shade, 0.1), "line_width": 0, "layer": "below"}
        wide = right - left > 0.16 * (high - low)
        for row in (1, 2, 3):
            figure.add_vrect(left, right, annotation_text=name if wide and row == 1 else "", **look, row=row, col=1)
    figure.update_xaxes(range=[low, high])
    return figure.update_layout(height=820)


def _histogram(observed: Float[ndarray, "score"], x: Float[ndarray, "point"], shade: str) -> Line:
    counts, edges = np.histogram(observed, np.linspace(x[0], x[-1], 81))
    density = counts / (max(len(observed), 1) * (edges[1] - edges[0]))
    return Line(density, (edges[:-1] + edges[1:]) / 2, shade=shade, width=0.8, fill=True)


def _draw_candidates(figure: go.Figure, judged: Judgement) -> None:
    labels = np.full(len(judged.score), -1) if judged.truth_label is None else judged.truth_label
    place = {"mode": "markers", "row": 3, "col": 1}
    hover = "candidate %{customdata}: s = %{x:.3f}, weight %{y:.3f}<extra></extra>"
    for truth_label, (shade, name) in theme.TRUTH_LABELS.items():
        among = np.flatnonzero(labels == truth_label)
        points = {"x": judged.score[among], "y": judged.weight[among], "customdata": among, "hovertemplate": hover}
        marker = {"size": 7, "color": shade, "opacity": 0.8}
        figure.add_scatter(**points, name=name, marker=marker, showlegend=bool(len(among)), **place)
    ringed = np.flatnonzero(judged.drawn)
    ring = {"size": 14, "color": CLEAR, "line": {"color": theme.INK, "width": 2}}
    points = {"x": judged.score[ringed], "y": judged.weight[ringed], "hoverinfo": "skip"}
    figure.add_scatter(**points, name="drawn", marker=ring, **place)


def _crossing(curves: Curves, level: float) -> float:
    """Return the lowest similarity from which the monotone posterior is at least `level`."""
    reached = np.flatnonzero(curves.monotone >= level)
    return float(curves.similarity[reached[0] if len(reached) else -1])


# The negatives of one anchor, each with its probability of being false (Figure 6).


def draw_negative_captions(
    picture: Image.Image,
    own_captions: Sequence[str],
    captions: Sequence[str],
    posteriors: Float[ndarray, "negative"],
    *,
    weights: Float[ndarray, "negative"],
    drawn: Integer[ndarray, "negative"],
    truth_labels: Integer[ndarray, "negative"] | None = None,
    title: str = "",
) -> go.Figure:
    """Draw an anchor picture with its captions, and beside it its negative captions as a table.

    Args:
        picture: the anchor.
        own_captions: captions annotated for it.
        captions: negatives, in the order of rows.
        posteriors: the probability that each is a false negative.
        weights: sampling weights.
        drawn: how often the sampler drew each; rows that were drawn are set off.
        truth_labels: 1 true, 0 false, -1 undecided.
        title: the figure's title.
    """
    columns = {
        "negative": captions,
        "P(false)": [percent(float(value)) for value in posteriors],
        "weight": [f"{value:.2f}" for value in weights],
        "drawn": [f"{count} ×" if count else "" for count in drawn],
    }
    if truth_labels is not None:
        labels = (theme.TRUTH_LABELS[int(truth)] for truth in truth_labels)
        columns["world"] = [(name, shade) for shade, name in labels]
    ground = [theme.PANEL if count else theme.PAPER for count in drawn]
    look = {"fills": dict.fromkeys(columns, ground), "picture": picture, "beside": own_captions}
    return draw_table(columns, title=title, widths=[4.0] + [1.3] * (len(columns) - 1), **look)


def percent(probability: float) -> str:
    """Write a probability in percent with two significant digits.

    >>> [percent(value) for value in (0.834, 0.0617, 0.0023, 0.00001)]
    ['83 %', '6.2 %', '0.23 %', '< 0.01 %']
    """
    value = 100 * probability
    if value < 0.01:
        return "< 0.01 %"
    digits = 2 if value < 1 else int(value < 10)
    return f"{value:.{digits}f} %"
