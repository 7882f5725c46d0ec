"""Figures of attention (where words land: FNE, Figures 3 and 7) and of the common space (ITContrast, Figure 2)."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Bool, Float, Int64
from numpy import ndarray
from PIL import Image
from plotly.subplots import make_subplots

from . import theme
from .bars import Dot, Row, interval_rows
from .canvas import Canvas, data_uri, draw_captioned, draw_table, enlarged, heat, outlined
from .theme import colour, label, styled, translucent

if TYPE_CHECKING:
    from ..analysis.attention import AttentionMap
    from ..analysis.embeddings import BatchNeighbourhood, SharedWord


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


# Does attention land on the object that the word means?

Interval = tuple[float, float, float]
PANELS = {"accuracy": "map's peak is on the object", "mass": "mass of the map on the object"}


def draw_pointing_bars(
    measures: Mapping[str, Mapping[str, Interval]], chance: float, *, title: str, subtitle: str = ""
) -> go.Figure:
    """Draw how often maps land on what a word means, in percent, with intervals.

    Args:
        measures: `measures[checkpoint]["accuracy" | "mass"]` = (value, lower, upper), shares from 0 to 1.
        chance: the objects' mean share of the picture, which a flat map reaches.
    """
    rows: list[Row] = [("chance", [Dot(100 * chance, shade=theme.GREY, text=f"{100 * chance:.1f} %")] * len(PANELS))]
    for number, (name, measured) in enumerate(measures.items()):
        cells = []
        for measure in PANELS:
            value, lower, upper = (100 * share for share in measured[measure])
            cells.append(Dot(value, lower, upper, colour(number), f"{value:.1f} %"))
        rows.append((name, cells))
    return interval_rows(rows, axes=[{"title": "%"}] * 2, title=title, subtitle=subtitle, panels=list(PANELS.values()))


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


# Words that set some captions apart from all others, beside a picture that they belong to.


def draw_shared_words(
    shared: "Sequence[SharedWord]",
    pictures: Sequence[Image.Image],
    *,
    title: str = "What they share",
    subtitle: str = "",
) -> go.Figure:
    """Draw a table of words with their shares of these captions and of all others, beside the first picture."""
    columns = {
        "word": [entry.word for entry in shared] or ["no word stands out"],
        "of these captions": [f"{100 * entry.share:.0f} %" for entry in shared],
        "of all others": [f"{100 * entry.elsewhere:.0f} %" for entry in shared],
    }
    return draw_table(columns, title=title, subtitle=subtitle, picture=pictures[0] if pictures else None)


# A batch around one anchor on a map, and the similarities of its negatives (ITContrast, Fig. 2).

BIN = 0.05  # of cosine
LOOKS = {
    "easy negatives": {"color": translucent(theme.GREY, 0.55), "size": 7},
    "hard negatives": {"color": theme.VERMILION, "size": 9},
    "positives": {"color": theme.BLUE, "size": 11, "symbol": "square"},
    "synthesised": {"color": theme.PURPLE, "size": 13, "symbol": "diamond-open"},
}


def draw_batch_neighbourhood(
    batch: "BatchNeighbourhood", *, title: str, subtitle: str = "", ids: Sequence[str] | None = None
) -> go.Figure:
    """Draw the candidates of one anchor on a map (left), and how many have which similarity with it (right).

    Hard negatives lie right of the dashed line: a triplet loss learns from them. A green rim marks a negative that the
    world calls true.

    Args:
        ids: names of the candidates by their number in the data. A point's `customdata` is that number.
    """
    figure = make_subplots(1, 2, column_widths=[0.55, 0.45], horizontal_spacing=0.1)
    scores, index = batch.scores.numpy(), batch.index.numpy()
    easy = ~(batch.positives | batch.hard)
    kinds = {"easy negatives": easy.numpy(), "hard negatives": batch.hard.numpy(), "positives": batch.positives.numpy()}
    true = np.zeros(len(index), dtype=bool) if batch.true is None else batch.true.numpy()
    groups = {kind: (batch.places[chosen], scores[chosen], index[chosen]) for kind, chosen in kinds.items()}
    made = batch.synthetic_scores.numpy()
    if len(made):
        groups["synthesised"] = batch.synthetic_places, made, np.full(len(made), -1)
    for kind, (places, similarity, numbers) in groups.items():
        names = [f"candidate {number}" if ids is None or number < 0 else label(ids[number]) for number in numbers]
        is_true = true[kinds[kind]] if kind in kinds else np.zeros(len(numbers), dtype=bool)
        rims = np.where(is_true, theme.GREEN, theme.PAPER).tolist()
        figure.add_scatter(
            x=places[:, 0],
            y=places[:, 1],
            mode="markers",
            name=f"{kind} ({len(places)})",
            marker={**LOOKS[kind], "line": {"color": rims, "width": 2}},
            customdata=numbers,
            text=[f"{name}: {score:.2f}" for name, score in zip(names, similarity, strict=True)],
            hovertemplate=f"%{{text}}<extra>{kind}</extra>",
            row=1,
            col=1,
        )
        bins = {"start": -1, "end": 1.001, "size": BIN}
        shade = LOOKS[kind]["color"]
        figure.add_histogram(x=similarity, xbins=bins, marker_color=shade, name=kind, showlegend=False, row=1, col=2)
    star = {"color": theme.INK, "size": 17, "symbol": "star"}
    figure.add_scatter(
        x=batch.anchor_place[:, 0], y=batch.anchor_place[:, 1], mode="markers", marker=star, name="anchor", row=1, col=1
    )
    frame(figure, [batch.places, batch.anchor_place, batch.synthetic_places], {"row": 1, "col": 1})
    figure.add_vline(x=batch.threshold, line={"color": theme.INK, "width": 1.5, "dash": "dash"}, row=1, col=2)
    figure.update_xaxes(title="cosine with the anchor", row=1, col=2)
    figure.update_yaxes(title="candidates", row=1, col=2)
    figure = styled(figure, title, subtitle, height=560)
    return figure.update_layout(barmode="stack", margin_t=figure.layout.margin.t + 26)
