"""Figures of attention (where words land: FNE, Figures 3 and 7) and of the common space (ITContrast, Figure 2)."""

from collections.abc import Mapping, Sequence
from itertools import chain
from math import ceil

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Bool, Float, Int64
from numpy import ndarray
from PIL import Image
from plotly.subplots import make_subplots

from ..analysis.attention import AttentionMap
from ..analysis.embeddings import BatchNeighbourhood
from . import theme
from .canvas import Canvas, data_uri, draw_heat_scale, draw_table, enlarged, heat, outlined
from .theme import TRUTH_LABELS, colour, label, styled, translucent


def draw_attention_maps(
    maps: Mapping[str, Sequence[AttentionMap]],
    *,
    title: str = "Where each word lands",
    subtitle: str = "",
    outlines: Sequence[Bool[ndarray, "height width"] | None] = (),
    numbers: Sequence[int] | None = None,
) -> go.Figure:
    """Draw a picture, then each word's map over it, a row per checkpoint; a long row is broken.

    Args:
        maps: by checkpoint, the maps of the same words of the same picture. Places above a map's average are coloured;
            each map has its own range.
        title: the figure's title.
        subtitle: what is shown.
        outlines: for each word the visible pixels of the object that it means (or None), drawn as a white line.
        numbers: the words' numbers; default: 0, 1, …. The pointer finds the words ("words") and the patches of the
            picture ("patches", as the first checkpoint's).
    """
    columns = min(max((len(row) for row in maps.values()), default=0) + 1, 6)
    side, gap, head = 16, 14, 26
    cell = min(230.0, (theme.WIDTH - 2 * side - gap * (columns - 1)) / columns)
    canvas, top = Canvas(), 0.0
    targets: dict[str, list[tuple[float, float, float, int]]] = {"patches": [], "words": []}  # x, y, size, number
    for name, row in maps.items():
        canvas.words(f"<b>{label(name)}</b>", side, top + 4)
        tall = cell * min(1.0, row[0].picture.height / row[0].picture.width) if row else 0.0
        if row:
            canvas.picture(data_uri(row[0].picture), side, top + head, cell, tall)
            targets["patches"] += _patches(row[0], next(iter(maps.values()))[0].weights.shape, side, top + head, tall)
        for index, attention in enumerate(row):
            line, column = divmod(index, columns - 1)
            left, high = side + (column + 1) * (cell + gap), top + line * (tall + head + 4)
            overlaid = painted(attention, outlines[index] if outlines else None)
            wide = tall * attention.picture.width / attention.picture.height  # a portrait leaves room on its right
            canvas.words(label(attention.word), left + wide / 2, high + 4, colour=theme.MUTED, across="center")
            canvas.picture(data_uri(overlaid, largest=288, photographic=True), left, high + head, cell, tall)
            number = numbers[index] if numbers else index
            targets["words"].append((left + wide / 2, high + head + tall / 2, min(wide, tall), number))
        top += max(1, ceil(len(row) / max(columns - 1, 1))) * (tall + head + 4) + 12
    draw_heat_scale(canvas, side, top)
    figure = canvas.figure(title, subtitle, height=top + 28)
    for kind, marks in targets.items():
        x, y, size, number = np.array(marks).reshape(-1, 4).T
        look = {"mode": "markers", "marker": {"size": size, "symbol": "square", "opacity": 0}, "hoverinfo": "none"}
        figure.add_scatter(x=x, y=y, customdata=number.astype(int), meta=kind, **look)
    return figure.update_layout(dragmode=False, modebar_remove=["select", "lasso"])


def painted(attention: AttentionMap, outline: Bool[ndarray, "height width"] | None = None) -> Image.Image:
    """Paint a word's map over its picture, with the border of the object as a white line."""
    overlaid = heat(attention.picture, attention.weights)
    return overlaid if outline is None else outlined(overlaid, outline, theme.PAPER, rim=True)


def _patches(
    shown: AttentionMap, grid: tuple[int, int], left: float, top: float, tall: float
) -> list[tuple[float, float, float, int]]:
    """Return where the patches of a picture `tall` pixels high lie: their middles, their size, their number."""
    rows, columns = grid
    high, wide = tall / rows, tall * shown.picture.width / shown.picture.height / columns
    places = ((left + (n % columns + 0.5) * wide, top + (n // columns + 0.5) * high, n) for n in range(rows * columns))
    return [(x, y, min(high, wide), number) for x, y, number in places]


BEST = 8  # words listed for a patch


def draw_words_on_patch(maps: Mapping[str, Sequence[AttentionMap]], patch: int) -> go.Figure:
    """Draw the picture with one patch framed, beside the words that land on it most by the last checkpoint.

    Args:
        maps: by checkpoint, the maps of the same words of the same picture.
        patch: its number by row in the first checkpoint's grid. Where another has a finer grid, the patch at the same
            place is taken.
    """
    first, last = next(iter(maps.values())), list(maps.values())[-1]
    if not first:
        return Canvas().figure("No word lands here", "the caption has none", height=20)
    rows, columns = first[0].weights.shape
    row, column = divmod(patch, columns)
    at = (row + 0.5) / rows, (column + 0.5) / columns

    def weight(attention: AttentionMap) -> float:
        down, across = attention.weights.shape
        return float(attention.weights[int(at[0] * down), int(at[1] * across)])

    best = sorted(range(len(last)), key=lambda number: -weight(last[number]))[:BEST]
    table = {"caption": [first[number].word for number in best]}
    table |= {name: [f"{weight(row[number]):.2f}" for number in best] for name, row in maps.items()}
    mask = np.zeros((rows, columns), dtype=bool)
    mask[row, column] = True
    picture = outlined(enlarged(first[0].picture, 256), mask, theme.PAPER, rim=True)
    subtitle = f"row {row + 1}, column {column + 1}; a word's weight there"
    widths = [5.0] + [1.4] * len(maps)
    return draw_table(table, title="What lands on this patch", subtitle=subtitle, widths=widths, picture=picture)


# Maps of features: several kinds of points in one plane, a panel a model, one picture and its captions picked out.

SYMBOLS = ("square", "circle", "diamond", "triangle-up", "x", "star")
KNOWN_LABELS = {text: shade for shade, text in TRUTH_LABELS.values()} | {"right": theme.GREEN, "wrong": theme.VERMILION}
DIGITS = 2  # behind the point of a place: a hundredth of a unit is less than a pixel
MOST, FEW = 2000, 300  # points per panel: more make a page heavy; few are drawn larger
SIDE, GAP = 30, 0.03  # pixels left and right; the share of the width between two panels


def draw_projection(
    panels: Mapping[str, Mapping[str, Float[ndarray, "point 2"]]],
    *,
    title: str = "The common space",
    subtitle: str = "",
    ids: Mapping[str, Sequence[str]] | None = None,
    picked: Mapping[str, Sequence[int]] | None = None,
    joined: bool = True,
    labels: Mapping[str, Sequence[str]] | None = None,
    most: int = MOST,
) -> go.Figure:
    """Draw points in the plane, a panel per map. Axes have no unit: only what lies near what has a meaning.

    Args:
        panels: `panels[map][kind]` are the places of points.
        title: the figure's title.
        subtitle: what is shown.
        ids: names of the points by kind, shown on hover. A point's `customdata` is its number within its kind.
        picked: numbers of points by kind that are always shown.
        joined: whether lines join the first picked point of the first kind to all others.
        labels: what each point of a kind is coloured by; by default its kind.
        most: of more points per panel, a random sample is drawn, the same in every panel, and the subtitle says so.
    """
    ids, picked, subtitles = ids or {}, picked or {}, [subtitle] if subtitle else []
    figure = make_subplots(1, len(panels), subplot_titles=[label(name) for name in panels], horizontal_spacing=GAP)
    first = next(iter(panels.values()))
    total = max(sum(map(len, first.values())), 1)
    if labels:
        kinds = (f"{symbol}s: {kind}" for symbol, kind in zip(SYMBOLS, first, strict=False))
        subtitles.append(", ".join(kinds))
    if total > most:
        subtitles.append(f"{most:,} of {total:,} points drawn")
    labels = labels or {kind: [kind] * len(points) for kind, points in first.items()}
    colours = {text: colour(number) for number, text in enumerate(dict.fromkeys(chain(*labels.values())))}
    colours |= KNOWN_LABELS
    listed: set[str] = set()
    for column, groups in enumerate(panels.values(), start=1):
        place = {"row": 1, "col": column}
        for number, (kind, points) in enumerate(groups.items()):
            sampled = _sample(len(points), most / total, picked.get(kind, ()), number)
            few_and_large = number == 0  # as pictures are beside captions
            size = 9 if total < FEW else 6 if few_and_large else 4.5
            symbol = {"symbol": SYMBOLS[number], "size": size, "opacity": 0.75 if few_and_large else 0.6}
            of_point = np.array(labels[kind], dtype=object)[sampled]
            for text in dict.fromkeys(of_point):
                shown = sampled[of_point == text]
                names = [label(ids[kind][n]) if kind in ids else f"{label(kind)} {n}" for n in shown.tolist()]
                x, y = points[shown].round(DIGITS).T
                entry = {"name": label(text), "legendgroup": text, "showlegend": text not in listed}
                hover = {"customdata": shown, "meta": kind, "text": names, "hovertemplate": "%{text}<extra></extra>"}
                marker = {"color": colours[text], **symbol}
                figure.add_scatter(x=x, y=y, mode="markers", marker=marker, **entry, **hover, **place)
                listed.add(text)
        spots = np.array([groups[kind][index] for kind in groups for index in picked.get(kind, ())]).reshape(-1, 2)
        _pick(figure, spots, place, joined=joined)
        figure.update_yaxes(scaleanchor=f"x{column if column > 1 else ''}", **place)
    frame = {"showline": True, "mirror": True, "linecolor": theme.RULE}
    for axes in (figure.update_xaxes, figure.update_yaxes):
        axes(showticklabels=False, ticks="", showgrid=False, **frame)
    side = (theme.WIDTH - 2 * SIDE) * (1 - GAP * (len(panels) - 1)) / len(panels)
    figure = styled(figure, title, "; ".join(subtitles), height=round(side))
    legend_lines = sum(8 * len(trace.name) + 50 for trace in figure.data if trace.showlegend) // 850  # pixels
    above, side = figure.layout.margin.t + 26 + 22 * legend_lines, min(side, 640)
    margin = {"l": SIDE, "r": SIDE, "t": above, "b": 20}
    legend = {"itemsizing": "constant", "y": 1 + 32 / side}
    figure.update_annotations(yshift=5)  # the maps' names, off the frames
    return figure.update_layout(height=round(side + above + 20), margin=margin, legend=legend)


def _sample(points: int, share: float, always: Sequence[int], seed: int) -> Int64[ndarray, "shown"]:
    """Return the points that are drawn: about `share` of them by lot, and those in `always`."""
    drawn = np.random.default_rng(seed).permutation(points)[: round(min(share, 1) * points)]
    return np.union1d(drawn, np.asarray(always, dtype=np.int64))


def _pick(figure: go.Figure, spots: Float[ndarray, "spot 2"], place: dict[str, int], *, joined: bool) -> None:
    """Draw rims about the picked points, and lines from the first one to the others if they are joined."""
    others = spots[1:] if joined else []
    ends = np.array([end for other in others for end in (spots[0], other, (np.nan, np.nan))]).reshape(-1, 2)
    line = {"color": translucent(theme.INK, 0.65), "width": 1.5}
    silent = {"hoverinfo": "skip", **place}
    figure.add_scatter(x=ends[:, 0], y=ends[:, 1], mode="lines", line=line, showlegend=False, **silent)
    look = {"color": theme.PURPLE, "opacity": 1, "line": {"color": theme.PAPER, "width": 1.5}}
    look["symbol"] = ["square", *["circle"] * len(spots[1:])]
    look["size"] = [13, *[10] * len(spots[1:])]
    named = {"name": "one picture and its captions" if joined else "selected"}
    named["showlegend"] = place["col"] == 1 and len(spots) > 0
    figure.add_scatter(x=spots[:, 0], y=spots[:, 1], mode="markers", marker=look, **named, **silent)


# A batch around one anchor on a map (ITContrast, Fig. 2).


def draw_batch_neighbourhood(batch: BatchNeighbourhood, *, ids: Sequence[str]) -> go.Figure:
    """Draw the candidates of one anchor on a map: easy and hard negatives, true ones, positives and synthetic ones.

    A triplet loss learns from hard negatives: they are nearer to the anchor than the positives less the margin.

    Args:
        batch: the anchor's candidates.
        ids: names of the candidates by their number in the data, shown on hover.
    """
    true = (batch.hard & False if batch.true is None else batch.true) & ~batch.positives
    kinds = {
        "easy negatives": ~(batch.positives | batch.hard | true),
        "hard negatives": batch.hard & ~true,
        "true, yet called negative": true,
        "positives": batch.positives,
    }
    groups, names = {}, {}
    for kind, chosen in kinds.items():
        numbers = batch.index[chosen].tolist()
        groups[f"{kind} ({len(numbers)})"] = batch.places[chosen.numpy()]
        names[f"{kind} ({len(numbers)})"] = [ids[number] for number in numbers]
    groups |= {f"synthetic ({len(batch.synthetic_places)})": batch.synthetic_places, "anchor": batch.anchor_place}
    return draw_projection({"": groups}, title="A batch around one anchor", ids=names)
