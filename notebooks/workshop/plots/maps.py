"""Figures of attention (where words land: FNE, Figures 3 and 7) and of the common space (ITContrast, Figure 2)."""

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Bool, Float, Int64
from numpy import ndarray
from PIL import Image
from plotly.subplots import make_subplots

from . import theme
from .canvas import Canvas, data_uri, draw_heat_scale, draw_table, enlarged, heat, outlined
from .theme import TRUTH_LABELS, colour, label, styled, translucent

if TYPE_CHECKING:
    from ..analysis.attention import AttentionMap
    from ..analysis.embeddings import BatchNeighbourhood


def draw_attention_maps(
    maps: Mapping[str, "Sequence[AttentionMap]"],
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
        numbers: the words' numbers; the pointer then finds the words ("words") and the patches of the picture
            ("patches", as the first checkpoint's).
    """
    words = max((len(row) for row in maps.values()), default=0)
    columns = min(words + 1, 6)
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
            overlaid = painted(attention, outlines[index] if index < len(outlines) else None)
            wide = tall * attention.picture.width / attention.picture.height  # a portrait leaves room on its right
            canvas.words(label(attention.word), left + wide / 2, high + 4, colour=theme.MUTED, across="center")
            canvas.picture(data_uri(overlaid, largest=288, photographic=True), left, high + head, cell, tall)
            if numbers is not None:
                targets["words"].append((left + wide / 2, high + head + tall / 2, min(wide, tall), numbers[index]))
        top += max(1, -(-len(row) // max(columns - 1, 1))) * (tall + head + 4) + 12
    draw_heat_scale(canvas, side, top)
    figure = canvas.figure(title, subtitle, height=top + 28)
    for kind, marks in targets.items() if numbers is not None else ():
        x, y, size, number = zip(*marks, strict=True) if marks else ((), (), (), ())
        look = {"mode": "markers", "marker": {"size": size, "symbol": "square", "opacity": 0}, "hoverinfo": "none"}
        figure.add_scatter(x=x, y=y, customdata=number, meta=kind, **look)
    if numbers is not None:
        figure.update_layout(dragmode=False, modebar_remove=["select", "lasso"])
    return figure


def painted(attention: "AttentionMap", outline: Bool[ndarray, "height width"] | None = None) -> Image.Image:
    """Paint a word's map over its picture, with the border of the object as a white line."""
    overlaid = heat(attention.picture, attention.weights)
    return overlaid if outline is None else outlined(overlaid, outline, theme.PAPER, rim=True)


def _patches(
    shown: "AttentionMap", grid: tuple[int, int], left: float, top: float, tall: float
) -> list[tuple[float, float, float, int]]:
    """Return where the patches of a picture `tall` pixels high lie: their middles, their size, their number."""
    rows, columns = grid
    high, wide = tall / rows, tall * shown.picture.width / shown.picture.height / columns
    middles = ((left + (n % columns + 0.5) * wide, top + (n // columns + 0.5) * high) for n in range(rows * columns))
    return [(*middle, min(high, wide), number) for number, middle in enumerate(middles)]


BEST = 8  # words listed for a patch


def draw_words_on_patch(maps: Mapping[str, "Sequence[AttentionMap]"], patch: int) -> go.Figure:
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

    def weight(attention: "AttentionMap") -> float:
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
    picked = {kind: list(picked[kind]) for kind in picked} if picked else {}
    names, count = list(panels), max(len(panels), 1)
    figure = make_subplots(1, count, subplot_titles=[label(name) for name in names], horizontal_spacing=GAP)
    everything = sum(map(len, panels[names[0]].values())) if names else 0
    for column, groups in enumerate(panels.values(), start=1):
        place = {"row": 1, "col": column}
        share = most / max(sum(map(len, groups.values())), 1)
        colours = {text: colour(number) for number, text in enumerate(sorted(set(chain(*(labels or {}).values()))))}
        colours |= KNOWN_LABELS
        for number, (kind, points) in enumerate(groups.items()):
            sampled = _sample(len(points), share, picked.get(kind, ()), number)
            of_point = np.array(labels[kind] if labels else [kind] * len(points), dtype=object)
            first = number == 0  # of few and large points, as pictures are beside captions
            names_of = ids[kind] if ids and kind in ids else None
            for text in dict.fromkeys(of_point[sampled].tolist()):
                shown = sampled[of_point[sampled] == text]
                figure.add_scatter(
                    x=points[shown, 0].round(DIGITS),
                    y=points[shown, 1].round(DIGITS),
                    mode="markers",
                    name=label(text),
                    meta=kind,
                    legendgroup=text,
                    showlegend=column == 1 and (first or not labels),
                    marker={
                        "symbol": SYMBOLS[number % len(SYMBOLS)],
                        "color": colours.get(text, colour(number)),
                        "size": 9 if everything < FEW else 6 if first else 4.5,
                        "opacity": 0.75 if first else 0.6,
                    },
                    customdata=shown,
                    text=[label(names_of[n]) if names_of else f"{label(kind)} {n}" for n in shown.tolist()],
                    hovertemplate="%{text}<extra></extra>",
                    **place,
                )
        _pick(figure, groups, picked, place, joined=joined, first=column == 1)
        figure.update_yaxes(scaleanchor=f"x{column if column > 1 else ''}", **place)
    bare = {"showticklabels": False, "ticks": "", "showgrid": False}
    border = {"showline": True, "mirror": True, "linecolor": theme.RULE}
    figure.update_xaxes(**bare, **border)
    figure.update_yaxes(**bare, **border)
    if labels:
        kinds = ", ".join(f"{SYMBOLS[number % len(SYMBOLS)]}s: {kind}" for number, kind in enumerate(panels[names[0]]))
        subtitle = f"{subtitle}{'; ' if subtitle else ''}{kinds}"
    if everything > most:
        subtitle = f"{subtitle}{'; ' if subtitle else ''}{most:,} of {everything:,} points drawn"
    side = (theme.WIDTH - 2 * SIDE) * (1 - GAP * (len(names) - 1)) / count
    figure = styled(figure, title, subtitle, height=round(side))
    entries = [trace.name for trace in figure.data if trace.showlegend]
    legend_lines = sum(8 * len(entry) + 50 for entry in entries) // 850  # pixels
    above, side = figure.layout.margin.t + 26 + 22 * legend_lines, min(side, 640)
    margin = {"l": SIDE, "r": SIDE, "t": above, "b": 20}
    legend = {"itemsizing": "constant", "y": 1 + 32 / side}
    figure.update_annotations(yshift=5)  # the maps' names, off the frames
    return figure.update_layout(height=round(side + above + 20), margin=margin, legend=legend)


def _sample(points: int, share: float, always: Sequence[int], seed: int) -> Int64[ndarray, "shown"]:
    """Return the points that are drawn: about `share` of them by lot, and those in `always`."""
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
    joined: bool,
    first: bool,
) -> None:
    """Draw rims about the picked points, and lines from the first one to the others if they are joined."""
    chosen = [groups[kind][index] for kind in groups for index in picked.get(kind, ())]
    others = chosen[1:] if joined else []
    lines = [end for other in others for end in (chosen[0], other, (np.nan, np.nan))]
    ends, spots = np.array(lines).reshape(-1, 2), np.array(chosen).reshape(-1, 2)
    silent = {"hoverinfo": "skip", **place}
    line = {"color": translucent(theme.INK, 0.65), "width": 1.5}
    figure.add_scatter(x=ends[:, 0], y=ends[:, 1], mode="lines", line=line, showlegend=False, **silent)
    others = len(spots) - 1
    shapes = {"symbol": ["square"] + ["circle"] * others, "size": ([13] + [10] * others)[: len(spots)]}
    look = {"color": theme.PURPLE, "opacity": 1, "line": {"color": theme.PAPER, "width": 1.5}}
    name = "one picture and its captions" if joined else "selected"
    named = {"name": name, "showlegend": first and bool(chosen)}
    figure.add_scatter(x=spots[:, 0], y=spots[:, 1], mode="markers", marker=shapes | look, **named, **silent)


# A batch around one anchor on a map (ITContrast, Fig. 2).


def draw_batch_neighbourhood(batch: "BatchNeighbourhood", *, ids: Sequence[str]) -> go.Figure:
    """Draw the candidates of one anchor on a map: easy and hard negatives, true ones, positives and synthetic ones.

    A triplet loss learns from hard negatives: they are nearer to the anchor than the positives less the margin.

    Args:
        batch: the anchor's candidates.
        ids: names of the candidates by their number in the data, shown on hover.
    """
    true = (batch.true if batch.true is not None else batch.hard & False) & ~batch.positives
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
