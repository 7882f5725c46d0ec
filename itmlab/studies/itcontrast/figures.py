"""Figures of SynHNC: one anchor's memories as a map and in rows, what they are made of, and how hard each kind is.

Wu et al. (2023), ITContrast, Sec. 3.2. On the map the distance from the middle is the angle to the anchor.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float, Int
from numpy import ndarray
from PIL import Image
from plotly.subplots import make_subplots

from ...errors import ItmlabError
from ..kit import theme
from ..kit.canvas import Canvas, data_uri
from ..kit.theme import colour, label, shortened, styled, translucent
from .memory import Attribution, ReadOut, SynthesisBatch
from .sweeps import Terms

# One anchor's kernel associative memories: a map of its clusters and what they recall, and the same in rows.

RINGS = (0.75, 0.5, 0.25, 0.0, -0.25, -0.5)  # cosines
MAP = 430  # pixels a side
SYMBOLS = ("circle", "square")  # clusters 9 to 16 have the colours of 1 to 8 again
SMALLEST, LARGEST = 6.0, 24.0  # pixels a prototype: kernel weight 0, kernel weight 1
LARGE = 0.9  # radians: the side of the anchor's picture in the middle
STAR = 4  # which trace is the anchor's
LINKED = 0.05  # kernel weight from which a prototype is tied to what it helped to make
RIM = {"color": theme.INK, "width": 1.8}  # of what is synthetic
LEGEND = {
    "the anchor": {"symbol": "star", "size": 15, "color": theme.INK},
    "its match": {"symbol": "circle", "size": 11, "color": theme.PAPER, "line": {"color": theme.INK, "width": 3}},
    "a negative, sized by its kernel weight": {"symbol": "circle", "size": 12, "color": theme.GREY},
    "a synthetic negative": {"symbol": "diamond", "size": 13, "color": theme.GREY, "line": RIM},
}


def draw_kernel_memory(
    read_out: ReadOut,
    names: Sequence[str],
    *,
    title: str,
    subtitle: str = "",
    match: int | None = None,
    anchor: Image.Image | None = None,
) -> go.Figure:
    """Left a map: the anchor in its middle, every candidate as far out as the angle between the two says.

    Colours are clusters, sizes kernel weights, diamonds the synthetic negatives, tied to what they are made of. Right
    the same, a row a cluster: the cosine of each prototype with the anchor, and of the diamond. `names` are those of
    the candidates; `match` is the anchor's own; `anchor`, a picture, stands in the middle instead of a star. The number
    of traces is always the same.
    """
    figure = make_subplots(1, 2, column_widths=[0.56, 0.44], horizontal_spacing=0.12)
    hardness = np.nan_to_num(read_out.hardness.numpy(), nan=-2.0)  # empty clusters last
    order = [int(cluster) for cluster in np.argsort(-hardness, kind="stable")]
    _map(figure, read_out, names, match)
    _strips(figure, read_out, names, order)
    for name, marker in LEGEND.items():  # without colours of their own: colours are clusters
        look = {"mode": "markers", "marker": marker, "showlegend": anchor is None or name != "the anchor"}
        figure.add_scatter(x=[None], y=[None], name=name, **look, row=1, col=1)
    figure = styled(figure, title, subtitle, height=MAP)
    margin = {"l": 16, "r": 20, "t": figure.layout.margin.t + 8, "b": 56}
    figure.update_layout(width=theme.WIDTH, legend_y=1.03, bargap=0, margin=margin)
    shapes, notes = _rings(read_out)
    if match is not None:
        line, note = _match_line(float(read_out.score[match]), len(order))
        shapes, notes = [*shapes, line], [*notes, note]
    if anchor is not None:
        picture, frame = _framed(anchor)
        shapes = [*shapes, frame]
        figure.update_layout(images=[picture])
        figure.data[STAR].marker.opacity = 0  # below the picture, where it still says what it is
    # At once: plotly copies all of them again for each one added.
    figure.update_layout(shapes=shapes, annotations=[*notes, *_rows(read_out, order)])
    return figure.update_layout(height=figure.layout.margin.t + MAP + figure.layout.margin.b)


def _framed(anchor: Image.Image) -> tuple[dict, dict]:
    """The anchor's picture in the middle of the map, below what comes so near, and its frame."""
    place = {"x": 0, "y": 0, "xanchor": "center", "yanchor": "middle", "sizex": LARGE, "sizey": LARGE}
    ends = {"x0": -LARGE / 2, "x1": LARGE / 2, "y0": -LARGE / 2, "y1": LARGE / 2}
    on = {"xref": "x", "yref": "y", "layer": "below"}
    return {"source": data_uri(anchor), **place, **on}, {"type": "rect", **ends, **on, "line": RIM}


def _extent(read_out: ReadOut) -> float:
    """How far the map reaches from its middle."""
    everything = np.concatenate([read_out.place.numpy(), read_out.points_place.numpy()])
    return 1.04 * float(np.nanmax(np.linalg.norm(everything, axis=1)))


def _map(figure: go.Figure, read_out: ReadOut, names: Sequence[str], match: int | None) -> None:
    place, made = read_out.place.numpy(), read_out.points_place.numpy()
    extent = _extent(read_out)
    membership, kernel = read_out.membership.numpy(), read_out.kernel.numpy()
    tied = np.flatnonzero((membership >= 0) & (kernel >= LINKED))
    gap = np.full((len(tied), 2), np.nan)  # the line from one pair of ends does not go on to the next
    lines = np.stack([made[membership[tied]], place[tied], gap], axis=1).reshape(-1, 2)
    thin = {"color": translucent(theme.INK, 0.3), "width": 1.2}
    _points(figure, lines, 1, mode="lines", line=thin, hoverinfo="skip")
    shown = _shown(read_out)
    _points(figure, place[shown], 1, **_prototypes(read_out, names, shown))
    _points(figure, made, 1, **_synthetic(read_out, range(len(made))))
    own = place[[match]] if match is not None else np.zeros((0, 2))
    ring = {"size": 13, "symbol": "circle", "color": theme.PAPER, "line": {"color": theme.INK, "width": 3}}
    _points(figure, own, 1, marker=ring, hovertemplate="its match<extra></extra>")
    star = {"size": 19, "symbol": "star", "color": theme.INK, "line": {"color": theme.PAPER, "width": 1.5}}
    _points(figure, np.zeros((1, 2)), 1, marker=star, hovertemplate="the anchor<extra></extra>")
    hidden = {"visible": False, "range": [-extent, extent], "automargin": False}
    figure.update_xaxes(**hidden, row=1, col=1, constrain="domain")
    figure.update_yaxes(**hidden, row=1, col=1, scaleanchor="x", constrain="domain")


def _rings(read_out: ReadOut) -> tuple[list[dict], list[dict]]:
    """Circles where the cosine with the anchor is so much, and that number on the top of each."""
    radii = {cosine: float(np.arccos(cosine)) for cosine in RINGS}
    radii = {cosine: radius for cosine, radius in radii.items() if radius <= _extent(read_out)}
    ring = {"type": "circle", "xref": "x", "yref": "y", "line": {"color": theme.RULE, "width": 1.3}, "layer": "below"}
    look = {"showarrow": False, "font": {"size": 11, "color": theme.MUTED}, "bgcolor": theme.PAPER, "borderpad": 1}
    shapes = [{**ring, "x0": -radius, "x1": radius, "y0": -radius, "y1": radius} for radius in radii.values()]
    place = {"x": 0, "xref": "x", "yref": "y"}
    return shapes, [
        {"text": f"{cosine:g}".replace("-", "−"), "y": radius, **place, **look} for cosine, radius in radii.items()
    ]


def _strips(figure: go.Figure, read_out: ReadOut, names: Sequence[str], order: Sequence[int]) -> None:
    membership, score = read_out.membership.numpy(), read_out.score.numpy()
    shown = _shown(read_out)
    rows = np.argsort(order)[membership[shown]]  # the row of each cluster is its place in the order
    _points(figure, np.stack([score[shown], rows], axis=1), 2, **_prototypes(read_out, names, shown))
    hardness = read_out.hardness.numpy()
    diamonds = np.stack([hardness[order], np.arange(len(order), dtype=float)], axis=1)
    _points(figure, diamonds, 2, **_synthetic(read_out, order))
    low = float(np.nanmin(np.concatenate([score[shown], hardness, [0.0]])))
    figure.update_xaxes(title="cosine with the anchor", range=[low - 0.06, 1.02], showgrid=True, row=1, col=2)
    figure.update_yaxes(range=[len(order) - 0.45, -0.75], showgrid=False, showticklabels=False, row=1, col=2)


def _shown(read_out: ReadOut) -> Int[ndarray, "prototype"]:
    """The prototypes, the heaviest first: the small ones lie above."""
    prototypes = np.flatnonzero(read_out.membership.numpy() >= 0)
    return prototypes[np.argsort(-read_out.kernel.numpy()[prototypes], kind="stable")]


def _prototypes(read_out: ReadOut, names: Sequence[str], shown: Sequence[int]) -> dict:
    clusters, kernel = read_out.membership.numpy()[shown], read_out.kernel.numpy()[shown]
    said = _digits(read_out.score.numpy()[shown], kernel, read_out.coefficients.numpy()[shown])
    return {
        "marker": {
            "size": SMALLEST + (LARGEST - SMALLEST) * np.sqrt(kernel),
            "color": [translucent(colour(cluster % 8), 0.75) for cluster in clusters],
            "symbol": [SYMBOLS[cluster // 8 % 2] for cluster in clusters],
            "line": {"color": theme.PAPER, "width": 0.8},
        },
        "customdata": np.stack([[label(names[at]) for at in shown], *said], axis=1),
        "hovertemplate": (
            "%{customdata[0]}<br>cosine %{customdata[1]}, kernel weight %{customdata[2]}, "
            "coefficient %{customdata[3]}<extra></extra>"
        ),
    }


def _synthetic(read_out: ReadOut, clusters: Sequence[int]) -> dict:
    hardness, lengths = read_out.hardness.numpy(), read_out.points.norm(dim=1).numpy()
    listed = list(clusters)
    shades = [colour(cluster % 8) for cluster in listed]
    return {
        "marker": {"size": 15, "symbol": "diamond", "color": shades, "line": RIM},
        "customdata": np.stack(_digits(hardness[listed], lengths[listed]), axis=1),
        "hovertemplate": "synthetic: cosine %{customdata[0]}, length %{customdata[1]}<extra></extra>",
    }


def _points(figure: go.Figure, places: Float[ndarray, "point 2"], column: int, **style: object) -> None:
    style = {"mode": "markers", "cliponaxis": False, "showlegend": False, **style}
    # As a dictionary: a Scatter would be validated twice, which an explorer's slider waits for.
    figure.add_trace({"type": "scatter", "x": places[:, 0], "y": places[:, 1], **style}, row=1, col=column)


def _match_line(score: float, rows: int) -> tuple[dict, dict]:
    """A dashed line through the rows where the match scores, and its name."""
    ends = {"x0": score, "x1": score, "y0": -0.62, "y1": rows - 0.45, "xref": "x2", "yref": "y2"}
    line = {"color": theme.INK, "width": 1.5, "dash": "dash"}
    look = {"x": score, "y": -0.62, "xref": "x2", "yref": "y2", "showarrow": False, "yanchor": "bottom"}
    return (
        {"type": "line", **ends, "line": line, "layer": "below"},
        {"text": "its match", **look, "font": {"size": 12}},
    )


def _rows(read_out: ReadOut, order: Sequence[int]) -> list[dict]:
    """Left of each strip how many prototypes the cluster has, and how many of them share the weight."""
    place = {"x": 0, "xref": "x2 domain", "xanchor": "right", "xshift": -8, "yref": "y2", "showarrow": False}
    said = []
    for row, cluster in enumerate(order):
        number = len(read_out.prototypes(cluster))
        text = f"{number} · <b>{read_out.effective(cluster):.1f}</b>" if number else "empty"
        shade = colour(cluster % 8) if number else theme.MUTED
        said.append({"text": text, "y": row, **place, "font": {"size": 12, "color": shade}})
    font = {"size": 11, "color": theme.MUTED}
    return [*said, {"text": "size · effective", "y": -0.62, **place, "yanchor": "bottom", "font": font}]


def _digits(*columns: Float[ndarray, "point"]) -> list[list[str]]:
    """For hovering: three digits, as text, whose zeros and minus signs stay as they are."""
    return [[f"{value:.3f}".replace("-", "−") for value in column] for column in columns]


# From a batch to a loss (Figure 1): features, an anchor's clusters, what their memories recall, InfoCMR's denominator.

PANELS = {  # axis -> left, right, lower and upper end on the paper, what it shows, and how
    "x3": (0.03, 0.40, 0.55, 1.0, "1 · encode", "cosines of the batch, an anchor a row"),
    "x": (0.56, 1.0, 0.53, 1.0, "2 · cluster", "k-means of its negatives; nearer the middle, harder"),
    "x2": (0.10, 0.44, 0.0, 0.38, "3 · recall", "a memory a cluster, Eqs. 2–5: what it makes (diamonds)"),
    "x4": (0.70, 0.97, 0.0, 0.34, "4 · contrast", "InfoCMR, Eq. 7: who is in the denominator"),
}
ARROWS = (
    (0.505, 0.775, -42, 0),
    (0.475, 0.445, 48, -34),
    (0.515, 0.24, -38, 0),
)  # from panel to panel: end, and pixels


def draw_itcontrast(
    batch: SynthesisBatch, read_out: ReadOut, terms: Terms, *, title: str, subtitle: str = ""
) -> go.Figure:
    """One anchor picture's way through ITContrast, a panel a step, all of the same batch.

    The cosines of all pairs, the anchor's row framed; its negatives by cluster on the map of `draw_kernel_memory`, and
    in rows with the synthetic negative of each cluster beside the real ones; the share of each kind of term in the
    denominator, and the loss. ItmlabError: captions as anchors.
    """
    if batch.direction != "image":
        raise ItmlabError("the anchor of this figure is a picture", remedy='synthesis_batch(…, direction="image")')
    figure, anchor = make_subplots(2, 2), read_out.anchor
    names = [batch.candidate_name(index) for index in range(len(batch.captions))]
    hardness = np.nan_to_num(read_out.hardness.numpy(), nan=-2.0)
    order = [int(cluster) for cluster in np.argsort(-hardness, kind="stable")]
    _map(figure, read_out, names, anchor)
    _strips(figure, read_out, names, order)
    for name, marker in LEGEND.items():
        look = {"mode": "markers", "marker": marker, "showlegend": name != "the anchor"}  # which is there itself
        figure.add_scatter(x=[None], y=[None], name=name, **look, row=1, col=1)
    cosines = {"colorscale": [(0, theme.PAPER), (1, theme.BLUE)], "zmin": 0, "zmax": 1, "showscale": False}
    hover = "picture %{y}, caption %{x}: cosine %{z:.2f}<extra></extra>"
    figure.add_heatmap(z=batch.scores.numpy(), **cosines, hovertemplate=hover, row=2, col=1)
    loss = _denominator(figure, terms)
    figure = styled(figure, title, subtitle, height=760)
    count = len(names)
    bare = {"showticklabels": False, "ticks": "", "showline": False, "range": [-0.5, count - 0.5]}
    figure.update_layout(xaxis3={**bare, "title": f"{count} captions"}, yaxis3={**bare, "title": f"{count} pictures"})
    figure.update_layout(yaxis3_range=[count - 0.5, -0.5], yaxis3_showgrid=False)
    shapes, notes = _rings(read_out)
    line, note = _match_line(float(read_out.score[anchor]), len(order))
    frame = {"x0": -0.5, "x1": count - 0.5, "y0": anchor - 0.5, "y1": anchor + 0.5, "xref": "x3", "yref": "y3"}
    shapes += [line, {"type": "rect", **frame, "line": {"color": theme.VERMILION, "width": 2}}]
    notes += [note, *_rows(read_out, order), *_steps(figure, terms.temperature, loss)]
    picture, framed = _framed(batch.data.images[int(batch.images[anchor])])
    figure.data[STAR].marker.opacity = 0
    margin = {"l": 30, "r": 24, "t": figure.layout.margin.t + 52, "b": 56}
    figure.update_layout(shapes=[*shapes, framed], annotations=notes, images=[picture], margin=margin)
    return figure.update_layout(width=theme.WIDTH, legend_y=1.1, bargap=0.3)


def _denominator(figure: go.Figure, terms: Terms) -> float:
    """Bars of what each kind of term has of the denominator; returns the loss, −log of the match's share."""
    kinds = list(dict.fromkeys(("match", *terms.kind)))
    shares = {kind: [s for s, of in zip(terms.share, terms.kind, strict=True) if of == kind] for kind in kinds}
    values = [100 * float(sum(shares[kind])) for kind in kinds]
    shades = {"match": theme.BLUE, "synthetic negatives": theme.VERMILION, "Gaussian noise": theme.SKY}
    figure.add_bar(
        x=values,
        y=[f"{label(kind).replace(' of the ', '<br>of the ')} ({len(shares[kind])})" for kind in kinds],
        orientation="h",
        marker_color=[shades.get(kind, theme.GREY) for kind in kinds],
        text=[f"{value:.1f} %" for value in values],
        textposition="outside",
        cliponaxis=False,
        hovertemplate="%{x:.2f} %<extra></extra>",
        showlegend=False,
        row=2,
        col=2,
    )
    figure.update_xaxes(title="share, %", range=[0, 1.25 * max(values)], nticks=5, row=2, col=2)
    figure.update_yaxes(autorange="reversed", showgrid=False, row=2, col=2)
    return -float(np.log(sum(shares["match"])))


def _steps(figure: go.Figure, temperature: float, loss: float) -> list[dict]:
    """Every panel in its place with its name, the arrows between them, and what comes out."""
    paper = {"xref": "paper", "yref": "paper", "showarrow": False, "xanchor": "left"}
    notes = []
    for axis, (left, right, low, high, name, said) in PANELS.items():
        figure.layout[f"xaxis{axis[1:]}"].domain = (left, right)
        figure.layout[f"yaxis{axis[1:]}"].domain = (low, high)
        at = 0.0 if left < 0.5 else 0.54
        notes.append({"text": f"<b>{name}</b>", "x": at, "y": high, **paper, "yshift": 44, "font_size": 15})
        notes.append(
            {"text": said, "x": at, "y": high, **paper, "yshift": 24, "font": {"size": 12, "color": theme.MUTED}}
        )
    result = f"−log(share of the match) = <b>{loss:.2f}</b>, at τ = {temperature:g}"
    notes.append({"text": result, "x": 0.54, "y": 0.34, **paper, "yshift": 4})
    look = {"text": "", "showarrow": True, "arrowhead": 2, "arrowwidth": 3, "arrowcolor": theme.GREY}
    return notes + [{**paper, **look, "x": x, "y": y, "ax": ax, "ay": ay} for x, y, ax, ay in ARROWS]


# What synthetic negatives are made of: a row each, with the pictures or captions whose features it holds most of.

PROTOTYPES_ROW, SIDE, PICTURE = 78, 16, 60  # pixels


def draw_prototypes(
    made: Sequence[Attribution],
    candidates: Sequence[str] | Sequence[Image.Image],
    *,
    title: str,
    subtitle: str = "",
    anchor: Image.Image | None = None,
    match: float | None = None,
    columns: int = 3,
) -> go.Figure:
    """A row a synthetic negative in the order given: its cosine, then its heaviest prototypes with kernel weights.

    `candidates` are all captions or all pictures of the batch, `anchor` an anchor's picture, shown on the left, `match`
    the cosine of its match. The world's truth label, where there is one, says whether a prototype is in truth a match.
    """
    canvas, left = Canvas(), SIDE
    if anchor is not None:
        canvas.picture(data_uri(anchor), SIDE, 24, 150, 150)
        left += 174
    first, tall = left + 118, PROTOTYPES_ROW + 14 * (len(candidates) > 0 and isinstance(candidates[0], str))
    room = (theme.WIDTH - SIDE - first) / columns
    canvas.words("cosine", left + 36, 0, size=13, colour=theme.MUTED)
    canvas.words("its heaviest prototypes, with their kernel weights", first, 0, size=13, colour=theme.MUTED)
    for row, one in enumerate(made):
        top = 24 + tall * row
        middle = top + (tall - 8) / 2
        box = {"fillcolor": theme.PANEL, "line": {"color": theme.RULE, "width": 1}, "layer": "below"}
        canvas.rectangle(left, top, theme.WIDTH - SIDE - left, tall - 8, **box)
        canvas.rectangle(left, top, 8, tall - 8, fillcolor=colour(one.cluster % 8), line={"width": 0})
        beyond = match is not None and one.hardness > match
        cosine = f"{one.hardness:.2f}".replace("-", "−")
        canvas.words(f"<b>{cosine}</b>", left + 36, middle - (9 if beyond else 0), size=17, down="middle")
        if beyond:
            canvas.words("above the match", left + 20, middle + 14, size=11, colour=theme.MUTED, down="middle")
        for column, index in enumerate(one.prototypes[:columns]):
            truth_label = None if one.truth_labels is None else int(one.truth_labels[column])
            _cell(canvas, candidates[index], one.weights[column], truth_label, first + column * room, top, room)
    height = max(24 + tall * len(made), 190 if anchor is not None else 60) + 8
    return canvas.figure(title, subtitle, height=height)


def _cell(
    canvas: Canvas, shown: str | Image.Image, weight: float, truth_label: int | None, x: float, top: float, room: float
) -> None:
    """One prototype: its picture or caption, its weight as a bar and in percent, and the truth label."""
    left, width = x, room - 14
    if isinstance(shown, str):
        lines = label(shown, width=max(int(width / 6.6), 8), lines=3)
        canvas.words(lines, left, top + 7, size=12)
    else:
        canvas.picture(data_uri(shown, largest=160), left, top + 5, PICTURE, PICTURE)
        left, width = left + PICTURE + 8, width - PICTURE - 8
    y = top + PROTOTYPES_ROW - 8 if isinstance(shown, str) else top + 22
    bar = 0.36 * width
    for length, shade in ((bar, theme.RULE), (bar * weight, theme.INK)):
        canvas.rectangle(left, y - 4, length, 8, fillcolor=shade, line={"width": 0})
    canvas.words(f"{100 * weight:.0f} %", left + bar + 6, y, size=12, down="middle")
    if truth_label is not None:
        shade, said = theme.TRUTH_LABELS[truth_label]
        place = (left + bar + 48, y) if isinstance(shown, str) else (left, y + 22)
        canvas.words(f"<b>{shortened(said, 12, 100)}</b>", *place, size=12, colour=shade, down="middle")


# How hard negatives are: the cosines of each kind of them in a row of its own, over one axis.

COLOURS = {
    "matches": theme.BLUE,
    "negatives of the batch": theme.GREY,
    "the hardest of them": "#44546A",
    "synthetic negatives": theme.ORANGE,
    "the hardest synthetic": theme.VERMILION,
    "Gaussian noise": theme.SKY,
}
BINS = 80
HARDNESS_ROW = 74  # pixels


def draw_hardness(scores: Mapping[str, Float[ndarray, "score"]], *, title: str, subtitle: str = "") -> go.Figure:
    """A histogram a kind, the first on top, each as high as the others at its peak; its mean is marked and written.

    A kind without any score keeps its row. Kinds that `hardness` names have colours of their own.
    """
    names, figure = list(scores), go.Figure()
    shades = [COLOURS.get(name, colour(index)) for index, name in enumerate(names)]
    every = np.concatenate([*scores.values(), []])
    low, high = (every.min(), every.max()) if len(every) else (0, 1)
    edges = np.linspace(float(low), float(high) + 1e-9, BINS + 1)
    beside = {"x": 0, "xref": "x domain", "xanchor": "right", "xshift": -14, "yref": "y", "yanchor": "middle"}
    for row, (name, shade) in enumerate(zip(names, shades, strict=True)):
        counts = np.histogram(scores[name], edges)[0]
        heights = 0.82 * counts / max(counts.max(), 1)
        base = len(names) - 1 - row
        ends = [edges[0], *np.repeat(edges[1:-1], 2), edges[-1]]
        x, y = [*ends, edges[-1], edges[0]], [*(base + np.repeat(heights, 2)), base, base]
        look = {"fill": "toself", "fillcolor": translucent(shade, 0.45), "line": {"color": shade, "width": 1.4}}
        figure.add_scatter(x=x, y=y, mode="lines", hoverinfo="skip", **look)
        mean = float(np.mean(scores[name])) if len(scores[name]) else None
        ring = {"size": 11, "color": theme.PAPER, "line": {"color": shade, "width": 3}}
        hover = f"{label(name)}: {len(scores[name]):,}, mean %{{x:.3f}}<extra></extra>"
        figure.add_scatter(x=[mean], y=[base], mode="markers", marker=ring, cliponaxis=False, hovertemplate=hover)
        said = f"mean {round(mean, 2) + 0.0:.2f}".replace("-", "−") if mean is not None else "none"
        bold, count = f"<b>{label(name)}</b>", f"{len(scores[name]):,}, {said}"
        for text, up, ink, size in ((bold, 0.40, theme.INK, 14), (count, 0.14, theme.MUTED, 12)):
            font = {"size": size, "color": ink}
            figure.add_annotation(text=text, y=base + up, **beside, showarrow=False, font=font)
    figure.update_xaxes(title="cosine with the anchor")
    figure.update_yaxes(visible=False, range=[-0.16, len(names)])
    figure = styled(figure, title, subtitle, height=150 + HARDNESS_ROW * len(names), legend=False)
    return figure.update_layout(margin_l=210)
