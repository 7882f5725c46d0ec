"""Claims drawn: the papers' numbers beside ours, and all items of four papers by what became of their claims."""

import math
from collections.abc import Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

import plotly.graph_objects as go

from ..studies.kit.bars import PRINTED
from ..studies.kit.theme import GREEN, INK, MUTED, PAPER, RULE, VERMILION, WIDTH, label, styled, whiskers

if TYPE_CHECKING:
    from .entry import Entry

SHADES = {"held": GREEN, "not seen": "#8A94A0", "contrary": VERMILION, "not run": "#D5DAE0"}
ROW = 54  # pixels
TO_THE_LEFT = {"title_x": 0.012, "title_xref": "container", "legend_x": 0.008, "legend_xref": "container"}
TICKS = (0.02, 0.1, 0.25, 0.5, 1, 5, 20, 50, 100, 200, 400)


def root(value: float) -> float:
    """The square root with its sign: small and large differences on one axis.

    >>> root(-25.0), root(4.0)
    (-5.0, 2.0)
    """
    return math.copysign(math.sqrt(abs(value)), value)


def number(value: float, sign: str = "+") -> str:
    """As figures and lines show it: one decimal, two below 1; differences with a sign.

    >>> number(-12.34), number(0.043), number(96.5, "")
    ('−12.3', '+0.04', '96.5')
    """
    return f"{value:{sign}.{1 if abs(value) >= 1 else 2}f}".replace("-", "−")


def told(row: Mapping[str, Any]) -> str:
    """What was measured of a claim, in words: the value and the ends of its interval."""
    if math.isnan(row["here"]):
        return row["verdict"]
    value, lower, upper = (number(row[name], "" if row["mark"] else "+") for name in ("here", "lower", "upper"))
    return f"{row['verdict']}: {value} ({lower} to {upper})"


def draw_claims(rows: Sequence[Mapping[str, Any]], *, title: str) -> go.Figure:
    """A row a claim: the paper's number as a diamond, ours with its interval in its verdict's colour, on a root scale.

    A broad grey line is what counts as equal, a stroke what a share is held against.
    """
    figure = go.Figure()
    values = [row[name] for row in rows for name in ("printed", "lower", "upper", "mark") if known(row[name])] or [0.0]
    least, most = min(0.0, *values), max(0.0, *values)
    for place, row in enumerate(rows):
        if row["margin"]:
            ends = [root(row["mark"] - row["margin"]), root(row["mark"] + row["margin"])]
            line = {"color": RULE, "width": 16}
            figure.add_scatter(x=ends, y=[place, place], mode="lines", line=line, hoverinfo="skip")
        elif row["mark"]:
            stroke = {"symbol": "line-ns", "size": 18, "line": {"color": INK, "width": 1.5}}
            figure.add_scatter(x=[root(row["mark"])], y=[place], mode="markers", marker=stroke, hoverinfo="skip")
        if known(row["printed"]):
            said = f"the paper: {number(row['printed'], '' if row['mark'] else '+')}<extra></extra>"
            point = {"x": [root(row["printed"])], "y": [place], "mode": "markers", "marker": PRINTED}
            figure.add_scatter(**point, hovertemplate=said)
        if known(row["here"]):
            ends = ([root(row[name])] for name in ("here", "lower", "upper"))
            shade = SHADES[row["verdict"]]
            whisker = whiskers(*ends, shade, thickness=2.5, width=5)
            point = {"x": [root(row["here"])], "y": [place], "mode": "markers", "marker": {"size": 12, "color": shade}}
            figure.add_scatter(**point, error_x=whisker, hovertemplate=f"{label(told(row))}<extra></extra>")
        unit = label(row["unit"], width=26, lines=1)
        figure.add_annotation(
            **{"x": 1.01, "xref": "paper", "xanchor": "left", "y": place, "showarrow": False, "align": "left"},
            text=f"<b>{label(told(row))}</b><br>{unit if known(row['here']) else ''}",
            font={"size": 12, "color": INK if known(row["here"]) else MUTED},
        )
    least_tick = 0.02 * max(most, -least)
    ticks = sorted({0, *TICKS, *(-tick for tick in TICKS)})
    ticks = [tick for tick in ticks if least <= tick <= most and (not tick or abs(tick) > least_tick)]
    room = 0.05 * (root(most) - root(least) or 1)
    span = [root(least) - room, root(most) + room]
    figure.update_xaxes(tickvals=[root(tick) for tick in ticks], ticktext=[f"{tick:g}" for tick in ticks], range=span)
    figure.update_xaxes(showgrid=True, gridcolor=RULE, zeroline=True, zerolinecolor=INK, zerolinewidth=1)
    names = [label(row["claim"], width=42) for row in rows]
    figure.update_yaxes(tickvals=list(range(len(rows))), ticktext=names, range=[len(rows) - 0.5, -0.5], showgrid=False)
    said = "diamonds: as printed, on the paper's data; dots: measured here, 95 % intervals; root scale"
    styled(figure, title, said, height=150 + ROW * len(rows), legend=False)
    return figure.update_layout(width=WIDTH, margin_r=222, margin_l=262, **TO_THE_LEFT)


def known(value: float | None) -> bool:
    """Whether there is such a number."""
    return value is not None and not math.isnan(value)


def draw_items(items: Sequence[Mapping[str, Any]], *, title: str, subtitle: str = "") -> go.Figure:
    """A row an item of a paper and a square a claim, in its verdict's colour; what it says is in the hover."""
    figure = go.Figure()
    for said, shade in SHADES.items():
        squares = [
            (at, place, row)
            for place, item in enumerate(items)
            for at, row in enumerate(item["claims"])
            if row["verdict"] == said
        ]
        text = [f"{label(row['claim'], width=60)}<br>{label(told(row))} {label(row['unit'])}" for _, _, row in squares]
        figure.add_scatter(
            **{"x": [at for at, _, _ in squares], "y": [place for _, place, _ in squares], "mode": "markers"},
            **{"name": f"{said} ({len(squares)})", "hovertext": text, "hovertemplate": "%{hovertext}<extra></extra>"},
            marker={"symbol": "square", "size": 16, "color": shade, "line": {"color": PAPER, "width": 1}},
        )
    shown = [place for place, item in enumerate(items) if not item["claims"]]
    marker = {"symbol": "circle-open", "size": 9, "color": MUTED}
    point = {"x": [0] * len(shown), "y": shown, "mode": "markers", "name": "shown, no claim", "marker": marker}
    figure.add_scatter(**point, hovertext=[label(items[place]["title"]) for place in shown], hoverinfo="text")
    names = [f"<b>{label(item['item'])}</b>  {label(item['title'], width=54, lines=1)}" for item in items]
    figure.update_yaxes(
        tickvals=list(range(len(items))), ticktext=names, range=[len(items) - 0.4, -0.6], showgrid=False
    )
    most = max((len(item["claims"]) for item in items), default=1)
    counted = [verdicts_in_words(item["claims"]) for item in items]
    text = {"mode": "text", "text": counted, "textposition": "middle right", "textfont": {"size": 12, "color": MUTED}}
    figure.add_scatter(
        x=[most - 0.1] * len(items), y=list(range(len(items))), **text, hoverinfo="skip", showlegend=False
    )
    figure.update_xaxes(visible=False, range=[-0.7, most + 13])  # room for four verdicts in words
    styled(figure, title, subtitle, height=174 + 23 * len(items))
    figure.update_yaxes(automargin=False, tickfont_size=12)
    return figure.update_layout(
        width=WIDTH, margin_l=420, margin_r=0, margin_t=figure.layout.margin.t + 54, **TO_THE_LEFT
    )


def verdicts_in_words(claims: Sequence[Mapping[str, Any]]) -> str:
    """Verdicts counted; of an item that claims nothing, that it is shown.

    >>> verdicts_in_words([{"verdict": "held"}, {"verdict": "held"}, {"verdict": "not run"}]), verdicts_in_words([])
    ('2 held, 1 not run', 'shown')
    """
    said = [row["verdict"] for row in claims]
    return ", ".join(f"{said.count(name)} {name}" for name in SHADES if name in said) or "shown"


def told_in_html(entry: "Entry") -> str:
    """An entry as a notebook shows it: its table, ours beside theirs, and each claim with its verdict."""
    parts = [f"<h4>{escape(entry.item)}: {escape(entry.title)}</h4><p>{escape(entry.place)}</p>"]
    if entry.published is not None:
        parts.append(entry.table().to_html(float_format=lambda value: f"{value:.4g}", na_rep="", border=0))
    rows = ""
    for row in entry.verdicts():
        printed = number(row["printed"], "" if row["mark"] else "+") if known(row["printed"]) else ""
        cells = [
            row["claim"],
            printed,
            told(row).partition(": ")[2],
            row["unit"],
            row["by"] or "; ".join(filter(None, (row["why not"], row["command"]))),
        ]
        mark = f'<td style="background:{SHADES[row["verdict"]]};color:{INK};white-space:nowrap">{row["verdict"]}</td>'
        left = "".join(f'<td style="text-align:left">{escape(cell)}</td>' for cell in cells)
        rows += f"<tr>{mark}{left}</tr>"
    names = ("", "claim", "the paper", "here (95 % interval)", "of", "how, or why not")
    head = "".join(f'<th style="text-align:left">{name}</th>' for name in names)
    parts.append(f"<table><tr>{head}</tr>{rows}</table>" if rows else f"<p>{escape(entry.without)}</p>")
    return "".join([*parts, *(f"<p>Note: {escape(note)}</p>" for note in entry.notes)])
