"""Figures of negatives: their sentences as rows, their scores beside the captions', their difficulty over a training.

TAGS-DC (Fan et al., 2022), Figures 1a, 1b and 3. Changed words are in colour and underlined.
"""

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from operator import itemgetter

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float, Integer
from numpy import ndarray
from PIL import Image
from plotly.subplots import make_subplots

from ...errors import ItmlabError
from ...synthesis import Negative
from ...text.alignment import token_characters
from ...text.graph import tokenise
from ..kit.canvas import Canvas, data_uri
from ..kit.theme import BLUE, INK, MUTED, ORANGE, PANEL, PURPLE, RULE, TRUTH_LABELS, WIDTH, label, styled, translucent
from .negatives import DifficultyHistory, SyntheticNegatives

# Negatives of one caption as a list, and the hardest of several captions (Figure 1b).

SIDE, ROW, BAR = 16, 50, 76  # pixels: margin, height of a negative, width of the bar of its score


@dataclass(frozen=True)
class Example:
    """A picture, its caption with its score, and named negatives; `scores` are theirs on the same scale."""

    picture: Image.Image
    caption: str
    score: float | None
    negatives: dict[str, Negative]
    scores: dict[str, float] = field(default_factory=dict)

    @classmethod
    def of(cls, made: Mapping[str, SyntheticNegatives], at: int) -> "Example":
        """The hardest negative of the `at`-th caption by each named source; all were made of the same captions."""
        first = next(iter(made.values()))
        data, caption = first.data, first.captions[at]
        found = {name: one for name, source in made.items() if len(one := source.only(at).first(1))}
        hardest = {name: one.negatives[0][0] for name, one in found.items()}
        scores = {name: one.scores[1].item() for name, one in found.items()}
        own = next((one.scores[0].item() for one in found.values()), None)
        return cls(data.images[int(data.image_of_caption[caption])], data.captions[caption], own, hardest, scores)


def draw_negative_list(
    picture: Image.Image,
    caption: str,
    negatives: Sequence[Negative],
    *,
    title: str,
    subtitle: str = "",
    score: float | None = None,
    scores: Sequence[float] | None = None,
    own_captions: Sequence[str] = (),
) -> go.Figure:
    """A picture with its caption, beside it negatives as rows in the order given, changed words underlined.

    `score` and `scores` are the model's for the caption (the thin line on each bar) and for each negative. Fluency is
    a perplexity; the truth label is the world's on the negative.
    """
    canvas, size = Canvas(), 190
    canvas.picture(data_uri(picture), SIDE, 0, size, size)
    below = _beside(canvas, caption, score, own_captions, size)
    left, right, top = SIDE + size + 26, WIDTH - SIDE, 26.0
    bar, perplexity = right - 304, right - 118
    heads = {"negative": (left + 10, "left"), "score": (bar, "left"), "perplexity": (perplexity, "right")}
    for head, (x, across) in {**heads, "the world says": (right, "right")}.items():
        canvas.words(head, x, 0, size=13, colour=MUTED, across=across)
    values = [0.0, *(scores or ()), *([] if score is None else [score])]
    ends = min(values), max(*values, 1e-9)  # of the bars, which always show where zero is
    for at, negative in enumerate(negatives):
        text = marked(negative, width=41, lines=3)
        row = max(ROW, 18 * (text.count("<br>") + 1) + 14)
        middle = top + (row - 6) / 2
        style = {"fillcolor": PANEL, "line": {"color": RULE, "width": 1}, "layer": "below"}
        canvas.rectangle(left, top, right + 6 - left, row - 6, **style)
        canvas.words(text, left + 10, middle, size=13, down="middle")
        if scores is not None:
            _bar(canvas, scores[at], score, ends, bar, middle)
        fluent = "" if negative.fluency is None else short(negative.fluency)
        canvas.words(fluent, perplexity, middle, size=13, across="right", down="middle")
        _truth_label(canvas, negative, right, middle)
        top += row
    if not negatives:
        canvas.words("no negative came out of it", left + 10, 34, size=14, colour=MUTED)
    return canvas.figure(title, subtitle, height=max(top, below) + 8)


def draw_synthetic_examples(examples: Sequence[Example], *, title: str, subtitle: str = "") -> go.Figure:
    """Pictures with their caption (P), below it their named negatives, each with score and truth label (Figure 1b)."""
    canvas, size, top = Canvas(), 170, 26.0
    left, right = SIDE + size + 24, WIDTH - SIDE
    score = right - 140
    canvas.words("score", score, 0, size=13, colour=MUTED, across="right")
    canvas.words("the world says", right, 0, size=13, colour=MUTED, across="right")
    for example in examples:
        canvas.picture(data_uri(example.picture), SIDE, top, size, size)
        line = _line(canvas, "caption", label(example.caption, width=70, lines=2), BLUE, left, top + 4)
        if example.score is not None:
            canvas.words(f"<b>{example.score:.3f}</b>", score, line - 30, size=14, across="right", down="middle")
        for name, negative in example.negatives.items():
            line = _line(canvas, name, marked(negative, width=64), PURPLE, left, line)
            if name in example.scores:
                canvas.words(f"{example.scores[name]:.3f}", score, line - 30, size=14, across="right", down="middle")
            _truth_label(canvas, negative, right, line - 30)
        top = max(top + size, line) + 18
    return canvas.figure(title, subtitle, height=top)


def _line(canvas: Canvas, name: str, text: str, shade: str, left: float, top: float) -> float:
    """A named sentence; where the next begins. Its middle is 30 pixels above that."""
    canvas.words(f"<b>{label(name)}</b>", left, top, size=12, colour=shade)
    canvas.words(text, left, top + 16 + (0 if "<br>" in text else 2), size=14)
    return top + (60 if "<br>" in text else 48)


def _beside(canvas: Canvas, caption: str, score: float | None, own: Sequence[str], size: float) -> float:
    """What is written below the picture; where it ends."""
    found = "" if score is None else f" · {score:.3f}"
    canvas.words(f"<b>the caption</b>{found}", SIDE, size + 10, size=13, colour=MUTED)
    below = size + 30
    for number, sentence in enumerate([caption, *own]):
        if number == 1:
            canvas.words("<b>others of the picture</b>", SIDE, below + 4, size=13, colour=MUTED)
            below += 24
        text = label(sentence, width=30, lines=4)
        canvas.words(text, SIDE, below, size=13, colour=INK if number == 0 else MUTED)
        below += 17 * (text.count("<br>") + 1) + 6
    return below


def _bar(canvas: Canvas, value: float, mark: float | None, ends: tuple[float, float], x: float, y: float) -> None:
    low, high = ends
    scale = BAR / max(high - low, 1e-9)
    canvas.rectangle(x, y - 5, BAR, 10, fillcolor=RULE, line={"width": 0})
    canvas.rectangle(x, y - 5, (value - low) * scale, 10, fillcolor=PURPLE, line={"width": 0})
    if mark is not None:
        canvas.rectangle(x + (mark - low) * scale - 1, y - 9, 2, 18, fillcolor=INK, line={"width": 0})
    canvas.words(f"<b>{value:.3f}</b>", x + BAR + 8, y, size=13, down="middle")


def _truth_label(canvas: Canvas, negative: Negative, right: float, y: float) -> None:
    shade, words = TRUTH_LABELS[-1 if negative.truth is None else int(negative.truth)]
    canvas.words(f"<b>{words}</b>", right, y, size=13, colour=shade, across="right", down="middle")


def short(perplexity: float) -> str:
    """A perplexity to one digit, a large one to none.

    >>> short(12.34), short(4321.0)
    ('12.3', '4,321')
    """
    return f"{perplexity:.1f}" if perplexity < 100 else f"{perplexity:,.0f}"


# Sentences with the words that were changed in colour and underlined.

ELLIPSIS, CHANGED = " …", TRUTH_LABELS[0][0]


def changed_parts(negative: Negative) -> list[tuple[str, bool]]:
    """The sentence cut into parts, each with whether it was changed; in order they spell the sentence.

    Changed places are found by their words from left to right, begun at the token that `spans` names where it can be.

    >>> changed_parts(Negative("a big cat", spans=(), replacement=()))
    [('a big cat', False)]
    """
    sentence, parts, at = negative.sentence, [], 0
    places = token_characters(sentence, tokenise(sentence))
    for span, words in zip(negative.spans, negative.replacement, strict=True):
        named = places[span.start][0] if span.start < len(places) else at
        begin = named if sentence.startswith(words, named) and named >= at else sentence.find(words, at)
        if begin < 0 or not words:
            continue
        parts += [(sentence[at:begin], False), (sentence[begin : begin + len(words)], True)]
        at = begin + len(words)
    return [part for part in [*parts, (sentence[at:], False)] if part[0]]


def marked(negative: Negative, *, width: int, lines: int = 2, shade: str = CHANGED) -> str:
    """The sentence as a label of at most `lines` lines of `width` characters, changed words in colour, underlined."""
    letters = iter([(letter, changed) for text, changed in changed_parts(negative) for letter in text])
    written = []
    for line in textwrap.wrap(negative.sentence, width, max_lines=lines, placeholder=ELLIPSIS):
        cut = line.endswith(ELLIPSIS)
        own = [_changed(letter, letters) for letter in (line.removesuffix(ELLIPSIS) if cut else line)]
        runs = ((changed, "".join(letter for letter, _ in run)) for changed, run in groupby(own, itemgetter(1)))
        under = f'<span style="color:{shade}"><b><u>{{}}</u></b></span>'
        shown = (under.format(label(text)) if changed else label(text) for changed, text in runs)
        written.append("".join(shown) + ELLIPSIS * cut)
    return "<br>".join(written)


def _changed(letter: str, letters: Iterator[tuple[str, bool]]) -> tuple[str, bool]:
    """The next letter of the sentence as it stands in a line; wrapping leaves blanks out and makes others of them."""
    for found, changed in letters:
        if found == letter or (letter == " " and found.isspace()):
            return letter, changed
    return letter, False


# Matching scores of captions and of their hardest negatives, by where the negatives come from (Figure 1a).

GAP = 0.05  # the paper's solid line: the negative that much below
DOTS = {  # by truth label, in the order of drawing: colour, name, place in the legend
    None: (PURPLE, "negatives", 0),
    -1: (TRUTH_LABELS[-1][0], "undecided", 3),
    0: (PURPLE, "false of the picture: a true negative", 1),
    1: (TRUTH_LABELS[1][0], "true: a false negative", 2),
}


@dataclass(frozen=True)
class Pairs:
    """A source of negatives: score of each caption, of its negative, and the truth label (1, 0, −1 undecided)."""

    positive: Float[ndarray, "pair"]
    negative: Float[ndarray, "pair"]
    truth_labels: Integer[ndarray, "pair"] | None = None

    @classmethod
    def of(cls, made: SyntheticNegatives, *, logits: bool = False) -> "Pairs":
        """The hardest negative of each caption that has one, by s or by the logits that models rank by."""
        hardest = made.first(1)
        positive, negative = (values.numpy() for values in (hardest.matched if logits else hardest.scores))
        return cls(positive, negative, None if made.data.world is None else hardest.truth_labels.numpy())


def draw_score_scatter(sources: Mapping[str, Pairs], *, title: str, subtitle: str = "") -> go.Figure:
    """A panel for each source, a dot for each triple: its caption's score across, its negative's upwards.

    On the dotted line both are equal; on the solid one the negative is `GAP` below. Above each panel stands the share
    of dots left of the dotted and right of the solid line. Dots have the colour of the world's truth label where known.
    """
    figure = make_subplots(1, len(sources), shared_yaxes=True, horizontal_spacing=0.035)
    values = np.concatenate([side for pairs in sources.values() for side in (pairs.positive, pairs.negative)])
    if not len(values):
        raise ItmlabError("there is no pair to draw", remedy="make negatives of more captions")
    low, high = float(values.min()), float(values.max())
    pad = 0.04 * max(high - low, 1e-6)
    ends = [low - pad, high + pad]
    for column, (name, pairs) in enumerate(sources.items(), start=1):
        for below, style in ((0.0, {"dash": "dot", "color": INK}), (GAP, {"color": MUTED})):
            where = {"x0": ends[0] + below, "y0": ends[0], "x1": ends[1], "y1": ends[1] - below, "layer": "above"}
            figure.add_shape(type="line", **where, line={"width": 1.5, **style}, row=1, col=column)
        for truth_label, (shade, words, rank) in DOTS.items():
            judged = pairs.truth_labels is not None
            chosen = pairs.truth_labels == truth_label if judged else np.ones(len(pairs.positive), bool)
            if judged == (truth_label is None) or (judged and not chosen.any()):
                continue
            named = truth_label is not None and not any(trace.name == words for trace in figure.data)
            legend = {"name": words, "legendgroup": words, "legendrank": rank, "showlegend": named}
            dots = {"color": translucent(shade, 0.55), "size": 5.5, "line": {"color": shade, "width": 0.5}}
            look = {"mode": "markers", "marker": dots, "row": 1, "col": column}
            hover = "caption %{x:.3f}, negative %{y:.3f}<extra></extra>"
            x, y = pairs.positive[chosen], pairs.negative[chosen]
            figure.add_scatter(x=x, y=y, hovertemplate=hover, **legend, **look)
        harder = 100 * float(np.mean(pairs.negative >= pairs.positive))
        easy = 100 * float(np.mean(pairs.negative < pairs.positive - GAP))
        axis = f"x{'' if column == 1 else column} domain"
        place = {"x": 0, "xref": axis, "xanchor": "left", "y": 1.02, "yref": "paper", "yanchor": "bottom"}
        text = f"<b>{label(name)}</b><br>{harder:.0f} % at least as high<br>{easy:.0f} % more than {GAP:g} below"
        figure.add_annotation(**place, text=text, align="left", showarrow=False, font={"size": 13, "color": INK})
    figure.update_xaxes(title="s of the caption", range=ends, showgrid=True, exponentformat="none")
    figure.update_yaxes(range=ends, exponentformat="none")
    figure.update_yaxes(title="s of its negative", col=1)
    shown = any(pairs.truth_labels is not None for pairs in sources.values())
    figure = styled(figure, title, subtitle, height=540, legend=shown)
    return figure.update_layout(margin_t=figure.layout.margin.t + 66, legend_y=1.21)


# The difficulty of negatives over the steps of training, as a density: darker is more of them (Figure 3).

SHADES = ((0, "#FFFFFF"), (0.25, "#BBD6EA"), (0.6, "#3D8FC4"), (1, "#08365C"))
RARE = 0.002  # the share of a run's negatives below which a bin may lie outside the axis
COLUMNS = 60  # of a panel, at most: neighbouring steps are added up
LINES = ((0.1, "dot", "a tenth lies below, a tenth above"), (0.5, "solid", "median"), (0.9, "dot", None))


def draw_difficulty(histories: Mapping[str, DifficultyHistory], *, title: str, subtitle: str = "") -> go.Figure:
    """A panel a run, all on one scale: which share of a step's negatives has which score less the caption's.

    A column is a step or some neighbouring ones. Above the dashed line a negative scores higher than the caption that
    it was made of or drawn for.
    """
    grouped = {name: history.grouped(COLUMNS) for name, history in histories.items()}
    panels = {"subplot_titles": [label(name) for name in grouped], "shared_yaxes": True, "horizontal_spacing": 0.04}
    figure = make_subplots(1, max(len(grouped), 1), **panels)
    shares = {  # of each step's negatives by bin, adding up to 1; a step without any stays empty
        name: history.counts / np.maximum(history.counts.sum(axis=1, keepdims=True), 1)
        for name, history in grouped.items()
    }
    most = max((float(share.max()) for share in shares.values()), default=1.0) or 1.0
    scale = {"text": "% of the<br>negatives", "font": {"size": 13}}
    for column, (name, history) in enumerate(grouped.items(), start=1):
        place = {"row": 1, "col": column}
        figure.add_heatmap(
            x=history.steps,
            y=history.middles,
            z=100 * shares[name].T,
            zmin=0,
            zmax=100 * most,
            colorscale=SHADES,
            showscale=column == len(grouped),
            colorbar={"title": scale, "thickness": 14, "outlinewidth": 0, "len": 0.9},
            hovertemplate="step %{x:.0f}: %{z:.1f} % near %{y:.2f}<extra></extra>",
            **place,
        )
        for share, dash, said in LINES:
            legend = {"name": said, "legendgroup": str(dash), "showlegend": column == 1 and said is not None}
            line = {"color": ORANGE, "width": 2.5 if dash == "solid" else 1.8, "dash": dash}
            look = {"mode": "lines", "line": line, "hoverinfo": "skip"}
            figure.add_scatter(x=history.steps, y=history.quantile(share), **legend, **look, **place)
        figure.add_hline(y=0, line={"color": INK, "width": 1.2, "dash": "dash"}, **place)
    figure.update_xaxes(title="step of training", showgrid=False)
    figure.update_yaxes(range=_reach(list(grouped.values())), showgrid=False)
    figure.update_yaxes(title="score of the negative less the caption's", col=1)
    figure = styled(figure, title, subtitle, height=500)
    return figure.update_layout(legend_y=1.08, margin={"t": figure.layout.margin.t + 26, "r": 20})


def _reach(histories: list[DifficultyHistory]) -> list[float]:
    """From the lowest to the highest bin that holds more than `RARE` of any run's negatives, zero always among them."""
    reach = [0.0]
    for history in histories:
        held = (history.counts.sum(axis=0) > RARE * history.counts.sum()).nonzero()[0]
        reach += [*history.edges[held], *history.edges[held + 1]]
    return [min(reach) - 0.02, max(reach) + 0.05]
