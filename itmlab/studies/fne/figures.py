"""Figures of FNE (Li et al. 2023): where a negative's probability of being false comes from (Fig. 2), the negatives of
one anchor with the world's truth label (Fig. 6), how much truth nobody annotated, and recipes compared by the truth.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float, Integer
from numpy import ndarray
from PIL import Image
from plotly.subplots import make_subplots

from ..kit import theme
from ..kit.bars import Dot, Row, interval_rows
from ..kit.canvas import Canvas, data_uri, draw_gallery
from ..kit.theme import colour, fitted, label, styled, translucent

if TYPE_CHECKING:
    from ...training.comparison import Comparison
    from .analysis import Curves, GainByDensity


REGIONS = (("easy", theme.GREY), ("hard", theme.WEIGHT), ("false negatives", theme.POSTERIOR))
SHOWN = 400  # candidates drawn at most, the best-scoring


def draw_false_negative_probability(
    curves: "Curves",
    positive_scores: Float[ndarray, "pair"],
    negative_scores: Float[ndarray, "negative"],
    *,
    title: str,
    subtitle: str = "",
    scores: Float[ndarray, "candidate"] | None = None,
    weights: Float[ndarray, "candidate"] | None = None,
    truth_labels: Integer[ndarray, "candidate"] | None = None,
    drawn: Sequence[int] = (),
) -> go.Figure:
    """Three panels over one axis of similarity, the regions easy, hard and false negative shaded behind them.

    Top: histograms of observed positives and negatives and the two normals fitted to them, μ marked, σ as a bar.
    Middle: posterior, raw (Eq. 9, dashed) and monotone. Bottom: sampling weight (Eq. 13), s⁺ marked; with `scores`,
    `weights` and `truth_labels` (1 true, 0 false, −1 undecided) one anchor's candidates on it, those `drawn` ringed.
    The number of traces does not depend on the values, so that a widget can update them in place.
    """
    figure = make_subplots(3, 1, shared_xaxes=True, vertical_spacing=0.035, row_heights=[0.42, 0.29, 0.29])
    x = curves.similarity
    low, high = float(x[0]), float(x[-1])
    top = _densities(figure, curves, positive_scores, negative_scores)
    _line(figure, x, curves.monotone, "posterior", {"color": theme.POSTERIOR, "width": 3.2}, row=2)
    _line(figure, x, curves.raw, "raw posterior", {"color": theme.INK, "width": 1.8, "dash": "dot"}, row=2)
    _line(figure, x, curves.weight, "sampling weight", {"color": theme.WEIGHT, "width": 3.2}, row=3)
    _candidates(figure, scores, weights, truth_labels, drawn)
    shapes, notes = _regions(curves, low, high)
    at, dashed = curves.positive_score, {"color": theme.MATCH, "width": 1.5, "dash": "dash"}
    shapes.append(
        {"type": "line", "xref": "x", "yref": "y3 domain", "x0": at, "x1": at, "y0": 0, "y1": 1, "line": dashed}
    )
    place = {"x": at, "xref": "x", "y": 0.04, "yref": "y3 domain", "xanchor": "left", "xshift": 3, "yanchor": "bottom"}
    notes.append({"text": "s⁺", **place, "showarrow": False, "font": {"color": theme.MATCH}})
    figure.update_layout(shapes=shapes, annotations=notes)  # at once: plotly copies all of them for each one added
    figure.update_xaxes(range=[low, high], showline=False, ticks="")
    figure.update_xaxes(title="similarity to the anchor", row=3, showline=True, ticks="outside")
    figure.update_yaxes(title="density", range=[0, top], showticklabels=False, showgrid=False, row=1)
    figure.update_yaxes(title="P(match | s)", range=[-0.03, 1.08], tickvals=[0, 0.5, 1], row=2)
    figure.update_yaxes(title="weight", range=[-0.03, 1.12], tickvals=[0, 0.5, 1], row=3)
    figure = styled(figure, title, subtitle, height=680)
    return figure.update_layout(legend_y=1.01, bargap=0, barmode="overlay", margin_t=figure.layout.margin.t + 8)


def _densities(
    figure: go.Figure,
    curves: "Curves",
    positive_scores: Float[ndarray, "pair"],
    negative_scores: Float[ndarray, "negative"],
) -> float:
    """Histograms, normals and their μ ± σ in the top panel; returns the panel's height in density."""
    edges = np.linspace(curves.similarity[0], curves.similarity[-1], 81)
    centres, width = (edges[:-1] + edges[1:]) / 2, edges[1] - edges[0]
    top, panel = 1e-9, {"row": 1, "col": 1}
    kinds = (
        (positive_scores, curves.match, "positives", theme.MATCH),
        (negative_scores, curves.mismatch, "negatives", theme.MISMATCH),
    )
    for index, (observed, density, name, shade) in enumerate(kinds):
        counts = np.histogram(observed, edges)[0] / (max(len(observed), 1) * width)
        top = max(top, float(counts.max()), float(density.max()))
        bars = {"color": translucent(shade, 0.28), "line": {"width": 0}}
        figure.add_bar(x=centres, y=counts, width=width, marker=bars, showlegend=False, hoverinfo="skip", **panel)
        _line(figure, curves.similarity, density, name, {"color": shade, "width": 3}, row=1)
        mean, std = curves.means[index], curves.stds[index]
        figure.add_scatter(
            x=[mean],
            y=[0],
            error_x={"array": [std], "color": shade, "thickness": 3, "width": 0},
            mode="markers",
            marker={"size": 11, "color": theme.PAPER, "line": {"color": shade, "width": 3}},
            cliponaxis=False,
            showlegend=False,
            hovertemplate=f"{name}: μ = {mean:.3f}, σ = {std:.3f}<extra></extra>",
            **panel,
        )
    return 1.2 * top


def _line(figure: go.Figure, x: Sequence[float], y: Sequence[float], name: str, line: dict, row: int) -> None:
    listed = name not in ("posterior", "sampling weight")  # the axes name these
    look = {"mode": "lines", "line": line, "showlegend": listed}
    hover = f"{name} %{{y:.3g}} at %{{x:.3f}}<extra></extra>"
    figure.add_scatter(x=x, y=y, name=name, hovertemplate=hover, **look, row=row, col=1)


def _candidates(
    figure: go.Figure,
    scores: Float[ndarray, "candidate"] | None,
    weights: Float[ndarray, "candidate"] | None,
    truth_labels: Integer[ndarray, "candidate"] | None,
    drawn: Sequence[int],
) -> None:
    """One trace a truth label and one for the drawn negatives, empty when there is nothing to draw."""
    panel = {"mode": "markers", "row": 3, "col": 1}
    if scores is None or weights is None:
        scores = weights = np.zeros(0)
    best = np.argsort(-scores, kind="stable")[:SHOWN]
    said = np.full(len(scores), -1) if truth_labels is None else truth_labels
    for truth_label, (shade, name) in theme.TRUTH_LABELS.items():
        among = best[said[best] == truth_label]
        figure.add_scatter(
            x=scores[among],
            y=weights[among],
            name="negative" if truth_labels is None else name.split(" ", 1)[1],  # without its sign
            marker={"size": 7, "color": shade, "opacity": 0.8},
            showlegend=bool(len(among)),
            customdata=among,
            hovertemplate="candidate %{customdata}: s = %{x:.3f}, weight %{y:.3f}<extra></extra>",
            **panel,
        )
    chosen = np.unique(np.asarray(drawn, dtype=int))
    ring, there = {"size": 14, "color": "rgba(0,0,0,0)", "line": {"color": theme.INK, "width": 2}}, bool(len(chosen))
    x, y = scores[chosen], weights[chosen]
    figure.add_scatter(x=x, y=y, name="drawn", marker=ring, showlegend=there, hoverinfo="skip", **panel)


def _regions(curves: "Curves", low: float, high: float) -> tuple[list[dict], list[dict]]:
    """Shapes and notes: where the posterior is under the threshold, up to one half, above: always three bands."""
    shapes, notes = [], []
    ends = [_crossing(curves, curves.threshold, high), _crossing(curves, 0.5, high)]
    ends = [low, ends[0], max(ends), high]
    for (name, shade), left, right in zip(REGIONS, ends[:-1], ends[1:], strict=True):
        tint = translucent(shade, 0.08 if shade == theme.GREY else 0.11)
        area = {"fillcolor": tint, "line": {"width": 0}, "layer": "below"}
        shapes.append({"type": "rect", "xref": "x", "yref": "paper", "x0": left, "x1": right, "y0": 0, "y1": 1, **area})
        share = (right - left) / (high - low)
        words = name.replace(" ", "<br>") if share < 0.16 else name
        at = {"x": (left + right) / 2, "xref": "x", "y": 1, "yref": "paper", "yanchor": "top", "showarrow": False}
        font = {"size": 13, "color": theme.MUTED if shade == theme.GREY else shade}
        notes.append({"text": f"<i>{words}</i>" if share > 0.04 else "", **at, "font": font})
    across = {"xref": "x domain", "yref": "y2"}
    dashed, level = {"color": theme.ORANGE, "width": 1.5, "dash": "dash"}, curves.threshold
    shapes.append({"type": "line", **across, "x0": 0, "x1": 1, "y0": level, "y1": level, "line": dashed})
    place = {**across, "x": 0, "y": level, "xanchor": "left", "yanchor": "bottom", "showarrow": False}
    notes.append({"text": f"λ = {level:g}", **place, "font": {"size": 12, "color": theme.MUTED}})
    return shapes, notes


def _crossing(curves: "Curves", level: float, otherwise: float) -> float:
    """The lowest similarity from which the monotone posterior is at least `level`."""
    reached = np.flatnonzero(curves.monotone >= level)
    return float(curves.similarity[reached[0]]) if len(reached) else otherwise


# The negatives of one anchor, each with its probability of being false and the world's truth label (FNE, Fig. 6).

ROW, LINES = 56, 8  # pixels that a negative takes at least, lines that a caption takes at most


def draw_negative_captions(
    picture: Image.Image,
    own_captions: Sequence[str],
    captions: Sequence[str],
    posteriors: Float[ndarray, "negative"],
    *,
    title: str,
    subtitle: str = "",
    weights: Float[ndarray, "negative"] | None = None,
    truth_labels: Integer[ndarray, "negative"] | None = None,
    drawn: Integer[ndarray, "negative"] | None = None,
) -> go.Figure:
    """An anchor picture with its own captions, beside it negative captions as rows in the order given.

    A row shows the posterior as a bar, the sampling weight, the truth label (1 true, 0 false, −1 undecided) and how
    often the sampler has `drawn` it; a negative that was drawn has a dark rim.
    """
    side, anchor = 16, 250
    canvas = Canvas()
    canvas.picture(data_uri(picture), side, 0, anchor, anchor)
    canvas.words("<b>its own captions</b>", side, anchor + 10, size=13, colour=theme.MUTED)
    below = anchor + 32
    for caption in own_captions:
        text = fitted(caption, 13, anchor, lines=LINES)
        canvas.words(text, side, below, size=13)
        below += 18 * (text.count("<br>") + 1) + 6
    left, right = side + anchor + 30, theme.WIDTH - side
    bar = right - (180 if truth_labels is None and weights is None else 290)
    canvas.words("negative", left + 10, 0, size=13, colour=theme.MUTED)
    canvas.words("false-negative probability", bar, 0, size=13, colour=theme.MUTED)
    if truth_labels is not None:
        canvas.words("the world says", right, 0, size=13, colour=theme.MUTED, across="right")
    top = 26
    for index, caption in enumerate(captions):
        text = fitted(caption, 13, bar - left - 24, lines=LINES)
        row = max(ROW, 18 * (text.count("<br>") + 1) + 20)
        middle = top + (row - 6) / 2
        taken = drawn is not None and drawn[index] > 0
        rim = {"color": theme.INK if taken else theme.RULE, "width": 2 if taken else 1}
        canvas.rectangle(left, top, right + 6 - left, row - 6, fillcolor=theme.PANEL, line=rim, layer="below")
        canvas.words(text, left + 10, middle, size=13, down="middle")
        _bar(canvas, float(posteriors[index]), bar, middle - (7 if weights is not None else 0), 120)
        if weights is not None:
            note = f"weight {weights[index]:.2f}" + (f" · <b>drawn {drawn[index]} ×</b>" if taken else "")
            canvas.words(note, bar, middle + 12, size=12, colour=theme.INK if taken else theme.MUTED, down="middle")
        if truth_labels is not None:
            shade, said = theme.TRUTH_LABELS[int(truth_labels[index])]
            canvas.words(f"<b>{said}</b>", right, middle, size=13, colour=shade, across="right", down="middle")
        top += row
    return canvas.figure(title, subtitle, height=max(top + 8, below + 8))


def draw_negative_pictures(
    caption: str,
    pictures: Sequence[Image.Image],
    posteriors: Float[ndarray, "negative"],
    *,
    title: str,
    weights: Float[ndarray, "negative"] | None = None,
    truth_labels: Integer[ndarray, "negative"] | None = None,
    drawn: Integer[ndarray, "negative"] | None = None,
    columns: int = 5,
) -> go.Figure:
    """Negative pictures of an anchor caption in the order given, framed in the colour of the world's truth label."""
    notes = []
    for index, posterior in enumerate(posteriors):
        lines = [f"false negative: {percent(float(posterior))}"]
        if weights is not None:
            times = f", {drawn[index]}× drawn" if drawn is not None and drawn[index] else ""
            lines.append(f"weight {weights[index]:.2f}{times}")
        notes.append(lines)
    said = None if truth_labels is None else [theme.TRUTH_LABELS[int(truth_label)] for truth_label in truth_labels]
    return draw_gallery(
        pictures,
        notes,
        title=title,
        subtitle=f"anchor: “{caption}”",
        columns=columns,
        frames=said and [shade for shade, _ in said],
        badges=said and [words for _, words in said],
    )


def percent(probability: float) -> str:
    """A probability in percent, with digits where they tell something.

    >>> [percent(value) for value in (0.834, 0.0617, 0.0023, 0.00001)]
    ['83 %', '6.2 %', '0.23 %', '< 0.01 %']
    """
    value = 100 * probability
    if value < 0.01:
        return "< 0.01 %"
    return f"{value:.2f} %" if value < 1 else f"{value:.1f} %" if value < 10 else f"{value:.0f} %"


def _bar(canvas: Canvas, probability: float, x: float, y: float, width: float) -> None:
    for length, shade in ((width, theme.RULE), (width * probability, theme.POSTERIOR)):
        canvas.rectangle(x, y - 5, length, 10, fillcolor=shade, line={"width": 0})
    canvas.words(f"<b>{percent(probability)}</b>", x + width + 8, y, size=13, down="middle")


# How much truth nobody annotated: true images per caption, and the share of unannotated true pairs by the knob.


def draw_true_images(true: Integer[ndarray, "caption"], *, title: str, subtitle: str = "") -> go.Figure:
    """Share of captions (%) by the number of images that they are true of; one image is the annotated one.

    Numbers are gathered into steps that double (1, 2, 3–4, 5–8, …).
    """
    step = np.ceil(np.log2(np.maximum(true, 1))).astype(int)
    share = 100 * np.bincount(step) / len(step)
    edges = [2**power for power in range(len(share))]
    names = [f"{edge // 2 + 1}–{edge}" if edge > 2 else str(edge) for edge in edges]
    names[0] = "1: its own only"
    shades = [theme.BLUE] + [theme.VERMILION] * (len(edges) - 1)
    said = [f"{value:.1f} %" if value < 10 else f"{value:.0f} %" for value in share]
    look = {"text": said, "textposition": "outside", "cliponaxis": False, "marker_color": shades}
    figure = go.Figure().add_bar(
        x=names, y=share, hovertemplate="%{x} images: %{y:.1f} % of captions<extra></extra>", **look
    )
    figure.update_xaxes(title="images that the caption is true of", type="category")
    figure.update_yaxes(title="captions, %", range=[0, 1.12 * share.max()])
    return styled(figure, title, subtitle, height=430, legend=False)


def draw_truth_by_knob(
    knob: Sequence[float], shares: Mapping[str, Float[Sequence, "setting"]], *, title: str, subtitle: str = ""
) -> go.Figure:
    """Percentages against the setting of the knob, one named line each."""
    figure = go.Figure()
    for index, (name, share) in enumerate(shares.items()):
        line = {"mode": "lines+markers+text", "line": {"color": colour(index), "width": 3}, "marker": {"size": 9}}
        figure.add_scatter(
            x=list(knob),
            y=list(share),
            name=label(name),
            **{"text": [f"{value:.2g}" for value in share], "textposition": "top center", "cliponaxis": False},
            textfont={"color": theme.MUTED, "size": 12},
            hovertemplate="%{y:.2f} % at %{x}<extra></extra>",
            **line,
        )
    figure.update_xaxes(title="knob")
    figure.update_yaxes(title="share, %", rangemode="tozero")
    return styled(figure, title, subtitle, height=430, legend=len(shares) > 1)


# Recipes judged by the truth, beside their recall; and where elimination helps.

TRUTH_PANELS = {  # column of `Comparison` -> the panel's name
    "RSum, % of oracle (specific)": "RSum, of an oracle’s",
    "i2t mAP@R": "mAP@R, image → text",
    "t2i mAP@R": "mAP@R, text → image",
    "i2t unannotated@1": "first: true, unannotated",
}


def draw_by_truth(comparison: "Comparison", *, title: str, subtitle: str = "") -> go.Figure:
    """A row a recipe of a comparison with `truth=True`: RSum as a share of an oracle's beside what the truth says.

    mAP@R is against all that is true; last, how often what stands first for a picture is true but not annotated, which
    recall counts as wrong. Intervals are the comparison's.
    """
    found = {recipe: comparison.intervals(recipe) for recipe in comparison.labels}
    axes = []
    for column in TRUTH_PANELS:
        most = max(row[column][2] for row in found.values())
        axes.append({"title": "%", "range": [0, 1.45 * most]})
    rows: list[Row] = []
    for index, (recipe, row) in enumerate(found.items()):
        shown = (row[column] for column in TRUTH_PANELS)
        rows.append((recipe, [Dot(*ends, colour(index), f"{ends[0]:.1f}") for ends in shown]))
    return interval_rows(rows, axes=axes, title=title, subtitle=subtitle, panels=list(TRUTH_PANELS.values()))


def draw_gain_by_density(
    maps: "Mapping[str, GainByDensity]", *, title: str, subtitle: str = "", setting: str = "memory, pairs"
) -> go.Figure:
    """Where a method helps: a panel a measure, a cell a density of false negatives and another `setting`, named so.

    A cell has the gain in points and its interval, bold where that is on one side of zero. Blue is gain, vermilion
    loss, on a scale of each panel's own; what was not compared is left white.
    """
    names = [label(name) for name in maps]
    narrow = sum(len(found.density) for found in maps.values()) > 9  # cells side by side: the ends under each other
    figure = make_subplots(1, len(maps), subplot_titles=names, shared_yaxes=True, horizontal_spacing=0.03)
    for column, found in enumerate(maps.values(), start=1):
        value, lower, upper = np.moveaxis(found.gain, -1, 0).transpose(0, 2, 1)  # a row a setting
        most = float(np.nanmax(np.abs(value), initial=0)) or 1.0
        decided, written = (lower > 0) | (upper < 0), np.full(value.shape, "", dtype=object)
        for cell in np.argwhere(~np.isnan(value)):
            middle, low, high = (f"{each[*cell]:+.1f}".replace("-", "−") for each in (value, lower, upper))
            middle = f"<b>{middle}</b>" if decided[*cell] else middle
            ends = f"{low}<br>{high}" if narrow else f"{low} … {high}"
            written[*cell] = f'{middle}<br><span style="font-size:10px">{ends}</span>'
        figure.add_heatmap(
            x=[f"{density:.2g}" for density in found.density],
            y=[f"{each:,g}" for each in found.setting],
            z=value,
            **{"zmin": -most, "zmax": most, "showscale": False, "xgap": 2, "ygap": 2},
            colorscale=[[0, theme.VERMILION], [0.5, theme.PAPER], [1, theme.SKY]],
            **{"text": written, "texttemplate": "%{text}", "textfont": {"size": 13, "color": theme.INK}},
            hovertemplate=f"%{{x}} % of pairs, {label(setting)} %{{y}}: %{{z:+.2f}}<extra></extra>",
            row=1,
            col=column,
        )
    figure.update_xaxes(title="% of pairs true, unannotated", type="category")
    figure.update_yaxes(type="category", showgrid=False)
    figure.update_yaxes(title=label(setting), col=1)
    figure = styled(
        figure,
        title,
        subtitle,
        height=190 + (70 if narrow else 56) * max(len(found.setting) for found in maps.values()),
        legend=False,
    )
    return figure.update_layout(margin_t=figure.layout.margin.t + 26)
