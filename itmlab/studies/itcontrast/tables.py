"""Figures of sweeps and tables: SynHNC over σ or m, InfoCMR's denominator over τ, Tables 3 and 4 beside the printed.

Wu et al. (2023), ITContrast (METHODS 4.3).
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import log10
from typing import TYPE_CHECKING, Literal

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float
from numpy import ndarray
from plotly.subplots import make_subplots

from ...errors import ItmlabError
from ..kit import theme
from ..kit.bars import Dot, Row, interval_rows
from ..kit.theme import label, styled, translucent
from .sweeps import TERMS, MemorySweep, Terms

if TYPE_CHECKING:  # the rooms of training are not needed to look at one anchor
    from ...training.comparison import Comparison

# What becomes of synthetic negatives over a parameter of SynHNC: how hard, of how many prototypes, how long.

SWEEP_NAMES = {"least_squares": ("least squares", theme.BLUE), "identity": ("identity", theme.ORANGE)}
WIDTHS = {theme.BLUE: 4.5, theme.ORANGE: 2}  # where the two coincide both are seen
NOTES = {  # what the lines of the lower panels are, above each panel
    "y2": "line: harder than any real negative · dots: nearer than the match",
    "y3": "length of what is recalled, before it is scaled to 1",
    "y4": "prototypes of a cluster that share the kernel weights",
}
AXES = {"sigma": "width σ of the kernel", "clusters": "clusters m"}


def draw_memory_sweep(sweep: MemorySweep, *, title: str, subtitle: str = "", paper: float | None = None) -> go.Figure:
    """Panels over σ (on a logarithmic axis) or m, a line a kind of weights, the paper's value dotted.

    From the top: the cosine of the hardest synthetic negative with its anchor (mean, quartiles shaded), beside those of
    the batch's own hardest negative and of the match; of how many anchors it is harder than either, in percent; the
    length of what is recalled; how many prototypes of a cluster share the kernel weights, whatever their kind.
    """
    figure = make_subplots(4, 1, shared_xaxes=True, vertical_spacing=0.055, row_heights=[0.4, 0.22, 0.19, 0.19])
    values = sweep.values
    for kind, curve in sweep.curves.items():
        name, shade = SWEEP_NAMES[kind]
        x, band = np.concatenate([values, values[::-1]]), np.concatenate([curve.quartiles[1], curve.quartiles[0][::-1]])
        look = {"fill": "toself", "fillcolor": translucent(shade, 0.13), "line_width": 0, "mode": "lines"}
        figure.add_scatter(x=x, y=band, **look, showlegend=False, hoverinfo="skip", row=1, col=1)
        _line(figure, values, curve.hardness, name, shade, 1, legend=True)
        _line(figure, values, curve.above_hardest, f"{name}: harder than any real negative", shade, 2, suffix=" %")
        _line(figure, values, curve.above_match, f"{name}: nearer than the match", shade, 2, dash="dot", suffix=" %")
        _line(figure, values, curve.length, f"{name}: length", shade, 3)
    for score, name, shade in ((sweep.match, "match", theme.INK), (sweep.hardest, "hardest real negative", theme.GREY)):
        _line(figure, values[[0, -1]], np.array([score, score]), name, shade, 1, dash="dash", legend=True)
    _line(figure, values, next(iter(sweep.curves.values())).effective, "prototypes that share", theme.INK, 4)
    for axis, text in NOTES.items():
        place = {"x": 0, "xref": "paper", "y": 1, "yref": f"{axis} domain", "xanchor": "left", "yanchor": "bottom"}
        figure.add_annotation(text=text, **place, showarrow=False, font={"size": 12, "color": theme.MUTED})
    logarithmic = {"type": "log", "tickvals": [0.01, 0.03, 0.1, 0.3, 1, 3, 10]}
    figure.update_xaxes(**(logarithmic if sweep.parameter == "sigma" else {"tickvals": values}))
    figure.update_xaxes(showline=False, ticks="", showticklabels=False)
    bottom = {"showline": True, "ticks": "outside", "showticklabels": True}
    figure.update_xaxes(title=AXES[sweep.parameter], **bottom, row=4)
    figure.update_yaxes(title="cosine", row=1)
    figure.update_yaxes(title="anchors, %", range=[-4, 106], tickvals=[0, 50, 100], row=2)
    figure.update_yaxes(title="length", rangemode="tozero", nticks=4, row=3)
    figure.update_yaxes(title="number", rangemode="tozero", nticks=4, row=4)
    if paper is not None:
        figure.add_vline(x=paper, line={"color": theme.MUTED, "width": 1.2, "dash": "dot"})
    figure = styled(figure, title, subtitle, height=800)
    return figure.update_layout(margin_t=figure.layout.margin.t + 4, legend_y=1.01)


def _line(
    figure: go.Figure,
    x: Float[ndarray, "point"],
    y: Float[ndarray, "point"],
    name: str,
    shade: str,
    row: int,
    *,
    dash: str = "solid",
    legend: bool = False,
    suffix: str = "",
) -> None:
    line = {"color": shade, "width": WIDTHS.get(shade, 3) if dash == "solid" else 2, "dash": dash}
    hover = f"{name}: %{{y:.3g}}{suffix} at %{{x:.3g}}<extra></extra>"
    look = {"mode": "lines", "line": line, "showlegend": legend, "hovertemplate": hover}
    figure.add_scatter(x=x, y=y, name=name, **look, row=row, col=1)


# InfoCMR's denominator: what each kind of negative has of it over τ, and one anchor's terms one by one.

COLOURS = dict(zip(TERMS, (theme.BLUE, theme.GREY, theme.VERMILION, theme.SKY), strict=True))
ROW = 34


def draw_denominator_shares(
    temperatures: Sequence[float],
    shares: Mapping[str, Float[ndarray, "temperature"]],
    *,
    title: str,
    subtitle: str = "",
    paper: float | None = 0.05,
) -> go.Figure:
    """Stacked shares of each kind of term, in percent, over τ on a logarithmic axis; the paper's τ is dotted."""
    figure = go.Figure()
    for name, values in shares.items():
        hover = f"{label(name)}: %{{y:.1f}} % at τ = %{{x:.3g}}<extra></extra>"
        look = {"mode": "lines", "line": {"color": theme.PAPER, "width": 1}, "fillcolor": COLOURS[name]}
        named = {"name": label(name), "hovertemplate": hover}
        figure.add_scatter(x=list(temperatures), y=values, stackgroup="all", **named, **look)
    if paper is not None:
        figure.add_vline(x=paper, line={"color": theme.PAPER, "width": 2, "dash": "dot"})
        place = {"xanchor": "left", "xshift": 5, "y": 1, "yref": "paper", "yanchor": "top", "yshift": -6}
        text = {"text": f"<b>τ = {paper:g}</b>", "showarrow": False, "font": {"color": theme.PAPER}}
        figure.add_annotation(x=log10(paper), **place, **text)  # of a logarithmic axis it takes the logarithm
    ticks = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1]
    figure.update_xaxes(title="temperature τ", type="log", tickvals=ticks)
    figure.update_yaxes(title="share of the denominator, %", range=[0, 100])
    return styled(figure, title, subtitle, height=430).update_layout(legend_traceorder="normal")


def draw_info_cmr_terms(
    terms: Terms, names: Sequence[str], *, title: str, subtitle: str = "", first: int = 12
) -> go.Figure:
    """The largest terms of one anchor's denominator as bars, with their cosines; `names` says what each is of."""
    shown = min(first, len(terms.share))
    figure, shares = go.Figure(), [100 * float(share) for share in terms.share[:shown]]
    for kind, shade in COLOURS.items():
        rows = [row for row in range(shown) if terms.kind[row] == kind]
        look = {"orientation": "h", "width": 0.72, "hovertemplate": "%{x:.2f} %<extra></extra>"}
        bars = [shares[row] for row in rows] or [None]  # every kind has its place in the legend
        figure.add_bar(x=bars, y=rows or [None], name=kind, marker_color=shade, **look)
    for row, share in enumerate(shares):
        cosine = f"{float(terms.score[row]):.2f}".replace("-", "−")
        text = f"{share:.1f} %  <span style='color:{theme.MUTED}'>s = {cosine}</span>"
        figure.add_annotation(text=text, x=share, y=row, xanchor="left", xshift=6, showarrow=False, font_size=13)
    ticks = [label(names[row], width=44, lines=2) for row in range(shown)]
    figure.update_yaxes(tickvals=list(range(shown)), ticktext=ticks, range=[shown - 0.4, -0.6], showgrid=False)
    figure.update_yaxes(ticks="outside", ticklen=8, tickcolor=theme.PAPER)
    reach = 1.3 * max(shares, default=0) or 1
    figure.update_xaxes(title=f"share of the denominator at τ = {terms.temperature:g}, %", range=[0, reach])
    figure = styled(figure, title, subtitle, height=170 + theme.LEGEND_LINE + ROW * shown)
    # beside long names the plot is narrow, and the legend takes a second line
    return figure.update_layout(barmode="overlay", margin_t=figure.layout.margin.t + theme.LEGEND_LINE)


# Tables 3 and 4 as figures, with the printed numbers beside: what each part brings to each encoder.

# R@1 and R@10, sentence retrieval then image retrieval, Flickr30K
TABLES = {
    3: {
        "scan": (61.1, 91.5, 43.3, 80.9),
        "scan+syn": (66.8, 95.1, 51.7, 85.4),
        "scan+info": (70.8, 94.8, 50.4, 84.9),
        "scan+syn+info": (73.3, 97.2, 54.2, 87.0),
        "oscar": (88.3, 99.0, 75.7, 96.1),
        "oscar+syn": (90.9, 99.4, 80.7, 97.4),
        "oscar+syn+info": (92.8, 99.3, 84.1, 98.1),
    },
    4: {
        "scan": (67.4, 95.8, 48.6, 85.2),
        "scan+syn": (68.5, 96.7, 51.4, 86.4),
        "scan+info": (71.4, 97.0, 52.9, 86.1),
        "scan+syn+info": (71.7, 97.4, 54.6, 87.4),
        "sgraf": (77.8, 97.4, 58.5, 88.8),
        "sgraf+syn": (78.7, 97.8, 60.2, 89.2),
        "sgraf+info": (79.8, 97.4, 61.3, 90.5),
        "sgraf+syn+info": (80.7, 98.3, 62.2, 91.1),
    },
}
MEASURES = (("i2t", 0, "image → text, R@1"), ("i2t", 2, "R@10"), ("t2i", 0, "text → image, R@1"), ("t2i", 2, "R@10"))
GAINS = {"i2t R@1": (0, MEASURES[0][2]), "t2i R@1": (2, MEASURES[2][2]), "RSum": (None, "RSum")}  # paper's column, name
CONTROL = "+features"  # the encoder that learns by its global features too, as it does with ITContrast's parts
SHADES = {"": theme.BLUE, CONTROL: theme.GREY, "+syn": theme.ORANGE, "+info": theme.GREEN, "+syn+info": theme.PURPLE}


def draw_contrast_table(comparison: "Comparison", table: Literal[3, 4], *, title: str, subtitle: str = "") -> go.Figure:
    """Recall at 1 and 10 in both directions of a table's recipes, with intervals; diamonds are the paper's numbers.

    A recipe that was not compared is an ItmlabError. Below an encoder stands its control ("scan+features") where the
    comparison has one.
    """
    paper = TABLES[table]
    missing = [recipe for recipe in paper if recipe not in comparison.labels]
    if missing:
        raise ItmlabError(f"not compared: {', '.join(missing)}", remedy="give compare all recipes of the table")
    recalls, rows, least = comparison.recalls(), [], 100.0
    for recipe in (name for each in paper for name in (each, each + CONTROL) if name in comparison.labels):
        panels = []
        for column, (direction, place, _) in enumerate(MEASURES):
            value, lower, upper = recalls[recipe][direction][place]
            own = Dot(value, lower, upper, SHADES[_parts(recipe)], f"{value:.1f}", at=100)
            panels.append([Dot(paper[recipe][column], printed=True), own] if recipe in paper else [own])
            least = min(least, lower, *(dot.value for dot in panels[-1]))
        rows.append((_named(recipe), panels))
    least = 10 * (least // 10)
    ends = [least - 0.04 * (100 - least), 100 + 0.42 * (100 - least)]
    axis = {"title": "%", "range": ends, "tickvals": [tick for tick in (0, 25, 50, 75, 100) if tick >= least]}
    names = [name for *_, name in MEASURES]
    return interval_rows(rows, axes=[axis] * len(MEASURES), title=title, subtitle=subtitle, panels=names)


def draw_contrast_gains(comparison: "Comparison", *, title: str, subtitle: str = "") -> go.Figure:
    """What each part adds to each encoder: differences in R@1 and RSum from the same encoder without any.

    Where the comparison has an encoder's control ("scan+features"), the parts are held against that, and it against the
    encoder. Intervals are of paired differences; diamonds the differences that Tables 3 and 4 print, one of each that
    has the recipe.
    """
    gains = {recipe: _gains(comparison, recipe) for recipe in comparison.labels if _parts(recipe)}
    axes, ends = [], []
    for column in range(len(GAINS)):
        dots = [dot for panels in gains.values() for dot in panels[column]]
        least = min(value for dot in dots for value in (dot.value, dot.lower) if value is not None)
        most = max(value for dot in dots for value in (dot.value, dot.upper) if value is not None)
        ends.append(most + 0.03 * (most - least))  # behind which the numbers stand
        axes.append({"title": "points", "range": [least - 0.05 * (most - least), most + 0.36 * (most - least)]})
    rows: list[Row] = []
    for recipe in comparison.labels:
        encoder = _named(recipe.split("+")[0])
        if recipe in gains:
            panels = [[*dots[1:], replace(dots[0], at=end)] for dots, end in zip(gains[recipe], ends, strict=True)]
            rows.append((_named(recipe).removeprefix(encoder).strip(), panels))
        else:
            rows.append((encoder, [None] * len(GAINS)))
    names = [name for _, name in GAINS.values()]
    figure = interval_rows(rows, axes=axes, title=title, subtitle=subtitle, panels=names)
    return figure.update_xaxes(zeroline=True, zerolinecolor=theme.INK, zerolinewidth=1)


def _gains(comparison: "Comparison", label: str) -> list[list[Dot]]:
    """For each of `GAINS` the difference that was found, then those printed."""
    encoder, parts = label.split("+")[0], _parts(label)
    controlled = parts != CONTROL and encoder + CONTROL in comparison.labels
    found, panels = comparison.difference(label, encoder + CONTROL if controlled else encoder), []
    for measure, (column, _) in GAINS.items():
        value, lower, upper = found[measure]
        own = Dot(value, lower, upper, SHADES[parts], f"{value:+.1f}".replace("-", "−"))
        tables = [table for table in TABLES.values() if column is not None and label in table]
        panels.append([own, *(Dot(table[label][column] - table[encoder][column], printed=True) for table in tables)])
    return panels


def _named(recipe: str) -> str:
    """A recipe's name as the paper writes it."""
    encoder, *parts = recipe.split("+")
    said = ("global features" if part == "features" else part.capitalize() for part in parts)
    return " + ".join([encoder.upper(), *said])


def _parts(recipe: str) -> str:
    """What is added to its encoder, as the key of its colour."""
    return recipe.removeprefix(recipe.split("+")[0])
