"""Figures of negatives: their sentences as rows, their scores beside the captions'.

TAGS-DC (Fan et al., 2022), Figures 1a and 1b. Changed words are in colour and underlined.
"""

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from operator import itemgetter

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float, Integer
from numpy import ndarray
from PIL import Image
from plotly.subplots import make_subplots

from itmlab.errors import ItmlabError
from itmlab.synthesis import Negative
from itmlab.text.alignment import token_characters
from itmlab.text.graph import tokenise

from ..analysis.negatives import SyntheticNegatives
from .canvas import Canvas, data_uri
from .theme import INK, MUTED, PURPLE, RULE, TRUTH_LABELS, WIDTH, label, styled, translucent

# Negatives of one caption as a list, and the hardest of several captions (Figure 1b).

PICTURE, MARGIN, BAR = 170, 16, 76  # pixels: picture, margin, width of a score's bar


@dataclass(frozen=True)
class Example:
    """A picture, its caption with its score, and named negatives with their `scores` on the same scale."""

    picture: Image.Image
    caption: str
    score: float | None
    negatives: dict[str, Negative]
    scores: dict[str, float] = field(default_factory=dict)

    @classmethod
    def of(cls, made: Mapping[str, SyntheticNegatives], at: int) -> "Example":
        """Return the hardest negative of the `at`-th caption by each source; all were made of the same captions."""
        first = next(iter(made.values()))
        data, caption = first.data, first.captions[at]
        own, negatives, scores = None, {}, {}
        for name, source in made.items():
            hardest = source.only(at).first(1)
            if len(hardest):
                positive, negative = hardest.scores
                own, scores[name] = positive[0].item(), negative[0].item()
                negatives[name] = hardest.negatives[0][0]
        return cls(data.images[int(data.image_of_caption[caption])], data.captions[caption], own, negatives, scores)


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
    """Draw a picture with its captions, and beside it negatives with changed words underlined.

    Args:
        score: the model's score of the caption, a thin line on each bar.
        scores: the model's scores of the negatives, drawn as bars.
        own_captions: the picture's other captions.
    """
    canvas = Canvas()
    rows = [("", negative, None if scores is None else scores[at]) for at, negative in enumerate(negatives)]
    bottom = _draw_rows(canvas, picture, rows, score, 26.0)
    if not negatives:
        canvas.words("no negative is left", MARGIN + PICTURE + 26, 34, size=14, colour=MUTED)
    below = 26.0 + PICTURE + 10
    for number, sentence in enumerate([caption, *own_captions]):
        text = label(sentence, width=28, lines=4)
        canvas.words(text, MARGIN, below, size=13, colour=MUTED if number else INK)
        below += 17 * (text.count("<br>") + 1) + 6
    return canvas.figure(title, subtitle, height=max(bottom, below) + 8)


def draw_synthetic_examples(examples: Sequence[Example], *, title: str, subtitle: str = "") -> go.Figure:
    """Draw pictures, each with its caption and below it named negatives (Figure 1b)."""
    canvas, top = Canvas(), 26.0
    for example in examples:
        rows = [("caption", Negative(example.caption, truth=True), example.score)]
        rows += [(name, negative, example.scores.get(name)) for name, negative in example.negatives.items()]
        top = _draw_rows(canvas, example.picture, rows, example.score, top) + 18
    return canvas.figure(title, subtitle, height=top)


def _draw_rows(
    canvas: Canvas,
    picture: Image.Image,
    rows: Sequence[tuple[str, Negative, float | None]],
    mark: float | None,
    top: float,
) -> float:
    """Draw a picture and beside it (name, negative, score) as rows; returns where they end.

    `mark` is the score of the caption: a thin line on each bar.
    """
    canvas.picture(data_uri(picture), MARGIN, top, PICTURE, PICTURE)
    left, right = MARGIN + PICTURE + 26, WIDTH - MARGIN
    bar, perplexity = right - 304, right - 118
    columns = {"score": (bar, "left"), "perplexity": (perplexity, "right"), "the world says": (right, "right")}
    for head, (x, across) in columns.items():
        canvas.words(head, x, top - 26, size=13, colour=MUTED, across=across)
    values = [0.0, *(value for _, _, value in rows if value is not None), *([] if mark is None else [mark])]
    low, scale = min(values), BAR / max(max(values) - min(values), 1e-9)
    line = top
    for name, negative, value in rows:
        text = marked(negative, width=41, lines=3)
        if name:
            text = f'<span style="color:{MUTED}">{label(name)}</span><br>{text}'
        height = 18 * (text.count("<br>") + 1) + 14
        middle = line + height / 2
        canvas.words(text, left, middle, size=13, down="middle")
        if value is not None:
            canvas.rectangle(bar, middle - 5, BAR, 10, fillcolor=RULE, line={"width": 0})
            canvas.rectangle(bar, middle - 5, (value - low) * scale, 10, fillcolor=PURPLE, line={"width": 0})
            canvas.words(f"<b>{value:.3f}</b>", bar + BAR + 8, middle, size=13, down="middle")
        if value is not None and mark is not None:
            canvas.rectangle(bar + (mark - low) * scale - 1, middle - 9, 2, 18, fillcolor=INK, line={"width": 0})
        if negative.fluency is not None:
            canvas.words(short(negative.fluency), perplexity, middle, size=13, across="right", down="middle")
        shade, words = TRUTH_LABELS[-1 if negative.truth is None else int(negative.truth)]
        canvas.words(f"<b>{words}</b>", right, middle, size=13, colour=shade, across="right", down="middle")
        line += height
        canvas.line((left, line), (right, line), RULE)
    return max(top + PICTURE, line)


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
    """Return the sentence as a label of at most `lines` lines, its changed words in colour and underlined.

    Args:
        width: of a line, in characters.
    """
    changed = iter(
        [(letter, flag) for part, flag in changed_parts(negative) for letter in part if not letter.isspace()]
    )
    wrapped = textwrap.wrap(negative.sentence, width, max_lines=lines, placeholder=ELLIPSIS)
    written = []
    for line in wrapped:
        body = line.removesuffix(ELLIPSIS)
        flagged, flag = [], False
        for letter in body:
            flag = flag if letter.isspace() else next(changed)[1]
            flagged.append((flag, letter))
        for flag, run in groupby(flagged, itemgetter(0)):
            text = label("".join(letter for _, letter in run))
            written.append(f'<span style="color:{shade}"><b><u>{text}</u></b></span>' if flag else text)
        written.append(line[len(body) :] + "<br>")
    return "".join(written).removesuffix("<br>")


# Matching scores of captions and of their hardest negatives, by where the negatives come from (Figure 1a).

GAP = 0.05  # the paper's solid line: the negative that much below
DOTS = {  # by the world's verdict, in the order of drawing: colour and name
    None: (PURPLE, "negatives"),
    -1: (TRUTH_LABELS[-1][0], "undecided"),
    0: (PURPLE, "false of the picture: a true negative"),
    1: (TRUTH_LABELS[1][0], "true: a false negative"),
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
    """Draw a panel per source and a dot per pair: the caption's score across, its negative's upwards.

    On the dotted line both are equal; on the solid one the negative is `GAP` below. Above each panel stands the share
    of dots on either side. Dots have the colour of the world's verdict where it is known.
    """
    values = np.concatenate([side for pairs in sources.values() for side in (pairs.positive, pairs.negative)])
    if not len(values):
        raise ItmlabError("there is no pair to draw", remedy="make negatives of more captions")
    ends = [float(values.min()) - 0.02, float(values.max()) + 0.02]
    names = []
    for name, pairs in sources.items():
        harder = 100 * float(np.mean(pairs.negative >= pairs.positive))
        easy = 100 * float(np.mean(pairs.negative < pairs.positive - GAP))
        names.append(f"<b>{label(name)}</b><br>{harder:.0f} % at least as high<br>{easy:.0f} % more than {GAP:g} below")
    figure = make_subplots(1, len(sources), shared_yaxes=True, horizontal_spacing=0.035, subplot_titles=names)
    listed: set[str] = set()
    for column, pairs in enumerate(sources.values(), start=1):
        place = {"row": 1, "col": column}
        for below, dash in ((0.0, "dot"), (GAP, "solid")):
            line = {"width": 1.5, "color": INK, "dash": dash}
            figure.add_shape(
                type="line", x0=ends[0] + below, y0=ends[0], x1=ends[1], y1=ends[1] - below, line=line, **place
            )
        for verdict, (shade, words) in DOTS.items():
            chosen = np.full(len(pairs.positive), verdict is None)
            if pairs.truth_labels is not None:
                chosen = pairs.truth_labels == verdict
            if chosen.any():
                figure.add_scatter(
                    x=pairs.positive[chosen],
                    y=pairs.negative[chosen],
                    mode="markers",
                    marker={"color": translucent(shade, 0.55), "size": 5.5},
                    name=words,
                    legendgroup=words,
                    showlegend=verdict is not None and words not in listed,
                    hovertemplate="caption %{x:.3f}, negative %{y:.3f}<extra></extra>",
                    **place,
                )
                listed.add(words)
    figure.update_xaxes(title="s of the caption", range=ends)
    figure.update_yaxes(range=ends)
    figure.update_yaxes(title="s of its negative", col=1)
    figure.update_annotations(font={"size": 13, "color": INK})
    figure = styled(figure, title, subtitle, height=540)
    return figure.update_layout(margin_t=figure.layout.margin.t + 66, legend_y=1.21)
