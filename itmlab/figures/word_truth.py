"""What a model says of words, and what it makes of sentences, against what the world says of them."""

from typing import TYPE_CHECKING

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from .intervals import error_bars
from .labels import label
from .theme import BLUE, GREEN, GREY, INK, MUTED, PAPER, VERDICTS, VERMILION, WIDTH, styled

if TYPE_CHECKING:
    from ..explain.word_truth import WordTruth

SHADES = {"kept": BLUE, "replaced, true": GREEN, "replaced, undecided": GREY, "replaced, false": VERMILION}


def word_truth(truth: "WordTruth", *, title: str, subtitle: str = "") -> go.Figure:
    """Left: how often words are said not to fit, by what the world says of them, with 95 % intervals. Right: verdicts
    on captions, on the sentences made of them and on the corrected ones, in percent.
    """
    panels = ("words said not to fit", "sentences, by the world's verdict")
    figure = make_subplots(1, 2, subplot_titles=panels, horizontal_spacing=0.16)
    names, shares = list(truth.mismatched), list(truth.mismatched.values())
    figure.add_bar(
        x=[share.percent if share.of else 0 for share in shares],
        y=[
            f"{label(name)}<br><span style='color:{MUTED}'>{share.of:,} words</span>"
            for name, share in truth.mismatched.items()
        ],
        orientation="h",
        marker_color=[SHADES[name] for name in names],
        error_x=error_bars(shares, INK),
        customdata=[str(share) for share in shares],
        hovertemplate="%{customdata}<extra></extra>",
        showlegend=False,
        row=1,
        col=1,
    )
    for at, share in enumerate(shares):
        if share.of:
            text = f"<b>{share.percent:.0f} %</b>"
            figure.add_annotation(
                x=share.upper, y=at, text=text, showarrow=False, xanchor="left", xshift=8, row=1, col=1
            )
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
