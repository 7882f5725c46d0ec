"""How well words are discriminated and corrected, by type of phrase (TAGS-DC, Sec. 4.4)."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from .intervals import error_bars
from .labels import label
from .theme import BLUE, GREY, INK, MUTED, ORANGE, VERMILION, WIDTH, styled

if TYPE_CHECKING:
    from ..metrics.discrimination import WordAccuracy
    from ..metrics.share import Share

PAPER_ACCURACY = {"word discrimination": 66.5, "word correction": 87.3}  # Sec. 4.4: Flickr30K, words not named
SERIES = {"replaced": (VERMILION, "diamond"), "kept": (BLUE, "circle"), "all": (INK, "square")}


def word_accuracy(
    accuracies: "Mapping[str, Mapping[str, WordAccuracy]]",
    *,
    title: str,
    subtitle: str = "",
    paper: Mapping[str, float] | None = PAPER_ACCURACY,
) -> go.Figure:
    """A panel for each task of `accuracies[task][words]`, a row in it for each sort of words, with 95 % intervals.

    Three points a row: replaced words, kept words, all of them. A grey line is what all would be for a model that
    calls every word kept, or copies it; the dashed line, in the first row (of all words), the paper's number.
    """
    tasks, gap = list(accuracies), 0.24
    figure = make_subplots(
        1, len(tasks), subplot_titles=[*map(label, tasks)], shared_yaxes=True, horizontal_spacing=0.06
    )
    rows = list(next(iter(accuracies.values())))
    for column, task in enumerate(tasks, start=1):
        for number, (name, (shade, symbol)) in enumerate(SERIES.items()):
            shares: list[Share] = [getattr(accuracies[task][row], name) for row in rows]
            there = [at for at, share in enumerate(shares) if share.of]
            figure.add_scatter(
                x=[shares[at].percent for at in there],
                y=[at + gap * (number - 1) for at in there],
                error_x=error_bars([shares[at] for at in there], shade),
                mode="markers",
                name=f"{name} words",
                legendgroup=name,
                showlegend=column == 1,
                marker={"color": shade, "symbol": symbol, "size": 11},
                customdata=[str(shares[at]) for at in there],
                hovertemplate=f"{name} words: %{{customdata}}<extra></extra>",
                cliponaxis=False,
                row=1,
                col=column,
            )
        lazy = [_kept_share(accuracies[task][row]) for row in rows]
        figure.add_scatter(
            x=[value for share in lazy for value in (share, share, None)],
            y=[place for at in range(len(rows)) for place in (at - 0.38, at + 0.38, None)],
            mode="lines",
            name="all words, if nothing is ever found wrong",
            legendgroup="lazy",
            showlegend=column == 1,
            line={"color": GREY, "width": 2},
            hoverinfo="skip",
            row=1,
            col=column,
        )
        if paper and task in paper:
            line = {"color": ORANGE, "width": 2, "dash": "dash"}
            figure.add_shape(x0=paper[task], x1=paper[task], y0=-0.45, y1=0.45, line=line, row=1, col=column)
            words = {"text": f"paper {paper[task]:.1f} %", "font": {"color": MUTED, "size": 13}, "showarrow": False}
            figure.add_annotation(
                x=paper[task], y=0.45, xanchor="right", xshift=-5, yanchor="middle", **words, row=1, col=column
            )
    figure.update_xaxes(range=[-2, 102], tickvals=list(range(0, 101, 20)), title="right, %", showgrid=True)
    figure.update_yaxes(
        tickvals=list(range(len(rows))),
        ticktext=[label(row) for row in rows],
        range=[len(rows) - 0.3, -0.5],
        showgrid=False,
    )
    figure.update_yaxes(tickfont={"size": 14, "color": INK}, col=1)
    figure = styled(figure, title, subtitle, height=170 + 78 * len(rows))
    figure.update_annotations(selector={"yanchor": "bottom", "xref": "paper"}, font={"size": 15, "color": MUTED})
    return figure.update_layout(
        title={"x": 16 / WIDTH, "xref": "container"},
        legend={"y": 1.09},
        margin={"t": figure.layout.margin.t + 26, "l": 110},
    )


def _kept_share(accuracy: "WordAccuracy") -> float:
    return 100 * accuracy.kept.of / max(accuracy.all.of, 1)
