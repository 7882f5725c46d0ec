"""SAM's Table 1 as a figure: how well each measure of a pair agrees with people, with intervals, beside the paper."""

from collections.abc import Mapping
from math import isnan

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from ..metrics.correlation import PAIRS, Correlation
from .labels import label
from .theme import INK, MUTED, PAPER, colour, styled

TABLE_1 = {  # Biten et al., Table 1: the CxC test split, 44 thousand pairs
    "binary relevance": {"all": 0.711, "non-ground-truth": 0.0},
    "NCS with SPICE": {"all": 0.729, "non-ground-truth": 0.536},
    "NCS with CIDEr": {"all": 0.734, "non-ground-truth": 0.453},
}
PANELS = {"all": "all {pairs:,} rated pairs", "non-ground-truth": "the {pairs:,} that are no ground truth"}
LINE = 27  # pixels


def human_judgement(
    readings: Mapping[str, Mapping[str, Mapping[str, Correlation]]],
    *,
    title: str,
    subtitle: str = "",
    paper: Mapping[str, Mapping[str, float]] | None = None,
    paper_name: str = "the paper",
) -> go.Figure:
    """Pearson's r with people's ratings: a panel for all pairs and one without ground truth, a block a measure.

    `readings[reading][measure]["all" or "non-ground-truth"]` is a Correlation: a reading is a way to take the measure
    (one table of `metrics.human_judgement`); a measure that is the same in every reading has one line. `paper` holds
    printed numbers by measure, drawn as diamonds.
    """
    lines = _lines(readings, paper or {}, paper_name)
    first = next(table[measure] for table in readings.values() for measure in table)
    figure = make_subplots(
        1,
        2,
        shared_yaxes=True,
        horizontal_spacing=0.05,
        subplot_titles=[PANELS[which].format(pairs=first[which].pairs) for which in PAIRS],
    )
    for column, which in enumerate(PAIRS, start=1):
        for place, (index, name, found) in enumerate(lines):
            if isinstance(found.get(which), Correlation):
                _dot(figure, column, place, colour(index), name, found[which])
            elif which in found:
                _diamond(figure, column, place, name, found[which])
    figure.add_vline(0, line={"color": MUTED, "width": 1})
    names = [label(name) if found else f"<b>{label(name)}</b>" for _, name, found in lines]
    figure.update_yaxes(
        tickvals=list(range(len(lines))), ticktext=names, range=[len(lines) - 0.4, -0.6], showgrid=False, zeroline=False
    )
    figure.update_xaxes(title="Pearson's r with people's ratings", range=[-0.05, 1.0], showgrid=True)
    figure = styled(figure, title, subtitle, height=196 + LINE * len(lines), legend=False)
    return figure.update_layout(margin_t=figure.layout.margin.t + 26)  # for the panels' titles


Line = tuple[int, str, Mapping[str, Correlation | float]]


def _lines(
    readings: Mapping[str, Mapping[str, Mapping[str, Correlation]]], paper: Mapping[str, Mapping[str, float]], name: str
) -> list[Line]:
    """Colour, name and values of each line: a heading without values, the readings of a measure, the paper's number."""
    lines: list[Line] = []
    measures = dict.fromkeys(measure for table in readings.values() for measure in table)
    for index, measure in enumerate(measures):
        own = {reading: table[measure] for reading, table in readings.items() if measure in table}
        first, *others = own.values()
        if others and all(found == first for found in others):
            own = {"in every reading": first}
        lines += [(index, measure, {}), *((index, reading, found) for reading, found in own.items())]
        if measure in paper:
            lines.append((index, name, paper[measure]))
    return lines


def _dot(figure: go.Figure, column: int, place: int, shade: str, name: str, found: Correlation) -> None:
    if isnan(found.value):
        _write(figure, column, place, 0, "the same for all: no correlation")
        return
    figure.add_scatter(
        x=[found.value],
        y=[place],
        mode="markers",
        marker={"color": shade, "size": 11},
        error_x={
            "array": [found.upper - found.value],
            "arrayminus": [found.value - found.lower],
            "color": shade,
            "thickness": 2,
            "width": 4,
        },
        hovertemplate=f"{label(name)}: %{{x:.3f}} ({found.lower:.3f} … {found.upper:.3f})<extra></extra>",
        row=1,
        col=column,
    )
    _write(figure, column, place, found.upper, f"{found.value:.3f}")


def _diamond(figure: go.Figure, column: int, place: int, name: str, value: float) -> None:
    figure.add_scatter(
        x=[value],
        y=[place],
        mode="markers",
        marker={"symbol": "diamond", "size": 11, "color": PAPER, "line": {"color": INK, "width": 2}},
        hovertemplate=f"{label(name)}: %{{x:.3f}}<extra></extra>",
        row=1,
        col=column,
    )
    _write(figure, column, place, value, f"{value:.3f}")


def _write(figure: go.Figure, column: int, place: int, right_of: float, text: str) -> None:
    figure.add_annotation(
        x=right_of, y=place, text=text, showarrow=False, xanchor="left", xshift=9, font_size=13, row=1, col=column
    )
