"""Figures of rankings: results framed in the green of their meaning, recall against m, relevance against the truth.

Biten, Mafla, Gómez and Karatzas ("Is an image worth five sentences?", 2022), Figures 1 and 3. φ is what a captioning
metric gives a caption and the captions of a picture: how much they have in common.
"""

from collections.abc import Mapping, Sequence
from math import ceil
from textwrap import shorten
from typing import Any

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float, Integer
from numpy import ndarray
from PIL import Image
from plotly.subplots import make_subplots

from ...metrics.statistics import wilson
from ..kit.bars import DIRECTIONS
from ..kit.canvas import Canvas, data_uri
from ..kit.theme import (
    GREEN,
    GREY,
    INK,
    MUTED,
    PANEL,
    PAPER,
    RULE,
    TRUTH_LABELS,
    WIDTH,
    colour,
    label,
    mixed,
    styled,
    translucent,
)
from .rankings import Interval, Ranking

# The ranked results of one query, each framed by how similar in meaning it is: the greener, the more.

GREENS = ("#CBD2D9", "#A8D5C2", "#4DB892", "#007F5C", "#00563E")  # from nothing in common to the pool's best
SIDE, GAP, LINE, ACROSS = 16, 18, 17, 5  # pixels; pictures in a row
ANNOTATED = "★"
NOTES = {
    "left": ("  ", "top"),
    "right": ("<br>", "middle"),
}  # what φ and truth label have between them, and their anchor


def draw_ranked_pictures(
    query: str,
    pictures: Sequence[Image.Image],
    rankings: Mapping[str, Ranking],
    *,
    title: str,
    captions: Sequence[str] | None = None,
    relevance: str = "CIDEr",
) -> go.Figure:
    """The pictures that each method ranks first for the sentence `query`, one method above the other.

    `rankings[method].index` points into `pictures` and, where given, into `captions`, one of which is written under
    each. A frame's green is φ (named `relevance`) over the largest in the pool; a star marks ground truth.
    """
    canvas, top = Canvas(), 4.0
    cell = (WIDTH - 2 * SIDE - GAP * (ACROSS - 1)) / ACROSS
    for method, ranking in rankings.items():
        top = _heading(canvas, method, ranking, SIDE, top)
        for start in range(0, len(ranking.index), ACROSS):
            places = range(start, min(start + ACROSS, len(ranking.index)))
            lowest = top  # end of the longest text in this row of pictures
            for column, place in enumerate(places):
                left, item = SIDE + column * (cell + GAP), int(ranking.index[place])
                canvas.picture(data_uri(pictures[item]), left, top, cell, cell)
                frame = {"color": greenness(ranking, place), "width": 6}
                canvas.rectangle(left - 2, top - 2, cell + 4, cell + 4, line=frame)
                badge = {"bgcolor": INK, "borderpad": 4}
                canvas.words(f"<b>{_place(ranking, place)}</b>", left + 8, top + 8, size=13, colour=PAPER, **badge)
                below = _note(canvas, ranking, place, relevance, left, top + cell + 9)
                if captions is not None:
                    text = label(captions[item], width=int(cell / 6.3), lines=3)
                    canvas.words(text, left, below, size=12, colour=MUTED)
                    below += (LINE - 2) * (text.count("<br>") + 1)
                lowest = max(lowest, below)
            top = lowest + 16
        top += 8
    _key(canvas, rankings, relevance, top)
    return canvas.figure(title, f"“{shorten(query, 110, placeholder=' …')}”", height=top + 30)


def draw_ranked_captions(
    picture: Image.Image,
    captions: Sequence[str],
    rankings: Mapping[str, Ranking],
    *,
    title: str,
    subtitle: str = "",
    own_captions: Sequence[str] = (),
    relevance: str = "CIDEr",
) -> go.Figure:
    """The captions that each method ranks first for a picture, one method below the other; frames as for pictures."""
    canvas, size, row = Canvas(), 230, 44
    canvas.picture(data_uri(picture), SIDE, 4, size, size)
    beside = 4 + size + 12
    if own_captions:
        canvas.words("<b>written for it</b>", SIDE, beside, size=13, colour=MUTED)
        beside += 20
    for caption in own_captions:
        text = label(caption, width=35, lines=3)
        canvas.words(text, SIDE, beside, size=13)
        beside += LINE * (text.count("<br>") + 1) + 6
    left, right, top = SIDE + size + 30, WIDTH - SIDE, 4.0
    for method, ranking in rankings.items():
        top = _heading(canvas, method, ranking, left, top)
        for place, item in enumerate(ranking.index.tolist()):
            middle = top + row / 2
            shade = greenness(ranking, place)
            canvas.rectangle(left, top, right - left, row, fillcolor=PANEL, line={"color": shade, "width": 3})
            canvas.rectangle(left, top, 12, row, fillcolor=shade, line={"width": 0})
            canvas.words(f"<b>{_place(ranking, place)}</b>", left + 22, middle, size=13, down="middle")
            canvas.words(label(captions[item], width=70, lines=2), left + 66, middle, size=13, down="middle")
            _note(canvas, ranking, place, relevance, right - 10, middle, across="right")
            top += row + 8
        top += 14
    top = max(top, beside)
    _key(canvas, rankings, relevance, top)
    return canvas.figure(title, subtitle, height=top + 30)


def greenness(ranking: Ranking, place: int) -> str:
    """The frame's colour: φ of the item at `place` over the pool's largest, from grey to dark green."""
    return mixed(float(ranking.relevance[place]) / ranking.best if ranking.best > 0 else 0.0, GREENS)


def _heading(canvas: Canvas, method: str, ranking: Ranking, left: float, top: float) -> float:
    """The method's name and its scores for this query; returns where the results begin."""
    scores = " · ".join(f"{label(name)} {value:.0f} %" for name, value in ranking.measures.items())
    canvas.words(f"<b>{label(method, width=40, lines=1)}</b>  <span style='color:{MUTED}'>{scores}</span>", left, top)
    return top + 28


def _place(ranking: Ranking, place: int) -> str:
    starred = ranking.annotated is not None and bool(ranking.annotated[place])
    return f"{place + 1} {ANNOTATED}" if starred else str(place + 1)


def _note(canvas: Canvas, ranking: Ranking, place: int, phi: str, x: float, y: float, across: str = "left") -> float:
    """φ and the world's truth label: on one line under a picture, on two at the right of a caption."""
    text, (between, down) = f"{label(phi)} {ranking.relevance[place]:.2f}", NOTES[across]
    if ranking.truth_label is not None:
        shade, said = TRUTH_LABELS[int(ranking.truth_label[place])]
        text += f"{between}<b style='color:{shade}'>{said}</b>"
    canvas.words(text, x, y, size=13, across=across, down=down)
    return y + LINE + 3


def _key(canvas: Canvas, rankings: Mapping[str, Ranking], relevance: str, top: float) -> None:
    """What the greens and the star mean, on one line."""
    best = max((ranking.best for ranking in rankings.values()), default=0.0)
    step, x = 26, SIDE
    canvas.line((SIDE, top - 4), (WIDTH - SIDE, top - 4), RULE)
    canvas.words(f"{label(relevance)} with the query: 0", x, top + 14, size=12, colour=MUTED, down="middle")
    x += 134 + 7 * max(0, len(relevance) - 5)
    for shade in GREENS:
        canvas.rectangle(x, top + 8, step, 12, fillcolor=shade, line={"width": 0})
        x += step
    words = f"{best:.2f}, the largest of all candidates"
    if any(ranking.annotated is not None for ranking in rankings.values()):
        words += f"   ·   {ANNOTATED} ground truth"
    if any(ranking.truth_label is not None for ranking in rankings.values()):
        words += "   ·   ✓ ✗ ? what the world says"
    canvas.words(words, x + 8, top + 14, size=12, colour=MUTED, down="middle")


# Several measures of the same rankings side by side: do they put the models in one order?

COLUMNS = 4  # panels beside each other, as long as that takes two rows


def draw_measures_by_model(
    measures: Mapping[str, Mapping[str, Interval]], *, title: str, subtitle: str = ""
) -> go.Figure:
    """A panel a measure, a line in it a model: `measures[model][measure]` = (value, lower, upper) in percent.

    Over each point stands the model's place by that measure, and the value. Each panel has its own axis: what can be
    compared across panels is the order, not the height.
    """
    models, names = list(measures), list(next(iter(measures.values()), {}))
    columns = max(min(COLUMNS, len(names)), ceil(len(names) / 2), 1)
    rows = ceil(len(names) / columns) or 1
    titles = [label(name, width=16) for name in names]
    gaps = {"horizontal_spacing": 0.035, "vertical_spacing": 0.3 / rows}
    figure = make_subplots(rows, columns, subplot_titles=titles, shared_yaxes=True, **gaps)
    for at, name in enumerate(names):
        place = {"row": at // columns + 1, "col": at % columns + 1}
        values = [measures[model][name] for model in models]
        order = sorted(range(len(models)), key=lambda index: -values[index][0])
        for index, (value, lower, upper) in enumerate(values):
            model, shade = label(models[index]), colour(index)
            ends = {"array": [upper - value], "arrayminus": [value - lower], "thickness": 2, "width": 5}
            hover = f"%{{y}}: %{{x:.1f}} % ({lower:.1f} to {upper:.1f})<extra></extra>"
            dot = {"mode": "markers", "marker": {"size": 10, "color": shade}, "error_x": ends, "hovertemplate": hover}
            figure.add_scatter(x=[value], y=[model], cliponaxis=False, **dot, **place)
            said = f"<b>{order.index(index) + 1}</b>  <span style='color:{MUTED}'>{value:.1f}</span>"
            look = {"showarrow": False, "yshift": 18, "font": {"size": 13, "color": shade}}
            figure.add_annotation(x=value, y=model, text=said, **look, **place)
        low, high = min(value[1] for value in values), max(value[2] for value in values)
        room = 0.12 * (high - low) or 1.0
        ticks = {"nticks": 3, "tickangle": 0, "ticksuffix": " %", "showgrid": True}
        figure.update_xaxes(range=[low - room, high + room], **ticks, **place)
    figure.update_yaxes(range=[len(models) - 0.5, -0.8], tickfont={"size": 14, "color": INK}, showgrid=True)
    figure = styled(figure, title, subtitle, height=110 + rows * (90 + 56 * len(models)), legend=False)
    return figure.update_layout(margin_t=figure.layout.margin.t + 26)


# What is found, and what is true, among the m most relevant candidates: curves over m (Figure 3).

Curve = Float[ndarray, "m"]
Curves = Mapping[str, Curve]  # by direction, or by sense
SENSES = {"any": "found any of the m", "share": "share of the m found (SR)"}


def draw_semantic_recall_by_m(
    relevant: Sequence[int], recalls: Mapping[str, Mapping[str, Curves]], *, k: int, title: str, subtitle: str = ""
) -> go.Figure:
    """Percentages against m, `recalls[model][direction][sense]`: a row a direction, a column a sense, a line a model.

    Directions are "t2i" and "i2t", senses "any" (R^V) and "share" (SR); either may be left out. The dotted line is the
    largest share that k places can hold: k / m.
    """
    directions = [name for name in ("t2i", "i2t") if any(name in of for of in recalls.values())]
    senses = [name for name in SENSES if any(name in of for by in recalls.values() for of in by.values())]
    titles = [f"{DIRECTIONS[direction]}: {SENSES[sense]}" for direction in directions for sense in senses]
    figure = make_subplots(len(directions), len(senses), subplot_titles=titles, shared_xaxes=True, vertical_spacing=0.1)
    for row, direction in enumerate(directions, start=1):
        for column, sense in enumerate(senses, start=1):
            place = {"row": row, "col": column}
            if sense == "share":
                most = [100 * min(1.0, k / m) for m in relevant]
                _ceiling(figure, relevant, most, f"the most that {k} places can hold", showlegend=row == 1, **place)
            for index, (model, by_direction) in enumerate(recalls.items()):
                legend = {"hovertemplate": f"{label(model)}, m = %{{x}}: %{{y:.1f}} %<extra></extra>"}
                legend |= {"showlegend": row == column == 1}
                _curve(figure, relevant, by_direction[direction][sense], model, index, **legend, **place)
    figure.update_xaxes(type="log", tickvals=list(relevant), ticktext=[str(m) for m in relevant])
    figure.update_xaxes(title="m: candidates that count as relevant", row=len(directions))
    for column, sense in enumerate(senses, start=1):
        highest = max(max(by[direction][sense]) for by in recalls.values() for direction in directions)
        figure.update_yaxes(range=[0, min(104, 1.2 * highest + 1)], col=column)
    figure.update_yaxes(title=f"top {k}, %", col=1)
    figure = styled(figure, title, subtitle, height=170 + 270 * len(directions))
    # above the panels' own titles
    return figure.update_layout(legend={"y": 1.0 + 0.09 / len(directions)}, margin_t=figure.layout.margin.t + 26)


def draw_truth_among_relevant(
    relevant: Sequence[int], shares: Mapping[str, Curves], most: Curves, *, title: str, subtitle: str = ""
) -> go.Figure:
    """How many (%) of the m candidates that each ranks first are true: a panel a direction, a line a ranking.

    `shares[ranking][direction]` by metrics or models; `most[direction]` is what a perfect ranking would reach, drawn
    dotted.
    """
    titles = [DIRECTIONS[direction] for direction in most]
    figure = make_subplots(1, len(most), subplot_titles=titles, shared_yaxes=True, horizontal_spacing=0.06)
    for column, direction in enumerate(most, start=1):
        place = {"showlegend": column == 1, "row": 1, "col": column}
        _ceiling(figure, relevant, most[direction], "all true ones first", **place)
        for index, (name, by_direction) in enumerate(shares.items()):
            hover = f"{label(name)}, first %{{x}}: %{{y:.1f}} % true<extra></extra>"
            _curve(figure, relevant, by_direction[direction], name, index, hovertemplate=hover, **place)
    figure.update_xaxes(type="log", tickvals=list(relevant), ticktext=[str(m) for m in relevant])
    figure.update_xaxes(title="m: unannotated candidates ranked first")
    figure.update_yaxes(range=[0, 102])
    figure.update_yaxes(title="true among them, %", col=1)
    second = 30 if len(shares) > 6 else 0  # another line of the legend, which grows upwards
    figure = styled(figure, title, subtitle, height=470 + second)
    figure.update_annotations(font={"size": 15, "color": INK})
    return figure.update_layout(legend={"y": 1.1}, margin_t=figure.layout.margin.t + 28 + second)


def _ceiling(figure: go.Figure, relevant: Sequence[int], most: Sequence[float], name: str, **place: Any) -> None:
    look = {"mode": "lines", "line": {"color": GREY, "width": 2, "dash": "dot"}, "legendgroup": "most"}
    figure.add_scatter(x=list(relevant), y=list(most), name=name, **look, **place)


def _curve(figure: go.Figure, relevant: Sequence[int], values: Curve, name: str, index: int, **place: Any) -> None:
    dots = {"size": 8, "line": {"color": PAPER, "width": 1}}
    look = {"mode": "lines+markers", "line": {"color": colour(index), "width": 3}, "marker": dots}
    figure.add_scatter(x=list(relevant), y=list(values), name=label(name), legendgroup=name, **look, **place)


# What a captioning metric says of pairs that nobody annotated, and what the world that drew the pictures says.

Phi = Float[ndarray, "pair"]
BINS, FEW = 18, 10  # bins of fewer decided pairs tell nothing and are not drawn


def draw_relevance_by_truth(
    relevance: Mapping[str, Phi], truth_labels: Integer[ndarray, "pair"], *, title: str, subtitle: str = ""
) -> go.Figure:
    """A column a metric: above, how φ is distributed over true, false and undecided pairs; below, how many are true.

    `truth_labels`: 1 true, 0 false, −1 undecided. Bins are equally wide in √φ, since most pairs have little in common.
    Below, the share of true ones among the decided pairs of a bin with Wilson's 95 % interval.
    """
    shape = {"row_heights": [0.55, 0.45], "vertical_spacing": 0.07, "horizontal_spacing": 0.09}
    titles = [label(name) for name in relevance]
    figure = make_subplots(2, max(len(relevance), 1), subplot_titles=titles, shared_xaxes=True, **shape)
    for column, (name, values) in enumerate(relevance.items(), start=1):
        root = np.sqrt(np.maximum(values, 0))
        edges = np.linspace(0, float(root.max()) or 1.0, BINS + 1)
        middle = (edges[:-1] + edges[1:]) / 2
        counts = {
            truth_label: np.histogram(root[truth_labels == truth_label], edges)[0] for truth_label in TRUTH_LABELS
        }
        for truth_label, (shade, said) in TRUTH_LABELS.items():
            share = 100 * counts[truth_label] / max(counts[truth_label].sum(), 1)
            line = {"color": shade, "width": 3, "dash": "dot" if truth_label < 0 else "solid", "shape": "hvh"}
            hover = f"{said}: %{{y:.1f}} % of them near {label(name)} %{{customdata:.2f}}<extra></extra>"
            look = {"mode": "lines", "line": line, "fill": "tozeroy", "fillcolor": translucent(shade, 0.08)}
            place = {"name": said, "legendgroup": said, "showlegend": column == 1, "row": 1, "col": column}
            figure.add_scatter(x=middle, y=share, customdata=middle**2, hovertemplate=hover, **look, **place)
        decided = counts[1] + counts[0]
        some = decided >= FEW
        shown = counts[1][some] / decided[some]
        lower, upper = wilson(shown, decided[some])
        figure.add_scatter(
            x=middle[some],
            y=100 * shown,
            error_y={"array": 100 * (upper - shown), "arrayminus": 100 * (shown - lower), "thickness": 1.5, "width": 4},
            mode="lines+markers",
            showlegend=False,
            line={"color": GREEN, "width": 3},
            marker={"size": 8, "line": {"color": PAPER, "width": 1}},
            customdata=np.stack([middle[some] ** 2, counts[1][some], decided[some]], axis=-1),
            hovertemplate="φ near %{customdata[0]:.2f}: %{customdata[1]} of %{customdata[2]} true<extra></extra>",
            row=2,
            col=column,
        )
        ticks = _ticks(edges[-1] ** 2)
        figure.update_xaxes(tickvals=np.sqrt(ticks), ticktext=[f"{tick:g}" for tick in ticks], col=column)
        figure.update_xaxes(title=label(name), row=2, col=column)
    figure.update_yaxes(rangemode="tozero")
    figure.update_yaxes(title="pairs of a kind, %", row=1, col=1)
    figure.update_yaxes(title="true among them, %", range=[0, 102], row=2)
    figure.update_yaxes(title=None, row=2, col=2)
    counted = " · ".join(
        f"{int((truth_labels == truth_label).sum()):,} {said}" for truth_label, (_, said) in TRUTH_LABELS.items()
    )
    figure = styled(figure, title, f"{subtitle} · {counted}" if subtitle else counted, height=620)
    return figure.update_layout(legend={"y": 1.06}, margin_t=figure.layout.margin.t + 26)


def _ticks(largest: float) -> Float[ndarray, "tick"]:
    """A few round values of φ up to its largest, further apart as they grow."""
    kept = [0.0]
    for tick in (0.01, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1, 2, 4, 6, 8, 10):
        if tick <= largest and np.sqrt(tick) - np.sqrt(kept[-1]) >= 0.09 * np.sqrt(largest):
            kept.append(float(tick))
    return np.array(kept)
