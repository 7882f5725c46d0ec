"""Maps of features: several kinds of points in one plane, a panel a model, one picture and its captions picked out."""

from collections.abc import Mapping, Sequence

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float, Int64
from numpy import ndarray
from plotly.subplots import make_subplots

from .labels import label
from .theme import INK, PAPER, PURPLE, RULE, WIDTH, colour, styled, translucent

SYMBOLS = ("square", "circle", "diamond", "triangle-up")
DIGITS = 2  # behind the point of a place: a hundredth of a unit is less than a pixel
MOST = 2000  # points a panel: more make a page heavy and show nothing more
SIDE, GAP = 30, 0.03  # pixels left and right; the share of the width between two panels


def projection(
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
    names = list(panels)
    figure = make_subplots(
        1, max(len(names), 1), subplot_titles=[label(name) for name in names], horizontal_spacing=GAP
    )
    everything = sum(map(len, panels[names[0]].values())) if names else 0
    for column, groups in enumerate(panels.values(), start=1):
        place = {"row": 1, "col": column}
        for number, (kind, points) in enumerate(groups.items()):
            shown = _sample(len(points), most / max(sum(map(len, groups.values())), 1), picked.get(kind, ()), number)
            figure.add_scatter(
                x=points[shown, 0].round(DIGITS),
                y=points[shown, 1].round(DIGITS),
                mode="markers",
                name=label(kind),
                legendgroup=kind,
                showlegend=column == 1,
                marker={
                    "symbol": SYMBOLS[number % len(SYMBOLS)],
                    "size": 6 if number == 0 else 4.5,
                    "color": colour(number),
                    "opacity": 0.75 if number == 0 else 0.6,
                    "line": {"width": 0},
                },
                customdata=shown,
                text=_names(kind, shown, ids),
                hovertemplate="%{text}<extra></extra>",
                **place,
            )
        _pick(figure, groups, picked, place, first=column == 1)
        frame(figure, list(groups.values()), place)
    if everything > most:
        subtitle = f"{subtitle}{'; ' if subtitle else ''}{most:,} of {everything:,} points drawn"
    side = (WIDTH - 2 * SIDE) * (1 - GAP * (len(names) - 1)) / max(len(names), 1)
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
    border = {"showline": True, "mirror": True, "linecolor": RULE}
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


def _names(kind: str, shown: Int64[ndarray, "shown"], ids: Mapping[str, Sequence[str]] | None) -> list[str]:
    if ids is None or kind not in ids:
        return [f"{label(kind)} {index}" for index in shown.tolist()]
    return [label(ids[kind][index]) for index in shown.tolist()]


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
    ends = np.array(lines).reshape(-1, 2)
    figure.add_scatter(
        x=ends[:, 0],
        y=ends[:, 1],
        mode="lines",
        line={"color": translucent(INK, 0.65), "width": 1.5},
        hoverinfo="skip",
        showlegend=False,
        **place,
    )
    spots = np.array(chosen).reshape(-1, 2)
    sizes = [13] + [10] * (len(spots) - 1)
    figure.add_scatter(
        x=spots[:, 0],
        y=spots[:, 1],
        mode="markers",
        name="one picture and its captions",
        marker={
            "symbol": ["square"] + ["circle"] * (len(spots) - 1),
            "size": sizes[: len(spots)],
            "color": PURPLE,
            "opacity": 1,
            "line": {"color": PAPER, "width": 1.5},
        },
        hoverinfo="skip",
        showlegend=first and bool(chosen),
        **place,
    )
