"""Recall against how many candidates count as relevant: found any of them, and found which share (SAM, Figure 3)."""

from collections.abc import Mapping, Sequence

import plotly.graph_objects as go
from jaxtyping import Float
from numpy import ndarray
from plotly.subplots import make_subplots

from .labels import label
from .recall import DIRECTIONS
from .theme import GREY, PAPER, colour, styled

SENSES = {"any": "found any of the m", "share": "share of the m found (SR)"}


def semantic_recall_by_m(
    relevant: Sequence[int],
    recalls: Mapping[str, Mapping[str, Mapping[str, Float[ndarray, "m"]]]],
    *,
    k: int,
    title: str,
    subtitle: str = "",
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
            place, first = {"row": row, "col": column}, row == column == 1
            if sense == "share":
                most = [100 * min(1.0, k / m) for m in relevant]
                line = {"color": GREY, "width": 2, "dash": "dot"}
                name = f"the most that {k} places can hold"
                figure.add_scatter(
                    x=list(relevant),
                    y=most,
                    mode="lines",
                    name=name,
                    line=line,
                    legendgroup="most",
                    showlegend=row == 1,
                    **place,
                )
            for index, (model, by_direction) in enumerate(recalls.items()):
                figure.add_scatter(
                    x=list(relevant),
                    y=list(by_direction[direction][sense]),
                    name=label(model),
                    legendgroup=model,
                    showlegend=first,
                    mode="lines+markers",
                    line={"color": colour(index), "width": 3},
                    marker={"size": 8, "line": {"color": PAPER, "width": 1}},
                    hovertemplate=f"{label(model)}, m = %{{x}}: %{{y:.1f}} %<extra></extra>",
                    **place,
                )
    figure.update_xaxes(type="log", tickvals=list(relevant), ticktext=[str(m) for m in relevant])
    figure.update_xaxes(title="m: candidates that count as relevant", row=len(directions))
    shown = {sense: max(max(by[d][sense]) for by in recalls.values() for d in directions) for sense in senses}
    for column, sense in enumerate(senses, start=1):
        figure.update_yaxes(range=[0, min(104, 1.2 * shown[sense] + 1)], col=column)
    figure.update_yaxes(title=f"top {k}, %", col=1)
    figure = styled(figure, title, subtitle, height=170 + 270 * len(directions))
    # above the panels' own titles
    return figure.update_layout(legend={"y": 1.0 + 0.09 / len(directions)}, margin_t=figure.layout.margin.t + 26)
