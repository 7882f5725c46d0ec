"""The plots of all studies: the forest plot (dots with intervals), curves, bars, and what is drawn with them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil, isnan
from typing import TYPE_CHECKING, Any

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Bool, Float
from numpy import ndarray
from plotly.subplots import make_subplots

from itmlab.metrics import statistics

from .theme import BLUE, GREY, INK, MUTED, PAPER, VERMILION, colour, label, styled, translucent, whiskers

if TYPE_CHECKING:
    from itmlab.train.comparison import Comparison

LINE = 28  # pixels per row
PRINTED = {"symbol": "diamond", "size": 11, "color": PAPER, "line": {"color": INK, "width": 2}}  # a paper's number
Ends = tuple[float, float, float]  # a value, and the lower and upper end of its interval


# The forest plot: named rows of dots with intervals, in panels side by side.


@dataclass(frozen=True)
class Dot:
    """One value of a row in one panel of the forest plot.

    Args:
        value: where the dot is drawn. NaN draws nothing.
        lower: lower end of the interval; None draws no whisker.
        upper: upper end of the interval.
        shade: colour of dot and whisker.
        text: written to the right of the interval.
        printed: whether the number comes from a paper; it is then drawn as a diamond.
        at: where the text begins, if not at the end of the interval.
    """

    value: float
    lower: float | None = None
    upper: float | None = None
    shade: str = INK
    text: str = ""
    printed: bool = False
    at: float | None = None


# The row's name, and for each panel one dot, several or None. A row without dots is a heading.
Row = tuple[str, Sequence[Dot | Sequence[Dot] | None]]


def interval_rows(
    rows: Sequence[Row],
    *,
    axes: Sequence[Mapping[str, Any]],
    title: str,
    subtitle: str = "",
    panels: Sequence[str] = (),
    across: int | None = None,
) -> go.Figure:
    """Draw a forest plot: rows from top to bottom, and the same rows again in each panel.

    Args:
        rows: names and dots, in order. Rows without dots become bold headings.
        axes: plotly's settings of each panel's x axis. Without a "range" the axis covers all dots and their texts.
        title: the figure's title.
        subtitle: what was measured.
        panels: names of the panels.
        across: panels side by side; more panels go into further lines. Default: all.
    """
    columns = across or len(axes)
    lines = ceil(len(axes) / columns)
    figure = make_subplots(
        lines,
        columns,
        shared_yaxes=True,
        horizontal_spacing=0.06 if columns < 4 else 0.03,
        vertical_spacing=0.3 / lines,
        subplot_titles=[label(name, width=24) for name in panels] or None,
    )
    for column, axis in enumerate(axes):
        place = {"row": column // columns + 1, "col": column % columns + 1}
        drawn: list[Dot] = []
        for height, (_, dots) in enumerate(rows):
            cell = dots[column] if dots else None
            for dot in [cell] if isinstance(cell, Dot) else cell or []:
                if not isnan(dot.value):
                    _draw_dot(figure, dot, height, place)
                    drawn.append(dot)
        figure.update_xaxes(**{"range": _range(drawn), "showgrid": True, **axis}, **place)
    names = [label(name, width=56, lines=2) if any(dots) else f"<b>{label(name)}</b>" for name, dots in rows]
    heights = {"tickvals": list(range(len(rows))), "ticktext": names, "range": [len(rows) - 0.4, -0.6]}
    figure.update_yaxes(**heights, showgrid=False, zeroline=False)
    figure.update_annotations(font={"size": 14, "color": MUTED})
    height = 190 + LINE * len(rows) + (lines - 1) * (120 + LINE * len(rows))
    figure = styled(figure, title, subtitle, height=height, legend=False)
    return figure.update_layout(margin_t=figure.layout.margin.t + (26 if panels else 6))


def _draw_dot(figure: go.Figure, dot: Dot, height: int, place: Mapping[str, int]) -> None:
    error = None
    if dot.lower is not None and dot.upper is not None:
        error = whiskers([dot.value], [dot.lower], [dot.upper], dot.shade, thickness=2, width=4)
    marker = PRINTED if dot.printed else {"size": 11, "color": dot.shade}
    point = {"x": [dot.value], "y": [height], "mode": "markers", "marker": marker, "error_x": error}
    figure.add_scatter(**point, hovertemplate="%{x:.4g}<extra></extra>", **place)
    if dot.text:
        # A trace, not an annotation: on a logarithmic axis an annotation would need the logarithm.
        figure.add_scatter(
            x=[_text_place(dot)],
            y=[height],
            mode="markers+text",
            marker={"size": 14, "opacity": 0},  # keeps the text away from the dot
            text=[label(dot.text)],
            textposition="middle right",
            textfont={"size": 13, "color": INK},
            hoverinfo="skip",
            cliponaxis=False,
            **place,
        )


def _text_place(dot: Dot) -> float:
    return next(value for value in (dot.at, dot.upper, dot.value) if value is not None)


def _range(dots: Sequence[Dot]) -> list[float]:
    """Return an axis that covers dots, intervals and the texts to the right."""
    values = [value for dot in dots for value in (dot.value, dot.lower, dot.upper, dot.at) if value is not None]
    least, most = min(values, default=0.0), max(values, default=1.0)
    room = (most - least) or 1.0
    texts = 0.4 if any(dot.text for dot in dots) else 0.05
    return [least - 0.05 * room, most + texts * room]


def gain_dot(ends: Ends, at: float | None = None) -> Dot:
    """Return a difference as a dot: blue above zero, red below, grey where the interval contains zero."""
    value, lower, upper = ends
    shade = BLUE if lower > 0 else VERMILION if upper < 0 else MUTED
    return Dot(value, lower, upper, shade, f"{round(value, 1) + 0.0:+.1f}".replace("-", "−"), at=at)


def draw_gains(
    gains: Mapping[str, Mapping[str, Mapping[str, Ends]]],
    panels: Mapping[str, str],
    *,
    title: str,
    subtitle: str = "",
    printed: Mapping[str, Mapping[str, float]] | None = None,
) -> go.Figure:
    """Draw differences with their intervals as a forest plot around zero.

    Args:
        gains: `gains[heading][row][column]`. Missing cells stay empty; the heading "" is not written.
        panels: the name of each column to draw, in order.
        title: the figure's title.
        subtitle: what was measured.
        printed: a paper's numbers, `printed[row][column]`, drawn as diamonds.
    """
    printed = printed or {}
    ends = {}
    for column in panels:
        cells = [row[column] for rows in gains.values() for row in rows.values() if column in row]
        values = [row[column] for row in printed.values() if column in row]
        ends[column] = max([0.0, *(cell[2] for cell in cells), *values])  # all texts begin behind the last interval
    rows: list[Row] = []
    for heading, named in gains.items():
        if heading:
            rows.append((heading, []))
        for name, row in named.items():
            numbers = printed.get(name, {})
            cells = []
            for column in panels:
                diamonds = [Dot(numbers[column], printed=True)] if column in numbers else []
                gain = [gain_dot(row[column], at=ends[column])] if column in row else []
                cells.append([*diamonds, *gain, Dot(0.0, shade="rgba(0,0,0,0)")])  # zero is always in sight
            rows.append((name, cells))
    axes = [{"title": "points", "tickangle": 0, "tickfont_size": 11}] * len(panels)
    figure = interval_rows(rows, axes=axes, title=title, subtitle=subtitle, panels=list(panels.values()))
    return figure.update_xaxes(zeroline=True, zerolinecolor=INK, zerolinewidth=1)


def draw_comparison(comparison: "Comparison", *columns: str) -> go.Figure:
    """Draw what `itmlab.compare` measured: each recipe's difference to the baseline, a panel per column.

    Beside a recipe stands the p value of the first column, corrected for everything that is drawn. This is
    `Comparison.figure`.
    """
    chosen = columns or tuple(comparison.shown)
    rows = {
        f"{name} (p {tests[chosen[0]].corrected:.3f})": {
            column: tuple(test.difference) for column, test in tests.items()
        }
        for name, tests in comparison.tests(*chosen).items()
    }
    images, seeds = comparison.images, len(comparison.seeds)
    subtitle = f"{seeds} seeds, {images} pictures; paired 95 % bootstrap over both; p of {chosen[0]} by Holm"
    title = f"Differences to {comparison.baseline}"
    return draw_gains({"": rows}, {name: name for name in chosen}, title=title, subtitle=subtitle)


# Bars: named values, with or without intervals.


def draw_bars(
    bars: Mapping[str, Ends | float],
    *,
    title: str,
    subtitle: str = "",
    axis: str = "%",
    shades: Sequence[str] = (VERMILION,),
    texts: Sequence[str] = (),
) -> go.Figure:
    """Draw one horizontal bar per name, from top to bottom.

    Args:
        bars: a value, or a value with the ends of its interval.
        title: the figure's title.
        subtitle: what was measured.
        axis: title of the value axis.
        shades: colours of the bars, repeated where there are too few.
        texts: what stands behind each bar. Default: its value in percent.
    """
    ends = [(value, value, value) if isinstance(value, int | float) else value for value in bars.values()]
    values, lower, upper = zip(*ends, strict=True) if ends else ((), (), ())
    names = [label(name, width=44, lines=2) for name in bars]
    texts = texts or [f"{value:.1f} %" for value in values]
    figure = go.Figure()
    figure.add_bar(
        x=values,
        y=list(range(len(names))),
        error_x=whiskers(values, lower, upper, "#44546A", thickness=1.5),
        orientation="h",
        marker_color=[shades[index % len(shades)] for index in range(len(names))],
        customdata=names,
        hovertemplate="%{customdata}: %{x:.2f}<extra></extra>",
    )
    for place, (end, text) in enumerate(zip(upper, texts, strict=True)):
        note = {"showarrow": False, "xanchor": "left", "xshift": 8, "font": {"size": 13}}
        figure.add_annotation(x=end, y=place, text=label(text), **note)
    figure.update_xaxes(title=label(axis), range=[0, 1.2 * max(upper, default=1.0)])
    ticks = {"tickvals": list(range(len(names))), "ticktext": names, "range": [len(names) - 0.4, -0.6]}
    figure.update_yaxes(**ticks, showgrid=False)
    return styled(figure, title, subtitle, height=150 + 38 * len(names), legend=False)


# Curves: values over an axis, in panels side by side.


@dataclass(frozen=True)
class Line:
    """One curve of a panel, where an array of values is not enough.

    Args:
        y: the values.
        x: their places; default: those of the figure.
        lower: lower ends of an interval of each value, drawn as a shaded band.
        upper: upper ends.
        shade: colour; default: the palette's, the same for a name in all panels.
        dash: plotly's dash pattern.
        markers: whether each value is marked.
        width: of the line, in pixels.
        fill: whether the area under the curve is shaded.
    """

    y: Float[ndarray, "point"]
    x: Sequence[float] | None = None
    lower: Float[ndarray, "point"] | None = None
    upper: Float[ndarray, "point"] | None = None
    shade: str | None = None
    dash: str = "solid"
    markers: bool = False
    width: float = 3
    fill: bool = False


def draw_curves(
    panels: Mapping[str, Mapping[str, Line | Float[ndarray, "seed point"]]],
    x: Sequence[float] | None = None,
    *,
    title: str,
    subtitle: str = "",
    axis: str = "epoch",
    wide: Sequence[str] = (),
    across: int | None = None,
) -> go.Figure:
    """Draw named curves in panels.

    Args:
        panels: `panels[panel][curve]`: a `Line`, or values by seed, drawn as their mean with a band over all seeds.
        x: the places of the values; default: 1, 2, ….
        title: the figure's title.
        subtitle: what was measured.
        axis: title of the x axis.
        wide: curves drawn broad, so that a curve on top of them stays visible.
        across: panels side by side; more panels go into further lines. Default: all.
    """
    columns = across or len(panels)
    lines = ceil(len(panels) / columns)
    titles = [label(name) for name in panels]
    gaps = {"horizontal_spacing": 0.11, "vertical_spacing": 0.25 / lines}
    figure = make_subplots(lines, columns, subplot_titles=titles, **gaps)
    names = list(dict.fromkeys(name for curves in panels.values() for name in curves))
    listed: set[str] = set()
    for index, curves in enumerate(panels.values()):
        place = {"row": index // columns + 1, "col": index % columns + 1}
        for name, values in curves.items():
            line = values if isinstance(values, Line) else _over_seeds(values, 9 if name in wide else 3)
            places = x if line.x is None else line.x
            if places is None:
                places = np.arange(1, len(line.y) + 1)
            shade = line.shade or colour(names.index(name))
            _draw_line(figure, name, np.asarray(places), line, shade, name not in listed, place)
            listed.add(name)
    figure.update_xaxes(title=label(axis), row=lines)
    figure.update_yaxes(rangemode="tozero")
    figure = styled(figure, title, subtitle, height=170 + 290 * lines)
    legend_lines = 1 + sum(8 * len(name) + 60 for name in names) // 750  # pixels
    top = figure.layout.margin.t + 26 + 22 * (legend_lines - 1)
    return figure.update_layout(legend_y=1 + 0.1 / lines, margin_t=top)


def _over_seeds(values: Float[ndarray, "seed point"], width: float) -> Line:
    drawn = np.atleast_2d(values)
    ends = (drawn.min(axis=0), drawn.max(axis=0)) if len(drawn) > 1 else (None, None)
    return Line(drawn.mean(axis=0), None, *ends, markers=True, width=width)


def _draw_line(
    figure: go.Figure,
    name: str,
    x: Float[ndarray, "point"],
    line: Line,
    shade: str,
    listed: bool,
    place: Mapping[str, int],
) -> None:
    group = {"legendgroup": label(name), **place}
    if line.lower is not None:  # a band: forth along the upper ends, back along the lower ones
        outline = np.concatenate([line.upper, line.lower[::-1]])
        band = {"fill": "toself", "fillcolor": translucent(shade, 0.15), "line": {"width": 0}, "mode": "lines"}
        figure.add_scatter(x=[*x, *x[::-1]], y=outline, **band, hoverinfo="skip", showlegend=False, **group)
    figure.add_scatter(
        x=x,
        y=line.y,
        name=label(name),
        showlegend=listed,
        mode="lines+markers" if line.markers else "lines",
        line={"color": shade, "width": line.width, "dash": line.dash},
        marker={"size": 7},
        fill="tozeroy" if line.fill else None,
        fillcolor=translucent(shade, 0.08),
        hovertemplate=f"{label(name)}: %{{y:.4g}} at %{{x:.4g}}<extra></extra>",
        **group,
    )


def densities(values: Mapping[str, Float[ndarray, "value"]], bins: int = 80) -> dict[str, Line]:
    """Return the distribution of each kind of values as a curve, each 1 at its highest bin.

    The mean stands beside the name. Kinds without values are flat.
    """
    every = np.concatenate([*values.values(), []])
    low, high = (every.min(), every.max()) if len(every) else (0.0, 1.0)
    edges = np.linspace(low, high + 1e-9, bins + 1)
    middles = (edges[:-1] + edges[1:]) / 2
    curves = {}
    for name, kind in values.items():
        counts = np.histogram(kind, edges)[0]
        mean = f"mean {np.mean(kind):.2f}".replace("-", "−") if len(kind) else "none"
        curves[f"{name} ({len(kind):,}, {mean})"] = Line(counts / max(counts.max(), 1), middles, fill=True)
    return curves


# How well a score separates hidden positives from true negatives, and whether a posterior is calibrated.

DASHED = {"shade": GREY, "dash": "dash", "width": 2}


def roc_curves(
    scores: Mapping[str, Float[ndarray, "pair"]], truth: Bool[ndarray, "pair"], points: int = 100
) -> dict[str, Line]:
    """Return the receiver operating characteristic of each score, with its area beside the name.

    Args:
        scores: a score of every pair, by name.
        truth: whether the pair is true. If all are true or none is, there are no curves.
        points: points of each curve; they are closest where few true negatives are above the threshold.
    """
    from sklearn.metrics import roc_auc_score, roc_curve

    curves = {}
    places = np.linspace(0, 1, points) ** 2
    both = bool(truth.any() and not truth.all())
    for name, values in scores.items() if both else ():
        false, true, _ = roc_curve(truth, values)
        curves[f"{name} (area {roc_auc_score(truth, values):.3f})"] = Line(np.interp(places, false, true), places)
    return curves


class Calibration:
    """Reliability of a posterior in bins of equal width in log-odds.

    Args:
        posterior: claimed probability of every pair.
        truth: whether the pair is true.
        bins: number of bins; empty ones are left out.

    Attributes:
        claimed: mean posterior of each bin.
        share: share of true pairs in it.
        lower, upper: Wilson's 95 % interval of that share.
        count: pairs in the bin.
    """

    EDGE = 1e-4  # the log-odds of 0 and 1 are infinite

    def __init__(self, posterior: Float[ndarray, "pair"], truth: Bool[ndarray, "pair"], bins: int = 14):
        clipped = np.clip(posterior, self.EDGE, 1 - self.EDGE)
        odds = np.log(clipped / (1 - clipped))
        edges = np.linspace(odds.min(), odds.max() + 1e-9, bins + 1) if len(odds) else np.zeros(2)
        bin_of = np.clip(np.digitize(odds, edges) - 1, 0, bins - 1)
        used = np.unique(bin_of)
        self.count = np.array([np.sum(bin_of == index) for index in used])
        self.claimed = np.array([1 / (1 + np.exp(-odds[bin_of == index].mean())) for index in used])
        self.share = np.array([truth[bin_of == index].mean() for index in used])
        self.lower, self.upper = statistics.wilson(self.share, self.count)

    def curves(self) -> dict[str, dict[str, Line]]:
        """Return two panels over the claimed probability: the share that is true, and the pairs of each bin."""
        share = Line(self.share, self.claimed, self.lower, self.upper)
        return {"share that is true": {"measured": share}, "pairs": {"measured": Line(self.count, self.claimed)}}
