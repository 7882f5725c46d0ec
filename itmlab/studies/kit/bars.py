"""Values with intervals and curves by name: rows of dots, bars of shares and recalls, ROC, calibration, training."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isnan
from typing import TYPE_CHECKING, Any

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Bool, Float
from numpy import ndarray
from plotly.subplots import make_subplots

from ...metrics import statistics
from .theme import BLUE, GREY, INK, MUTED, PAPER, POSTERIOR, VERMILION, colour, label, styled, translucent, whiskers

if TYPE_CHECKING:
    from ...runs.comparison import Comparison

LINE = 28  # pixels a row
DASHED = {"color": GREY, "dash": "dash"}  # what would be by chance, or by the book
PRINTED = {"symbol": "diamond", "size": 11, "color": PAPER, "line": {"color": INK, "width": 2}}  # a paper's number


# Named rows of values with intervals, in panels side by side: what several tables are drawn as.


@dataclass(frozen=True)
class Dot:
    """A value of a row in one panel: with an interval, or (`printed`) a number from a paper, drawn as a diamond.

    Its `text` stands behind it, or where `at` says.
    """

    value: float
    lower: float | None = None
    upper: float | None = None
    shade: str = INK
    text: str = ""
    printed: bool = False
    at: float | None = None


# Its name, and a value for each panel or several; without values it is a heading.
Row = tuple[str, Sequence[Dot | Sequence[Dot] | None]]


def interval_rows(
    rows: Sequence[Row],
    *,
    axes: Sequence[Mapping[str, object]],
    title: str,
    subtitle: str = "",
    panels: Sequence[str] = (),
) -> go.Figure:
    """Rows from the top down in as many panels as `axes` (plotly's settings of each x axis) has."""
    titles = [label(name) for name in panels] or None
    figure = make_subplots(1, len(axes), shared_yaxes=True, horizontal_spacing=0.06, subplot_titles=titles)
    for place, (_, dots) in enumerate(rows):
        for column, panel in enumerate(dots, start=1):
            for dot in [panel] if isinstance(panel, Dot) else panel or []:
                if not isnan(dot.value):
                    _draw(figure, dot, place, column)
    names = [label(name) if any(dots) else f"<b>{label(name)}</b>" for name, dots in rows]
    ticks = {"tickvals": list(range(len(rows))), "ticktext": names, "range": [len(rows) - 0.4, -0.6]}
    figure.update_yaxes(**ticks, showgrid=False, zeroline=False)
    for column, axis in enumerate(axes, start=1):
        figure.update_xaxes(showgrid=True, **axis, row=1, col=column)
    figure.update_annotations(selector={"xref": "paper"}, font={"size": 14, "color": MUTED})
    figure = styled(figure, title, subtitle, height=190 + LINE * len(rows), legend=False)
    return figure.update_layout(margin_t=figure.layout.margin.t + (26 if panels else 6))


def _draw(figure: go.Figure, dot: Dot, place: int, column: int) -> None:
    error = None
    if dot.lower is not None and dot.upper is not None:
        error = whiskers([dot.value], [dot.lower], [dot.upper], dot.shade, thickness=2, width=4)
    marker, hover = PRINTED if dot.printed else {"size": 11, "color": dot.shade}, "%{x:.4g}<extra></extra>"
    point = {"x": [dot.value], "y": [place], "mode": "markers", "marker": marker, "error_x": error}
    figure.add_scatter(**point, hovertemplate=hover, row=1, col=column)
    axis = "" if column == 1 else str(column)
    # The text is a trace, not an annotation: of a logarithmic axis an annotation would need the logarithm.
    figure.add_scatter(
        x=[next(value for value in (dot.at, dot.upper, dot.value) if value is not None)],
        y=[place],
        mode="markers+text",
        marker={"size": 14, "opacity": 0},  # for the room that it takes
        **{"text": [label(dot.text)], "textposition": "middle right", "textfont": {"size": 13, "color": INK}},
        **{"hoverinfo": "skip", "cliponaxis": False, "xaxis": f"x{axis}", "yaxis": f"y{axis}"},
    )


def draw_gains(
    gains: Mapping[str, Mapping[str, Mapping[str, tuple[float, float, float]]]],
    panels: Mapping[str, str],
    *,
    title: str,
    subtitle: str = "",
    printed: Mapping[str, Mapping[str, float]] | None = None,
) -> go.Figure:
    """Differences with the ends of their intervals: `gains[heading][row][column]`, a panel for each of `panels`.

    `panels` says what a column is called. An interval on one side of zero is drawn in colour, any other grey; diamonds
    are the numbers that a paper printed for a row, `printed[row][column]`. What is missing is left empty.
    """
    found = [row for rows in gains.values() for row in rows.values()]
    axes, rows, ends = [], [], {}
    for column in panels:
        drawn = [row[column] for row in found if column in row] or [(0.0, 0.0, 0.0)]
        drawn += [(row[column],) * 3 for row in (printed or {}).values() if column in row]
        least, most = min(0.0, *(end[1] for end in drawn)), max(0.0, *(end[2] for end in drawn))
        room = (most - least) or 1.0
        ends[column] = most + 0.02 * room  # behind which the numbers stand
        axes.append({"title": "points", "range": [least - 0.05 * room, most + 0.4 * room]})
    for heading, named in gains.items():
        rows += [(heading, [])] if heading else []
        for name, row in named.items():
            dots = [
                _gain(row.get(column), (printed or {}).get(name, {}).get(column), ends[column]) for column in panels
            ]
            rows.append((name, dots))
    figure = interval_rows(rows, axes=axes, title=title, subtitle=subtitle, panels=list(panels.values()))
    return figure.update_xaxes(zeroline=True, zerolinecolor=INK, zerolinewidth=1, tickangle=0, tickfont_size=11)


def draw_comparison(comparison: "Comparison", *columns: str) -> go.Figure:
    """What `itmlab.compare` found: each recipe's difference to the baseline, a panel for each column (or all shown).

    `Comparison.figure` draws it so. Beside a recipe stands the p of its first column, corrected for all that is drawn.
    """
    wanted = columns or tuple(comparison.shown)
    tested = comparison.tests(*wanted)
    rows = {
        f"{name} (p {row[wanted[0]].corrected:.3f})": {column: tuple(one.difference) for column, one in row.items()}
        for name, row in tested.items()
    }
    images, seeds = len(comparison.captions), len(comparison.seeds)
    subtitle = f"{seeds} seeds, {images} pictures; paired 95 % bootstrap over both; p of {wanted[0]} by Holm"
    title = f"Differences to {comparison.baseline}"
    return draw_gains({"": rows}, {name: name for name in wanted}, title=title, subtitle=subtitle)


def _gain(ends: tuple[float, float, float] | None, printed: float | None, at: float) -> list[Dot]:
    dots = [] if printed is None else [Dot(printed, printed=True)]
    if ends is None:
        return dots
    value, lower, upper = ends
    shade = BLUE if lower > 0 else VERMILION if upper < 0 else MUTED
    return [*dots, Dot(value, lower, upper, shade, f"{round(value, 1) + 0.0:+.1f}".replace("-", "−"), at=at)]


# How many of the negatives that each sampler takes are false: bars of named percentages.


def draw_false_negative_shares(
    shares: Mapping[str, tuple[float, float, float]], *, title: str, subtitle: str = ""
) -> go.Figure:
    """One bar a sampler, in the order given: percentage of false negatives with the ends of its interval."""
    names = [label(name) for name in shares]
    values, lower, upper = zip(*shares.values(), strict=True)
    look = {"orientation": "h", "marker_color": VERMILION, "hovertemplate": "%{y}: %{x:.1f} %<extra></extra>"}
    ends = whiskers(values, lower, upper, "#44546A", thickness=1.5)
    figure = go.Figure(go.Bar(x=values, y=names, error_x=ends, **look))
    for name, value, end in zip(names, values, upper, strict=True):
        figure.add_annotation(x=end, y=name, text=f"{value:.1f} %", showarrow=False, xanchor="left", xshift=8)
    figure.update_xaxes(title="negatives taken that are true, %", range=[0, 1.15 * max(upper)])
    figure.update_yaxes(autorange="reversed", showgrid=False)
    return styled(figure, title, subtitle, height=130 + 52 * len(names), legend=False)


# Recall of several recipes side by side, with intervals, and a paper's numbers where it printed some.

DIRECTIONS = {"i2t": "image → text", "t2i": "text → image"}
WHISKER = {"color": INK, "thickness": 1.4, "width": 4}
ORACLE_LINES = {  # what `metrics.oracle_recall` calls an oracle -> its line
    "truth": ("an oracle that knows what is true, no more", {"color": INK, "width": 2, "dash": "dot"}),
    "specific": ("one that prefers the specific", {"color": MUTED, "width": 2, "dash": "solid"}),
}


def draw_recall_bars(
    recalls: Mapping[str, Mapping[str, Float[ndarray, "measure 3"]]],
    *,
    title: str,
    subtitle: str = "",
    cutoffs: Sequence[int] = (1, 5, 10),
    paper: Mapping[str, Mapping[str, Sequence[float]]] | None = None,
    paper_name: str = "paper",
    oracle: Mapping[str, Mapping[str, Any]] | None = None,
) -> go.Figure:
    """Recall at the cut-offs in percent: a panel a direction ("i2t", "t2i"), a bar a recipe with its interval.

    `recalls[recipe][direction]` holds the value and the interval's lower and upper end for each cut-off (an end that is
    NaN draws no whisker); `paper[recipe][direction]` the printed numbers, drawn as diamonds; `oracle` what oracles
    reach (`metrics.oracle_recall`), drawn as by `draw_oracles`.
    """
    figure = make_subplots(1, 2, subplot_titles=tuple(DIRECTIONS.values()), shared_yaxes=True, horizontal_spacing=0.05)
    names = [f"R@{k}" for k in cutoffs]
    written = {"textposition": "inside", "insidetextanchor": "start", "textangle": 0}
    written |= {"textfont": {"color": PAPER, "size": 12}}
    for column, direction in enumerate(DIRECTIONS, start=1):
        panel = {"x": names, "row": 1, "col": column}
        for index, (recipe, by_direction) in enumerate(recalls.items()):
            value, lower, upper = by_direction[direction].T
            figure.add_bar(
                y=value,
                error_y={"array": upper - value, "arrayminus": value - lower, **WHISKER},
                marker_color=colour(index),
                text=[f"{number:.0f}" for number in value],
                hovertemplate=f"{label(recipe)} %{{x}}: %{{y:.1f}} %<extra></extra>",
                **{"name": label(recipe), "legendgroup": recipe, "offsetgroup": recipe, "showlegend": column == 1},
                **panel,
                **written,
            )
        for place, (recipe, by_direction) in enumerate((paper or {}).items()):
            named = {"name": label(paper_name), "legendgroup": paper_name, "showlegend": column == 1 and place == 0}
            figure.add_scatter(
                y=list(by_direction[direction]),
                offsetgroup=recipe,  # over its recipe's bar
                hovertemplate=f"{label(paper_name)}, {label(recipe)} %{{x}}: %{{y:.1f}} %<extra></extra>",
                **{"mode": "markers", "marker": PRINTED, **named, **panel},
            )
    figure.update_layout(barmode="group", scattermode="group", bargroupgap=0.08)
    figure.update_yaxes(range=[0, 102], title=None)
    figure.update_yaxes(title="recall, %", col=1)
    figure = draw_oracles(styled(figure, title, subtitle, height=500), oracle or {})
    # Many recipes take several lines of legend, which have no room above: below the plot they may take what they need.
    return figure.update_layout(legend={"y": -0.1, "yanchor": "top"}, margin={"t": figure.layout.margin.t, "b": 110})


def draw_oracles(figure: go.Figure, oracle: Mapping[str, Mapping[str, Any]]) -> go.Figure:
    """A figure of `draw_recall_bars`, or a committed one, with a line across each group of bars at an oracle's recall.

    `oracle[kind][direction][k]` is in percent, as `metrics.oracle_recall` has it; cut-offs without bars are left out.
    """
    groups = list(figure.data[0].x)
    for kind, table in oracle.items():
        name, line = ORACLE_LINES[kind]
        for direction, axis in zip(DIRECTIONS, ("x", "x2"), strict=True):  # a committed figure knows no rows, columns
            panel = {"xref": axis, "yref": axis.replace("x", "y")}
            for k, value in table[direction].items():
                if (group := f"R@{k}") not in groups:
                    continue
                middle = groups.index(group)
                listed = {"name": name, "legendgroup": name, "showlegend": axis == "x" and middle == 0}
                ends = {"x0": middle - 0.44, "x1": middle + 0.44, "y0": value, "y1": value}
                figure.add_shape(type="line", **ends, line=line, **listed, **panel)
                below = kind == "truth" or value > 97  # above it stands the panel's name
                place = {"x": middle + 0.44, "xanchor": "right", "y": value, "yanchor": "top" if below else "bottom"}
                font = {"size": 11, "color": line["color"]}
                figure.add_annotation(text=f"{value:.0f}", **place, **panel, showarrow=False, font=font, borderpad=0)
    return figure


# How well a score tells hidden positives from true negatives, whatever threshold one takes.

FEW = 4  # curves whose names stand beside each other


def draw_roc(
    scores: Mapping[str, Float[ndarray, "pair"]],
    truth: Bool[ndarray, "pair"],
    *,
    title: str,
    subtitle: str = "",
    points: int = 400,
) -> go.Figure:
    """One receiver operating characteristic a named score, with its area; the number of pairs stands below the title.

    At most `points` points a curve are kept (evenly along it), so that the figure stays small. A truth without both
    answers has no curve: only the diagonal is drawn.
    """
    from sklearn.metrics import roc_auc_score, roc_curve

    figure = go.Figure()
    figure.add_scatter(x=[0, 1], y=[0, 1], mode="lines", line=DASHED, name="chance", hoverinfo="skip")
    both = bool(truth.any() and not truth.all())
    for index, (name, values) in enumerate(scores.items() if both else ()):
        false, true, _ = roc_curve(truth, values)
        along = np.concatenate([[0], np.cumsum(np.hypot(np.diff(false), np.diff(true)))])
        kept = np.unique(np.searchsorted(along, np.linspace(0, along[-1], points)).clip(0, len(along) - 1))
        look = {"mode": "lines", "line": {"color": colour(index), "width": 3}}
        under = {"fill": "tozeroy" if len(scores) == 1 else None, "fillcolor": translucent(colour(index), 0.08)}
        named = f"{label(name)} (area {roc_auc_score(truth, values):.3f})"
        hover = "%{y:.2f} of the hidden positives at %{x:.3f} of the true negatives<extra></extra>"
        figure.add_scatter(x=false[kept], y=true[kept], name=named, hovertemplate=hover, **look, **under)
    figure.update_xaxes(title="share of true negatives above the threshold", range=[0, 1])
    figure.update_yaxes(title="share of hidden positives above it", range=[0, 1.005])
    counts = f"{int(truth.sum()):,} hidden positives, {int((~truth).sum()):,} true negatives"
    figure = styled(figure, title, f"{subtitle} · {counts}" if subtitle else counts, height=540)
    if len(figure.data) > FEW:  # the legend takes more than its line above: there is room under the curves
        figure.update_layout(legend={"orientation": "v", "x": 0.99, "y": 0.03, "xanchor": "right", "yanchor": "bottom"})
    return figure


# Does a posterior mean what it says? The share of true pairs among those given each probability, against it.

TICKS = (1e-4, 1e-3, 1e-2, 0.1, 0.5, 0.9, 0.99, 0.999)


def draw_calibration(
    posterior: Float[ndarray, "pair"], truth: Bool[ndarray, "pair"], *, title: str, subtitle: str = "", bins: int = 14
) -> go.Figure:
    """Reliability curve on log-odds axes, which give 0.001 and 0.999 the room of 0.5, with counts a bin below.

    Bins are equally wide in log-odds; a point is the share of true pairs in its bin against its mean posterior, with
    Wilson's 95 % interval; shares of 0 and 1 are drawn at the edge of the axis.
    """
    edge = 1e-4  # log-odds of 0 and 1 are infinite
    odds = _log_odds(np.clip(posterior, edge, 1 - edge))
    edges = np.linspace(odds.min(), odds.max() + 1e-9, bins + 1) if len(odds) else np.zeros(2)
    which = np.clip(np.digitize(odds, edges) - 1, 0, bins - 1)
    used = np.unique(which)
    count, hits, mean = (
        np.array([of(which == index) for index in used])
        for of in (np.sum, lambda inside: truth[inside].sum(), lambda inside: odds[inside].mean())
    )
    share = hits / count
    lower, upper = statistics.wilson(share, count)
    shown, low, high = (_log_odds(np.clip(values, edge, 1 - edge)) for values in (share, lower, upper))
    figure = make_subplots(2, 1, shared_xaxes=True, vertical_spacing=0.04, row_heights=[0.74, 0.26])
    measured = {"row": 1, "col": 1}
    ends = [_log_odds(np.array(edge / 2)), _log_odds(np.array(1 - edge / 2))]
    figure.add_scatter(x=ends, y=ends, mode="lines", name="calibrated", line=DASHED, **measured)
    point, line = {"size": 10, "line": {"color": PAPER, "width": 1.5}}, {"color": POSTERIOR, "width": 3}
    figure.add_scatter(
        x=mean,
        y=shown,
        error_y={"array": high - shown, "arrayminus": shown - low, "thickness": 1.6, "width": 4, "color": POSTERIOR},
        **{"name": "measured", "mode": "lines+markers", "line": line, "marker": point},
        customdata=np.stack([1 / (1 + np.exp(-mean)), share, count], axis=-1),
        hovertemplate="P = %{customdata[0]:.3g}: %{customdata[1]:.3g} of %{customdata[2]} pairs true<extra></extra>",
        **measured,
    )
    middles, widths = (edges[used] + edges[used + 1]) / 2, 0.92 * np.diff(edges)[used]
    look = {"marker_color": GREY, "showlegend": False, "hovertemplate": "%{y} pairs<extra></extra>"}
    figure.add_bar(x=middles, y=count, width=widths, **look, row=2, col=1)
    ticks = {"tickvals": _log_odds(np.array(TICKS)), "ticktext": [f"{tick:g}" for tick in TICKS], "range": ends}
    figure.update_xaxes(**ticks)
    figure.update_xaxes(title="posterior probability that the negative matches", row=2)
    figure.update_yaxes(**ticks, title="share that is true", row=1)
    figure.update_yaxes(title="pairs", type="log", dtick=1, tickfont={"color": MUTED}, row=2)
    return styled(figure, title, subtitle, height=600)


def _log_odds(probability: Float[ndarray, "*any"]) -> Float[ndarray, "*any"]:
    return np.log(probability / (1 - probability))


# How something went: curves over epochs or steps in panels side by side, seeds as a band; a training's loss and recall.


def draw_curves(
    panels: Mapping[str, Mapping[str, Float[ndarray, "seed point"]]],
    x: Sequence[float] | None = None,
    *,
    title: str,
    subtitle: str = "",
    axis: str = "epoch",
    wide: Sequence[str] = (),
) -> go.Figure:
    """A panel each with its curves over `x` (1, 2, … unless given): the mean over seeds, lowest to highest shaded.

    A name has one colour in all panels. `wide` are drawn broad, so that what coincides with them is seen on them.
    """
    figure = make_subplots(1, len(panels), subplot_titles=list(map(label, panels)), horizontal_spacing=0.11)
    names = list(dict.fromkeys(name for curves in panels.values() for name in curves))
    listed: set[str] = set()
    for column, curves in enumerate(panels.values(), start=1):
        for name, values in curves.items():
            drawn = np.atleast_2d(values)
            along = np.arange(1, drawn.shape[1] + 1) if x is None else np.asarray(x)
            look = {"showlegend": name not in listed, "line": {"color": colour(names.index(name))}}
            look["line"]["width"] = 9 if name in wide else 3
            _curve(figure, name, along, drawn, column, axis, **look)
            listed.add(name)
    figure.update_xaxes(title=axis, dtick=None, rangemode="tozero")
    figure.update_yaxes(rangemode="tozero")
    figure = styled(figure, title, subtitle, height=460)
    return figure.update_layout(legend_y=1.1, margin_t=figure.layout.margin.t + 26)  # the panels' names need room


def draw_training_curves(
    loss: Mapping[str, Float[ndarray, "seed epoch"]],
    recall: Mapping[str, Float[ndarray, "seed epoch"]],
    *,
    title: str,
    subtitle: str = "",
    measure: str = "R@1, %",
) -> go.Figure:
    """Two panels, loss and `measure` after each epoch: the mean over seeds as a line, lowest to highest as a band.

    Both are by recipe, under the same names; the number of epochs may differ between recipes.
    """
    figure = draw_curves({"training loss": loss, f"validation {measure}": recall}, title=title, subtitle=subtitle)
    figure.update_yaxes(title=label(measure), col=2)
    return figure.update_yaxes(title="loss", rangemode="normal", col=1)


def _curve(
    figure: go.Figure,
    name: str,
    x: Float[ndarray, "point"],
    values: Float[ndarray, "seed point"],
    column: int,
    axis: str,
    **look: Any,
) -> None:
    shared = {"legendgroup": name, "row": 1, "col": column}
    if len(values) > 1:  # there along the highest, back along the lowest
        across = np.concatenate([x, x[::-1]])
        up = np.concatenate([values.max(axis=0), values.min(axis=0)[::-1]])
        band = {"fill": "toself", "fillcolor": translucent(look["line"]["color"], 0.18), "line": {"width": 0}}
        figure.add_scatter(x=across, y=up, mode="lines", **band, hoverinfo="skip", showlegend=False, **shared)
    hover = f"{label(name)}: %{{y:.4g}} after {axis} %{{x}}<extra></extra>"
    look |= {"mode": "lines+markers", "marker": {"size": 6}, "name": label(name), "hovertemplate": hover}
    figure.add_scatter(x=x, y=values.mean(axis=0), **look, **shared)
