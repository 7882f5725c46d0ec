"""SAM, the semantic adaptive margin: what it asks of an anchor's negatives, and what it adds where data are few.

Biten et al. (2022), Figure 2 and Table 2. In place of the one margin α of a triplet loss, each negative T⁻ of a picture
with captions G and match T has its own, α = (φ(G, T) − φ(G, T⁻)) / τ (Eq. 7; METHODS 2.5): less, the more alike.
"""

from collections.abc import Mapping, Sequence
from math import cos, pi, sin
from typing import Any

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float
from numpy import ndarray
from PIL import Image
from plotly.subplots import make_subplots

from ..kit.canvas import Canvas, data_uri
from ..kit.theme import BLUE, GREY, INK, MUTED, PANEL, PAPER, RULE, VERMILION, WIDTH, colour, label, mixed, styled

# A fixed margin and the adaptive one around an anchor picture.

SIDE, PICTURE, MATCH, OUTER = 16, 84, 64, 182  # pixels: margins, the picture, the radius of margin 0, of the largest
TOP, ROW = 26, 44
ALIKE = (VERMILION, "#8C7C8B", BLUE)  # from nothing in common to the most


def draw_adaptive_margins(
    picture: Image.Image,
    positives: Sequence[str],
    negatives: Sequence[str],
    relevance: Float[ndarray, "negative"],
    margins: Float[ndarray, "negative"],
    *,
    title: str,
    subtitle: str = "",
    fixed: float = 0.2,
) -> go.Figure:
    """How far each negative caption must stay behind the match: as far as any other, or by what it says.

    The distance from the ring of the matches is the margin. A negative is the bluer, the larger its `relevance` φ to
    the anchor's captions, the redder, the less; its row below has its words, φ and both margins.
    """
    largest = max(fixed, float(max(margins, default=fixed)), 1e-6)
    top = float(max(relevance, default=0.0)) or 1.0
    shades = [mixed(float(value) / top, ALIKE) for value in relevance]
    canvas, middle, source = Canvas(), TOP + OUTER + 22, data_uri(picture)
    centres, points = (WIDTH * 0.26, WIDTH * 0.74), []
    asked = ("a fixed margin", "solid", [fixed] * len(negatives)), ("an adaptive margin", "dot", margins)
    for centre, (name, dash, each) in zip(centres, asked, strict=True):
        canvas.words(f"<b>{name}</b>", centre, 0, size=16, across="center")
        _circle(canvas, centre, middle, MATCH + fixed / largest * (OUTER - MATCH), GREY, dash)
        _circle(canvas, centre, middle, MATCH, INK, "solid")
        canvas.picture(source, centre - PICTURE / 2, middle - PICTURE / 2, PICTURE, PICTURE)
        for index, margin in enumerate(map(float, each)):
            points.append((*_at(centre, middle, index, len(negatives), margin / largest), index, margin))
    key = "●  its own captions   ·   a number: a negative, as far outside their ring as it is to stay"
    canvas.words(key, WIDTH / 2, middle + OUTER + 20, size=13, colour=MUTED, across="center")
    rows = list(zip(negatives, relevance, map(float, margins), shades, strict=True))
    end = _rows(canvas, rows, fixed, largest, middle + OUTER + 62)
    figure = canvas.figure(title, subtitle, height=end + 8)
    for centre in centres:  # the anchor's own captions, on the ring of margin 0
        places = [_at(centre, middle, place, len(positives), 0.0) for place in range(len(positives))]
        dots = {"size": 11, "color": INK, "line": {"color": PAPER, "width": 1.5}}
        said = {"text": [label(text, width=60) for text in positives], "hovertemplate": "match: %{text}<extra></extra>"}
        figure.add_scatter(x=[x for x, _ in places], y=[y for _, y in places], mode="markers", marker=dots, **said)
    numbers, dots = [index for *_, index, _ in points], {"size": 23, "line": {"color": PAPER, "width": 1.5}}
    return figure.add_scatter(
        x=[x for x, *_ in points],
        y=[y for _, y, *_ in points],
        mode="markers+text",
        marker={**dots, "color": [shades[index] for index in numbers]},
        text=[f"<b>{index + 1}</b>" for index in numbers],
        textfont={"color": PAPER, "size": 12},
        customdata=[label(negatives[index], width=60) for index in numbers],
        hovertext=[f"φ {relevance[index]:.2f}, margin {margin:.2f}" for *_, index, margin in points],
        hovertemplate="%{customdata}<br>%{hovertext}<extra></extra>",
    )


def _at(centre: float, middle: float, place: float, count: int, share: float) -> tuple[float, float]:
    """Clockwise from the top; `share` 0 is the ring of the matches, 1 the largest margin."""
    angle, radius = 2 * pi * (place + 0.5) / max(count, 1) - pi / 2, MATCH + share * (OUTER - MATCH)
    return centre + radius * cos(angle), middle + radius * sin(angle)


def _circle(canvas: Canvas, x: float, y: float, radius: float, shade: str, dash: str) -> None:
    box = {"x0": x - radius, "x1": x + radius, "y0": y - radius, "y1": y + radius}
    line = {"color": shade, "width": 1.5, "dash": dash}
    canvas.shapes.append({"type": "circle", **box, "line": line, "layer": "below"})


def _rows(
    canvas: Canvas, rows: Sequence[tuple[str, float, float, str]], fixed: float, largest: float, top: float
) -> float:
    """A row a negative: number, words, φ, and its margin as a bar beside the fixed one; returns where they end."""
    right, beside = WIDTH - SIDE, WIDTH - SIDE - 330
    start, smallest = beside + 70, min([0.0, *(margin for _, _, margin, _ in rows)])
    scale = (right - 64 - start) / (largest - smallest)
    zero = start - smallest * scale
    for words, x in (("negative", SIDE + 44), ("φ", beside), ("its margin", zero)):
        canvas.words(words, x, top, size=13, colour=MUTED)
    canvas.words(f"fixed {fixed:g}", zero + fixed * scale, top, size=13, colour=MUTED, across="center")
    top += 24
    for number, (text, phi, margin, shade) in enumerate(rows, start=1):
        middle = top + (ROW - 6) / 2
        canvas.rectangle(SIDE, top, right - SIDE, ROW - 6, fillcolor=PANEL, line={"color": RULE}, layer="below")
        canvas.rectangle(SIDE, top, 30, ROW - 6, fillcolor=shade, line={"width": 0})
        canvas.words(f"<b>{number}</b>", SIDE + 15, middle, size=13, colour=PAPER, across="center", down="middle")
        canvas.words(label(text, width=74, lines=2), SIDE + 44, middle, size=13, down="middle")
        canvas.words(f"{phi:.2f}", beside, middle, size=13, down="middle")
        left, end = sorted((zero, zero + margin * scale))
        canvas.rectangle(left, middle - 7, end - left, 14, fillcolor=shade, line={"width": 0})
        said = f"{margin:.2f}".replace("-", "−")
        canvas.words(said, right - 12, middle, size=13, across="right", down="middle")
        top += ROW
    for place, shade, dash in ((zero, INK, "solid"), (zero + fixed * scale, GREY, "dot")):
        ends = {"x0": place, "x1": place, "y0": top - ROW * len(rows) - 4, "y1": top - 4}
        canvas.shapes.append({"type": "line", **ends, "line": {"color": shade, "width": 1.5, "dash": dash}})
    return top


# With and without the adaptive margin when training data are few (Table 2), beside what the paper reports.

MEASURES = ("RSum", "Nsum")
Gains = Mapping[str, Mapping[float, tuple[float, float]]]  # by share of training data, (RSum, Nsum) with minus without
PAPER_GAINS: Gains = {  # SAM, Tables 2 and 3, Flickr30K
    "CVSE": {0.1: (164.5, 86.0), 0.25: (89.7, 50.3), 1.0: (7.3, 4.1)},  # Nsum at 1.0: the sum of its N; 387.9 is not
    "SGR": {0.1: (320.4, 223.9), 0.25: (269.4, 151.4), 1.0: (6.9, 4.7)},
}
Rows = Sequence[Mapping[str, Any]]


def draw_reduced_data(
    rows: Rows, differences: Rows, *, title: str, subtitle: str = "", paper: Gains | None = PAPER_GAINS
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
    titles = [f"{measure}: {kind}" for kind in kinds for measure in MEASURES]
    figure = make_subplots(len(kinds), 2, subplot_titles=titles, vertical_spacing=0.11, horizontal_spacing=0.1)
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
            line = {"color": GREY if index else INK, "width": 2}
            figure.add_scatter(
                x=[place[share] for share in gains],
                y=[pair[column - 1] for pair in gains.values()],
                name=f"{label(model)} (paper)",
                legendgroup=model,
                showlegend=column == 1,
                mode="lines+markers",
                line=line,
                marker={"symbol": "diamond", "size": 10, "color": PAPER, "line": line},
                hovertemplate=f"{label(model)}: %{{y:+.1f}}<extra></extra>",
                row=3,
                col=column,
            )
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
