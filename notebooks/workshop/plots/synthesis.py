"""Figures of SynHNC and InfoCMR: an anchor's memories as a map, what they are made of, and InfoCMR's denominator.

References:
    Wu et al. (2023), ITContrast, Sec. 3.2. On the map the distance from the middle is the angle to the anchor.
"""

from collections.abc import Sequence
from itertools import zip_longest

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float
from numpy import ndarray
from PIL import Image

from ..analysis.kernel_memory import Attribution, ReadOut
from . import theme
from .canvas import data_uri, draw_table
from .theme import colour, label, styled, translucent

# One anchor's kernel associative memories: a map of its clusters and what they recall.

RINGS = (0.75, 0.5, 0.25, 0.0, -0.25, -0.5)  # cosines
MAP = 560  # pixels per side
SMALLEST, LARGEST = 6.0, 24.0  # pixels per prototype: kernel weight 0, kernel weight 1
PICTURE = 0.9  # radians: side of the anchor's picture in the middle
LINKED = 0.05  # kernel weight from which a prototype is linked to the negative that it helped to make
ON_MAP = {"xref": "x", "yref": "y", "layer": "below"}


def draw_kernel_memory(
    read_out: ReadOut,
    names: Sequence[str],
    *,
    title: str = "",
    subtitle: str = "",
    match: int,
    anchor: Image.Image | None = None,
) -> go.Figure:
    """Draw a map with the anchor in its middle and every candidate as far out as its angle to the anchor.

    Colours are clusters, sizes kernel weights, diamonds synthetic negatives; lines link a diamond to its prototypes.

    Args:
        read_out: one anchor's memories.
        names: names of the candidates, shown on hover.
        title: the figure's title.
        subtitle: the settings.
        match: the anchor's own candidate.
        anchor: a picture for the middle, instead of a star.
    """
    figure = go.Figure()
    place, points = read_out.place.numpy(), read_out.points_place.numpy()
    membership, kernel = read_out.membership.numpy(), read_out.kernel.numpy()
    linked = np.flatnonzero((membership >= 0) & (kernel >= LINKED))
    gap = np.full((len(linked), 2), np.nan)  # ends a line
    links = np.stack([points[membership[linked]], place[linked], gap], axis=1).reshape(-1, 2)
    thin = {"color": translucent(theme.INK, 0.3), "width": 1.2}
    figure.add_scatter(x=links[:, 0], y=links[:, 1], mode="lines", line=thin, hoverinfo="skip", showlegend=False)

    prototypes = np.flatnonzero(membership >= 0)
    prototypes = prototypes[np.argsort(-kernel[prototypes], kind="stable")]  # small ones lie above large ones
    shades = [translucent(colour(cluster), 0.75) for cluster in membership[prototypes]]
    sizes = SMALLEST + (LARGEST - SMALLEST) * np.sqrt(kernel[prototypes])
    marker = {"size": sizes, "color": shades, "line": {"color": theme.PAPER, "width": 0.8}}
    texts = [
        f"{label(names[index])}<br>cosine {read_out.score[index]:.3f}, kernel weight {kernel[index]:.3f}, "
        f"coefficient {read_out.coefficients[index]:.3f}, cluster {membership[index] + 1}"
        for index in prototypes
    ]
    _add_points(figure, place[prototypes], "a negative, sized by its kernel weight", marker, texts)
    shades = [colour(cluster) for cluster in range(len(points))]
    marker = {"size": 15, "symbol": "diamond", "color": shades, "line": {"color": theme.INK, "width": 1.8}}
    texts = [_describe(read_out, cluster) for cluster in range(len(points))]
    _add_points(figure, points, "a synthetic negative", marker, texts)
    ring = {"size": 13, "color": theme.PAPER, "line": {"color": theme.INK, "width": 3}}
    _add_points(figure, place[[match]], "its match", ring, [f"its match: cosine {read_out.score[match]:.3f}"])
    if anchor is None:
        star = {"size": 19, "symbol": "star", "color": theme.INK}
        _add_points(figure, np.zeros((1, 2)), "the anchor", star, ["the anchor"])
    else:
        middle = {"x": 0, "y": 0, "xanchor": "center", "yanchor": "middle", "sizex": PICTURE, "sizey": PICTURE}
        figure.add_layout_image(source=data_uri(anchor), **middle, **ON_MAP)
    extent = 1.04 * float(np.nanmax(np.linalg.norm(np.concatenate([place, points]), axis=1)))
    for cosine, radius in zip(RINGS, np.arccos(RINGS).tolist(), strict=True):
        if radius <= extent:
            circle = {"x0": -radius, "x1": radius, "y0": -radius, "y1": radius}
            figure.add_shape(type="circle", **circle, line={"color": theme.RULE, "width": 1.3}, **ON_MAP)
            note = {"font": {"size": 11, "color": theme.MUTED}, "bgcolor": theme.PAPER, "showarrow": False}
            figure.add_annotation(text=f"{cosine:g}".replace("-", "−"), x=0, y=radius, **note)
    hidden = {"visible": False, "range": [-extent, extent], "constrain": "domain"}
    figure.update_xaxes(**hidden)
    figure.update_yaxes(**hidden, scaleanchor="x")
    figure = styled(figure, title, subtitle, height=MAP + 120)
    return figure.update_layout(width=theme.WIDTH, margin={"l": 16, "r": 16, "b": 16})


def _add_points(
    figure: go.Figure, places: Float[ndarray, "point 2"], name: str, marker: dict, texts: Sequence[str]
) -> None:
    hover = {"hovertext": list(texts), "hovertemplate": "%{hovertext}<extra></extra>"}
    figure.add_scatter(x=places[:, 0], y=places[:, 1], name=name, mode="markers", marker=marker, **hover)


def _describe(read_out: ReadOut, cluster: int) -> str:
    size = int((read_out.membership == cluster).sum())
    return (
        f"synthetic, cluster {cluster + 1}: cosine {read_out.hardness[cluster]:.3f}, "
        f"length {read_out.points[cluster].norm():.3f}; {size} prototypes, {read_out.effective(cluster):.1f} effective"
    )


# What synthetic negatives are made of: the captions whose features each contains most of.


def draw_prototypes(
    attributions: Sequence[Attribution],
    candidates: Sequence[str],
    *,
    title: str = "",
    subtitle: str = "",
    anchor: Image.Image | None = None,
    match: float,
    columns: int = 3,
) -> go.Figure:
    """Draw each synthetic negative with its heaviest prototypes, their kernel weights and their truth labels.

    Args:
        attributions: the synthetic negatives, in the order of rows.
        candidates: all captions of the batch.
        title: the figure's title.
        subtitle: the settings.
        anchor: the anchor's picture, shown beside the table.
        match: the cosine of the anchor's match.
        columns: prototypes shown for each.
    """
    heads, notes = [], []
    for number, attribution in enumerate(attributions, start=1):
        above = " (above the match)" if attribution.hardness > match else ""
        heads.append(f"{number}: cosine {attribution.hardness:.2f}{above}".replace("-", "−"))
        notes.append([_note(attribution, place) for place in range(len(attribution.prototypes[:columns]))])
    shown = [[candidates[index] for index in attribution.prototypes[:columns]] for attribution in attributions]
    table = {"synthetic negative": heads}
    cells = [
        [f"{caption} {note}" for caption, note in zip(*row, strict=True)] for row in zip(shown, notes, strict=True)
    ]
    for place, column in enumerate(zip_longest(*cells, fillvalue=""), start=1):
        table[f"prototype {place}"] = column
    widths = [1.4] + [2.2] * (len(table) - 1)
    return draw_table(table, title=title, subtitle=subtitle, widths=widths, picture=anchor)


def _note(attribution: Attribution, place: int) -> str:
    note = f"({100 * attribution.weights[place]:.0f} %)"
    if attribution.truth_labels is not None:
        note += f" {theme.TRUTH_LABELS[int(attribution.truth_labels[place])][1]}"
    return note
