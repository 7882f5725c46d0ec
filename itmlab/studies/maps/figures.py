"""Figures of attention (where words land: FNE, Figures 3 and 7) and of the common space (ITContrast, Figure 2)."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Bool, Float, Int64
from numpy import ndarray
from PIL import Image
from plotly.subplots import make_subplots

from ..kit import theme
from ..kit.canvas import Canvas, data_uri, draw_captioned, enlarged, heat, outlined
from ..kit.theme import colour, label, styled, translucent, whiskers

if TYPE_CHECKING:
    from .attention import AttentionMap
    from .embeddings import BatchNeighbourhood, SharedWord


def draw_attention_maps(
    maps: Mapping[str, "Sequence[AttentionMap]"],
    *,
    title: str = "Where each word lands",
    subtitle: str = "",
    outlines: Sequence[Bool[ndarray, "height width"] | None] = (),
    numbers: Sequence[int] | None = None,
) -> go.Figure:
    """The picture, then each word's map over it, a row a checkpoint; a row too long for the width is broken.

    All checkpoints map the same words of the same picture. `outlines` holds for each word the visible pixels of the
    object that it means (or None), drawn as a white line. Each map is stretched to its own range. With the words'
    `numbers` the pointer finds them ("words") and the patches of the picture ("patches", as the first checkpoint's).
    """
    words = max((len(row) for row in maps.values()), default=0)
    columns = min(words + 1, 6)
    side, gap, head = 16, 14, 26
    cell = min(230.0, (theme.WIDTH - 2 * side - gap * (columns - 1)) / columns)
    canvas, top = Canvas(), 0.0
    found: dict[str, list[tuple[float, float, float, int]]] = {"patches": [], "words": []}  # x, y, size, number
    for name, row in maps.items():
        canvas.words(f"<b>{label(name)}</b>", side, top + 4)
        tall = cell * min(1.0, row[0].picture.height / row[0].picture.width) if row else 0.0
        if row:
            canvas.picture(data_uri(row[0].picture), side, top + head, cell, tall)
            found["patches"] += _patches(row[0], next(iter(maps.values()))[0].weights.shape, side, top + head, tall)
        for index, attention in enumerate(row):
            line, column = divmod(index, columns - 1)
            left, high = side + (column + 1) * (cell + gap), top + line * (tall + head + 4)
            seen = painted(attention, outlines[index] if index < len(outlines) else None)
            wide = tall * attention.picture.width / attention.picture.height  # a portrait leaves room on its right
            canvas.words(label(attention.word), left + wide / 2, high + 4, colour=theme.MUTED, across="center")
            canvas.picture(data_uri(seen, largest=288, photographic=True), left, high + head, cell, tall)
            if numbers is not None:
                found["words"].append((left + wide / 2, high + head + tall / 2, min(wide, tall), numbers[index]))
        top += max(1, -(-len(row) // max(columns - 1, 1))) * (tall + head + 4) + 12
    figure = canvas.figure(title, subtitle, height=top)
    for kind, marks in found.items() if numbers is not None else ():
        x, y, size, number = zip(*marks, strict=True) if marks else ((), (), (), ())
        look = {"mode": "markers", "marker": {"size": size, "symbol": "square", "opacity": 0}, "hoverinfo": "none"}
        figure.add_scatter(x=x, y=y, customdata=number, legendgroup=kind, **look)
    if numbers is not None:
        figure.update_layout(dragmode=False, modebar_remove=["select", "lasso"])
    return figure


def painted(attention: "AttentionMap", outline: Bool[ndarray, "height width"] | None = None) -> Image.Image:
    """A word's map over its picture, with the border of what the word means, if given, as a white line."""
    seen = heat(attention.picture, attention.weights)
    return seen if outline is None else outlined(seen, outline, theme.PAPER, rim=True)


def _patches(
    shown: "AttentionMap", grid: tuple[int, int], left: float, top: float, tall: float
) -> list[tuple[float, float, float, int]]:
    """Where the patches of a picture `tall` pixels high lie: their middles, their size, their number."""
    rows, columns = grid
    high, wide = tall / rows, tall * shown.picture.width / shown.picture.height / columns
    middles = ((left + (n % columns + 0.5) * wide, top + (n // columns + 0.5) * high) for n in range(rows * columns))
    return [(*middle, min(high, wide), number) for number, middle in enumerate(middles)]


BEST = 8  # words listed for a patch


def draw_words_on_patch(maps: Mapping[str, "Sequence[AttentionMap]"], patch: int) -> go.Figure:
    """The picture with one patch framed, and the words that land on it most by the last checkpoint, with all weights.

    `patch` counts by row in the first checkpoint's grid; where another has a finer one, its patch there is taken.
    """
    first, last = next(iter(maps.values())), list(maps.values())[-1]
    if not first:
        return Canvas().figure("No word lands here", "the caption has none", height=20)
    rows, columns = first[0].weights.shape
    row, column = divmod(patch, columns)
    at = (row + 0.5) / rows, (column + 0.5) / columns

    def weight(each: "AttentionMap") -> float:
        down, across = each.weights.shape
        return float(each.weights[int(at[0] * down), int(at[1] * across)])

    best = sorted(range(len(last)), key=lambda number: -weight(last[number]))[:BEST]
    mask = np.zeros((rows, columns), dtype=bool)
    mask[row, column] = True
    return draw_captioned(
        outlined(enlarged(first[0].picture, 256), mask, theme.PAPER, rim=True),
        [first[number].word for number in best],
        {name: np.array([weight(each[number]) for number in best]) for name, each in maps.items()},
        title="What lands on this patch",
        subtitle=f"row {row + 1}, column {column + 1}; a word's weight there",
    )


# Does attention land on the object that the word means? Two measures of several checkpoints against chance.

Interval = tuple[float, float, float]
PANELS = {"accuracy": "map's peak is on the object", "mass": "mass of the map on the object"}


def draw_pointing_bars(
    measures: Mapping[str, Mapping[str, Interval]], chance: float, *, title: str, subtitle: str = ""
) -> go.Figure:
    """Percentages of `measures[checkpoint]["accuracy" | "mass"]` = (value, lower, upper), all three shares in [0, 1].

    `chance` is the objects' mean share of the picture: what a flat map, or a peak thrown anywhere, reaches.
    """
    figure = make_subplots(1, 2, subplot_titles=tuple(PANELS.values()), horizontal_spacing=0.12)
    names = [label(name) for name in measures]
    inside = {"textposition": "inside", "insidetextanchor": "start", "textfont": {"color": theme.PAPER, "size": 14}}
    for column, measure in enumerate(PANELS, start=1):
        values = [[100 * number for number in measures[name][measure]] for name in measures]
        figure.add_bar(
            x=names,
            y=[value for value, _, _ in values],
            error_y=whiskers(*zip(*values, strict=True), thickness=1.5, width=6),
            marker_color=[colour(index) for index in range(len(names))],
            text=[f"<b>{value:.1f}</b>" for value, _, _ in values],
            **inside,
            hovertemplate="%{x}: %{y:.1f} %<extra></extra>",
            **{"row": 1, "col": column},
        )
        note = {"text": f"chance {100 * chance:.1f} %", "font": {"size": 12}, "bgcolor": "rgba(255,255,255,0.85)"}
        dashed = {"color": theme.INK, "width": 1.5, "dash": "dash"}
        figure.add_hline(y=100 * chance, line=dashed, annotation=note, row=1, col=column)
    figure.update_yaxes(rangemode="tozero", ticksuffix=" %")
    figure = styled(figure, title, subtitle, height=430, legend=False)
    return figure.update_layout(bargap=0.45, margin_t=figure.layout.margin.t + 28)


# Maps of features: several kinds of points in one plane, a panel a model, one picture and its captions picked out.

SYMBOLS = ("square", "circle", "diamond", "triangle-up")
DIGITS = 2  # behind the point of a place: a hundredth of a unit is less than a pixel
MOST = 2000  # points a panel: more make a page heavy and show nothing more
SIDE, GAP = 30, 0.03  # pixels left and right; the share of the width between two panels


def draw_projection(
    panels: Mapping[str, Mapping[str, Float[ndarray, "point 2"]]],
    *,
    title: str,
    subtitle: str = "",
    ids: Mapping[str, Sequence[str]] | None = None,
    picked: Mapping[str, Sequence[int]] | None = None,
    most: int = MOST,
) -> go.Figure:
    """A panel a map, `panels[map][kind]` the places of points; hovering shows a point's id of `ids[kind]`.

    Of more than `most` points a panel, some are drawn by lot, the same in every panel, and the subtitle says so. The
    points `picked[kind]` are always shown, the first of the first kind joined to all others. A point's `customdata` is
    its number within its kind. Axes have no unit: what is near what is all that a map tells.
    """
    picked = {kind: list(picked[kind]) for kind in picked} if picked else {}
    names, count = list(panels), max(len(panels), 1)
    figure = make_subplots(1, count, subplot_titles=[label(name) for name in names], horizontal_spacing=GAP)
    everything = sum(map(len, panels[names[0]].values())) if names else 0
    for column, groups in enumerate(panels.values(), start=1):
        place = {"row": 1, "col": column}
        share = most / max(sum(map(len, groups.values())), 1)
        for number, (kind, points) in enumerate(groups.items()):
            shown = _sample(len(points), share, picked.get(kind, ()), number)
            first = number == 0  # of few and large points, as pictures are beside captions
            names_of = ids[kind] if ids and kind in ids else None
            figure.add_scatter(
                x=points[shown, 0].round(DIGITS),
                y=points[shown, 1].round(DIGITS),
                mode="markers",
                name=label(kind),
                legendgroup=kind,
                showlegend=column == 1,
                marker={
                    **{"symbol": SYMBOLS[number % len(SYMBOLS)], "color": colour(number), "line": {"width": 0}},
                    **{"size": 6 if first else 4.5, "opacity": 0.75 if first else 0.6},
                },
                customdata=shown,
                text=[label(names_of[n]) if names_of else f"{label(kind)} {n}" for n in shown.tolist()],
                hovertemplate="%{text}<extra></extra>",
                **place,
            )
        _pick(figure, groups, picked, place, first=column == 1)
        frame(figure, list(groups.values()), place)
    if everything > most:
        subtitle = f"{subtitle}{'; ' if subtitle else ''}{most:,} of {everything:,} points drawn"
    side = (theme.WIDTH - 2 * SIDE) * (1 - GAP * (len(names) - 1)) / count
    figure = styled(figure, title, subtitle, height=round(side))
    above, side = figure.layout.margin.t + 26, min(side, 640)
    margin = {"l": SIDE, "r": SIDE, "t": above, "b": 20}
    legend = {"itemsizing": "constant", "y": 1 + 32 / side}
    figure.update_annotations(yshift=5)  # the maps' names, off the frames
    return figure.update_layout(height=round(side + above + 20), margin=margin, legend=legend)


def frame(figure: go.Figure, groups: Sequence[Float[ndarray, "point 2"]], place: dict[str, int]) -> None:
    """A square about all points, without ticks, in which both axes have one scale."""
    points = np.concatenate([*groups, np.zeros((0, 2))])
    lowest, highest = (points.min(axis=0), points.max(axis=0)) if len(points) else (np.zeros(2), np.ones(2))
    middle, reach = (lowest + highest) / 2, 0.54 * max(float((highest - lowest).max()), 1e-6)
    plain = {"showticklabels": False, "ticks": "", "showgrid": False, "constrain": "domain"}
    border = {"showline": True, "mirror": True, "linecolor": theme.RULE}
    across, up = ([each - reach, each + reach] for each in middle.tolist())
    figure.update_xaxes(range=across, **plain, **border, **place)
    column = place["col"]
    figure.update_yaxes(range=up, scaleanchor=f"x{column if column > 1 else ''}", **plain, **border, **place)


def _sample(points: int, share: float, always: Sequence[int], seed: int) -> Int64[ndarray, "shown"]:
    """The points that are drawn: about `share` of them by lot, and those in `always`."""
    if share >= 1:
        return np.arange(points)
    drawn = np.random.default_rng(seed).permutation(points)[: round(share * points)]
    return np.union1d(drawn, np.asarray(always, dtype=np.int64))


def _pick(
    figure: go.Figure,
    groups: Mapping[str, Float[ndarray, "point 2"]],
    picked: Mapping[str, Sequence[int]],
    place: dict[str, int],
    *,
    first: bool,
) -> None:
    """Lines from the first picked point to the others, and rims about them all; drawn empty where nothing is picked."""
    chosen = [groups[kind][index] for kind in groups for index in picked.get(kind, ())]
    lines = [end for other in chosen[1:] for end in (chosen[0], other, (np.nan, np.nan))]
    ends, spots = np.array(lines).reshape(-1, 2), np.array(chosen).reshape(-1, 2)
    silent = {"hoverinfo": "skip", **place}
    line = {"color": translucent(theme.INK, 0.65), "width": 1.5}
    figure.add_scatter(x=ends[:, 0], y=ends[:, 1], mode="lines", line=line, showlegend=False, **silent)
    others = len(spots) - 1
    shapes = {"symbol": ["square"] + ["circle"] * others, "size": ([13] + [10] * others)[: len(spots)]}
    look = {"color": theme.PURPLE, "opacity": 1, "line": {"color": theme.PAPER, "width": 1.5}}
    named = {"name": "one picture and its captions", "showlegend": first and bool(chosen)}
    figure.add_scatter(x=spots[:, 0], y=spots[:, 1], mode="markers", marker=shapes | look, **named, **silent)


# Words that set some captions apart from all others, beside some pictures that they belong to.


def draw_shared_words(
    shared: "Sequence[SharedWord]",
    pictures: Sequence[Image.Image],
    *,
    title: str = "What they share",
    subtitle: str = "",
) -> go.Figure:
    """Up to nine pictures, and a row a word: bars of its share of the captions (purple) and of all others (grey)."""
    canvas, cell, gap, row = Canvas(), 76, 6, 30
    for number, picture in enumerate(pictures[:9]):
        down, across = divmod(number, 3)
        canvas.picture(data_uri(picture), 16 + across * (cell + gap), down * (cell + gap), cell, cell)
    left, bar, room = 16 + 3 * (cell + gap) + 24, 420, 250
    canvas.words("share of these captions, and of all others", bar, 0, size=13, colour=theme.MUTED)
    for number, word in enumerate(shared):
        middle = 36 + row * number
        canvas.words(f"<b>{label(theme.shortened(word.word, 15, bar - left - 12))}</b>", left, middle, down="middle")
        for share, shade, low in ((word.share, theme.PURPLE, -9), (word.elsewhere, theme.GREY, 1)):
            canvas.rectangle(bar, middle + low, room * share, 8, fillcolor=shade, line={"width": 0})
        said = f"{100 * word.share:.0f} %, {100 * word.elsewhere:.0f} %"
        canvas.words(said, bar + room + 10, middle, size=13, down="middle")
    if not shared:
        canvas.words("No word stands out.", left, 36, down="middle")
    return canvas.figure(title, subtitle, height=max(3 * (cell + gap), 36 + row * len(shared)))


# How similar pairs are that belong together and pairs that do not: two distributions, a panel a model.

BINS = 60


def draw_similarities(
    negatives: Mapping[str, Float[ndarray, "negative"]],
    positives: Mapping[str, Float[ndarray, "positive"]],
    *,
    title: str,
    subtitle: str = "",
    quantity: str = "cosine",
) -> go.Figure:
    """Histograms of negatives' and positives' similarity by model, each in percent of its own pairs, on one scale.

    Both are by model under the same names; every bin has the same width in every panel.
    """
    both = [values for of in (negatives, positives) for values in of.values() if len(values)]
    lowest, highest = (min(map(np.min, both)), max(map(np.max, both))) if both else (0.0, 1.0)
    edges = np.linspace(lowest, max(highest, lowest + 1e-6), BINS + 1)
    titles, columns = [label(name) for name in negatives], max(len(negatives), 1)
    figure = make_subplots(1, columns, subplot_titles=titles, horizontal_spacing=0.06, shared_yaxes=True)
    for column, name in enumerate(negatives, start=1):
        kinds = (("negatives", negatives[name], theme.MISMATCH), ("positives", positives[name], theme.MATCH))
        for kind, values, shade in kinds:
            line = {"color": shade, "width": 2.5, "shape": "hvh"}
            figure.add_scatter(
                x=(edges[:-1] + edges[1:]) / 2,
                y=100 * np.histogram(values, edges)[0] / max(len(values), 1),
                **{"name": kind, "legendgroup": kind, "showlegend": column == 1},
                **{"mode": "lines", "line": line, "fill": "tozeroy", "fillcolor": translucent(shade, 0.15)},
                hovertemplate=f"%{{y:.1f}} % of {kind} near %{{x:.2f}}<extra></extra>",
                **{"row": 1, "col": column},
            )
    figure.update_xaxes(title=label(quantity), range=[edges[0], edges[-1]])
    figure.update_yaxes(rangemode="tozero")
    figure.update_yaxes(title="% of its pairs", col=1)
    figure = styled(figure, title, subtitle, height=430)
    return figure.update_layout(legend_y=1.1, margin_t=figure.layout.margin.t + 26)


# A batch around one anchor on a map, and how its negatives' similarities are spread (ITContrast, Fig. 2).

BIN = 0.05  # of cosine
LOOKS = {
    "easy negatives": {"color": translucent(theme.GREY, 0.55), "size": 7},
    "hard negatives": {"color": theme.VERMILION, "size": 9},
    "positives": {"color": theme.BLUE, "size": 11, "symbol": "square"},
}
ORDER = ("anchor", "positives", "hard negatives", "easy negatives", "synthesised")  # of the legend


def draw_batch_neighbourhood(
    batch: "BatchNeighbourhood", *, title: str, subtitle: str = "", ids: Sequence[str] | None = None
) -> go.Figure:
    """Left, the map: anchor, positives, hard, easy and synthesised negatives; right, the negatives by similarity.

    Hard are those right of the dashed line, which a triplet loss learns from. A green rim marks a negative that the
    world calls true. `ids` are names by the candidates' number in the data; a point's `customdata` is that number.
    """
    rooms = {"column_widths": [0.53, 0.47], "row_heights": [0.8, 0.2], "specs": [[{"rowspan": 2}, {}], [None, {}]]}
    figure = make_subplots(2, 2, **rooms, horizontal_spacing=0.1, vertical_spacing=0.03, shared_xaxes=True)
    scores, places = batch.scores.numpy(), batch.places
    easy = ~(batch.positives | batch.hard)
    kinds = {"easy negatives": easy.numpy(), "hard negatives": batch.hard.numpy(), "positives": batch.positives.numpy()}
    shown = {"mode": "markers", "row": 1, "col": 1}
    for kind, chosen in kinds.items():
        numbers = batch.index.numpy()[chosen]
        names = numbers.tolist() if ids is None else [label(ids[number]) for number in numbers.tolist()]
        true = batch.true.numpy()[chosen] if batch.true is not None else np.zeros(len(numbers))
        rims = {"color": np.where(true, theme.GREEN, theme.PAPER).tolist(), "width": np.where(true, 2.5, 0.8).tolist()}
        figure.add_scatter(
            x=places[chosen, 0],
            y=places[chosen, 1],
            name=f"{kind} ({chosen.sum()})",
            legendrank=ORDER.index(kind),
            marker={"line": rims, **LOOKS[kind]},
            customdata=numbers,
            text=[f"{name}: {score:.2f}" for name, score in zip(names, scores[chosen].tolist(), strict=True)],
            hovertemplate=f"%{{text}}<extra>{kind}</extra>",
            **shown,
        )
    if len(batch.synthetic_scores):
        made, look = batch.synthetic_places, {"color": theme.PURPLE, "size": 13, "symbol": "diamond-open"}
        x, y = made.T
        figure.add_scatter(
            **{"x": x, "y": y, "name": f"synthesised ({len(made)})", "legendrank": ORDER.index("synthesised")},
            marker={**look, "line": {"width": 2.5}},
            text=[f"synthesised {n + 1}: {s:.2f}" for n, s in enumerate(batch.synthetic_scores.tolist())],
            hovertemplate="%{text}<extra></extra>",
            **shown,
        )
    x, y = batch.anchor_place.T
    star = {"color": theme.INK, "size": 17, "symbol": "star", "line": {"color": theme.PAPER, "width": 1.5}}
    named = {"name": "anchor", "legendrank": ORDER.index("anchor"), "hovertemplate": "the anchor<extra></extra>"}
    figure.add_scatter(x=x, y=y, marker=star, **named, **shown)
    if batch.true is not None and batch.true.any():
        rim = {"color": theme.PAPER, "size": 9, "line": {"color": theme.GREEN, "width": 2.5}}
        said = {"name": "true, not annotated", "legendrank": len(ORDER)}
        figure.add_scatter(x=[None], y=[None], marker=rim, **said, **shown)
    frame(figure, [places, batch.anchor_place, batch.synthetic_places], {"row": 1, "col": 1})
    _similarities(figure, batch, {kind: scores[chosen] for kind, chosen in kinds.items()})
    figure = styled(figure, title, subtitle, height=560 + theme.LEGEND_LINE)
    # in a notebook's width the legend takes a second line
    margin = {"l": 30, "r": 30, "t": figure.layout.margin.t + theme.LEGEND_LINE, "b": 56}
    return figure.update_layout(margin=margin, barmode="stack", legend_traceorder="normal")


def _similarities(figure: go.Figure, batch: "BatchNeighbourhood", scores: dict[str, np.ndarray]) -> None:
    """The negatives as bars over their similarity, and below them every positive and every synthesised one."""
    everything = np.concatenate([*scores.values(), batch.synthetic_scores.numpy()]) - batch.threshold
    edges = batch.threshold + BIN * np.arange(np.floor(everything.min() / BIN), np.ceil(everything.max() / BIN) + 1)
    for kind, shade in (("easy negatives", translucent(theme.GREY, 0.7)), ("hard negatives", theme.VERMILION)):
        figure.add_bar(
            x=(edges[:-1] + edges[1:]) / 2,
            y=np.histogram(scores[kind], edges)[0],
            width=BIN,
            marker={"color": shade, "line": {"width": 0}},
            showlegend=False,
            hovertemplate=f"%{{y}} {kind} near %{{x:.2f}}<extra></extra>",
            row=1,
            col=2,
        )
    rows = [("positives", scores["positives"], {"color": translucent(theme.BLUE, 0.8), "symbol": "square"})]
    if len(batch.synthetic_scores):
        look = {"color": translucent(theme.PURPLE, 0.8), "symbol": "diamond-open"}
        rows.insert(0, ("synthesised", batch.synthetic_scores.numpy(), look))
    for height, (kind, values, look) in enumerate(rows):
        figure.add_scatter(
            x=values,
            y=np.full(len(values), height),
            mode="markers",
            marker={"size": 10, "line": {"width": 2 if kind == "synthesised" else 0}, **look},
            showlegend=False,
            hovertemplate=f"{label(kind)}: %{{x:.3f}}<extra></extra>",
            row=2,
            col=2,
        )
    ticks = {"tickvals": list(range(len(rows))), "ticktext": [kind for kind, *_ in rows]}
    figure.update_yaxes(range=[-0.7, len(rows) - 0.3], showgrid=False, **ticks, row=2, col=2)
    figure.update_yaxes(title="negatives", row=1, col=2)
    figure.update_xaxes(title="cosine with the anchor", row=2, col=2)
    figure.update_xaxes(ticks="", showline=True, row=1, col=2)
    most = max(np.histogram(scores[kind], edges)[0].max() for kind in ("easy negatives", "hard negatives"))
    figure.update_yaxes(range=[0, 1.14 * max(most, 1)], row=1, col=2)
    at, axes = batch.threshold, {"xref": "x2", "yref": "paper"}
    dashed = {"color": theme.INK, "width": 1.5, "dash": "dash"}
    figure.add_shape(type="line", x0=at, x1=at, y0=0, y1=1, **axes, line=dashed)
    right = at > edges.mean()  # the words stand where there is room
    side = {"xanchor": "right" if right else "left", "xshift": -5 if right else 5, "yanchor": "top"}
    said = {"text": "mean positive − margin", "font": {"size": 13, "color": theme.MUTED}, "showarrow": False}
    figure.add_annotation(x=at, y=1, **axes, **side, **said)
