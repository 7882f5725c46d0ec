"""What a model says of words, and what it makes of sentences, against what the world says of them."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from .intervals import error_bars
from .labels import label
from .theme import BLUE, GREEN, GREY, INK, MUTED, PAPER, VERDICTS, VERMILION, WIDTH, styled

if TYPE_CHECKING:
    from ..explain.word_truth import WordTruth
    from ..metrics.share import Share

SHADES = {"kept": BLUE, "replaced, true": GREEN, "replaced, undecided": GREY, "replaced, false": VERMILION}


def word_truth(
    truth: "WordTruth", *, title: str, subtitle: str = "", control: "Mapping[str, Share] | None" = None
) -> go.Figure:
    """Left: how often words are said not to fit, by what the world says of them, with 95 % intervals. Right: verdicts
    on captions, on the sentences made of them and on the corrected ones, in percent.

    `control`, the shares of the same words asked in another way, stands pale under each bar.
    """
    panels = ("words said not to fit", "sentences, by the world's verdict")
    figure = make_subplots(1, 2, subplot_titles=panels, horizontal_spacing=0.16)
    names, shares = list(truth.mismatched), list(truth.mismatched.values())
    rows = [
        f"{label(name)}<br><span style='color:{MUTED}'>{share.of:,} words</span>"
        for name, share in truth.mismatched.items()
    ]
    _bars(figure, rows, names, shares, None if control is None else (-0.36, 0.4))
    stages = list(truth.sentences)
    totals = [max(sum(counts.values()), 1) for counts in truth.sentences.values()]
    for verdict, (shade, said) in VERDICTS.items():
        values = [100 * truth.sentences[stage][verdict] / total for stage, total in zip(stages, totals, strict=True)]
        figure.add_bar(
            x=values,
            y=stages,
            orientation="h",
            name=said,
            marker_color=shade,
            text=[f"{value:.0f}" if value >= 5 else "" for value in values],
            textposition="inside",
            insidetextanchor="middle",
            textangle=0,
            textfont={"color": PAPER, "size": 14},
            hovertemplate=f"{said}: %{{x:.1f}} %<extra></extra>",
            row=1,
            col=2,
        )
    if control is not None:
        _bars(figure, rows, names, [control[name] for name in names], (0.08, 0.24), pale=True)
        shares = [*shares, *control.values()]
    largest = max((share.upper for share in shares if share.of), default=100.0)
    figure.update_xaxes(title="said not to fit, %", range=[0, 1.2 * largest], row=1, col=1)
    figure.update_xaxes(title="sentences, %", range=[0, 100], row=1, col=2)
    figure.update_yaxes(autorange="reversed", showgrid=False, tickfont={"size": 13, "color": INK}, ticklabelstandoff=6)
    figure = styled(figure, title, subtitle, height=440)
    figure.update_annotations(selector={"yanchor": "bottom", "xref": "paper"}, font={"size": 15, "color": MUTED})
    return figure.update_layout(
        title={"x": 16 / WIDTH, "xref": "container"},
        barmode="stack",
        bargap=0.35,
        legend={"y": 1.11, "x": 0.58, "traceorder": "normal"},
        margin={"t": figure.layout.margin.t + 30, "l": 140},
    )


def _bars(
    figure: go.Figure,
    rows: Sequence[str],
    names: Sequence[str],
    shares: "Sequence[Share]",
    place: tuple[float, float] | None,
    *,
    pale: bool = False,
) -> None:
    """A bar in each row of the left panel; `place`: where in its row it begins, and how high it is."""
    offset, width = (None, None) if place is None else place
    figure.add_bar(
        x=[share.percent if share.of else 0 for share in shares],
        y=list(rows),
        orientation="h",
        offset=offset,
        width=width,
        base=None if place is None else 0,  # or the pale one would be stacked on the other
        marker_color=[SHADES[name] for name in names],
        marker_opacity=0.4 if pale else 1,
        error_x=error_bars(shares, MUTED if pale else INK),
        customdata=[str(share) for share in shares],
        hovertemplate="%{customdata}<extra></extra>",
        showlegend=False,
        row=1,
        col=1,
    )
    for at, share in enumerate(shares):
        if share.of:
            text = f"{share.percent:.0f} %" if pale else f"<b>{share.percent:.0f} %</b>"
            middle = at if place is None else at + offset + width / 2
            figure.add_annotation(
                x=share.upper,
                y=middle,
                text=text,
                font={"color": MUTED if pale else INK, "size": 12 if pale else 14},
                showarrow=False,
                xanchor="left",
                xshift=8,
                row=1,
                col=1,
            )
