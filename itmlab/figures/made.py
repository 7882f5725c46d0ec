"""Negatives of one caption as a list, and examples of several: score, changed words, fluency, verdict (Figure 1b)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import plotly.graph_objects as go
from PIL import Image

from .changes import marked
from .labels import label
from .pictures import Canvas, data_uri
from .theme import BLUE, INK, MUTED, PANEL, PURPLE, RULE, VERDICTS, WIDTH

if TYPE_CHECKING:
    from ..explain.made import Made
    from ..synthesis import Negative

SIDE, ROW = 16, 50  # pixels: margin, height of a negative


@dataclass(frozen=True)
class Example:
    """A picture, its caption with its score, and named negatives; `scores` are theirs on the same scale."""

    picture: Image.Image
    caption: str
    score: float | None
    negatives: "dict[str, Negative]"
    scores: dict[str, float] = field(default_factory=dict)

    @classmethod
    def of(cls, made: "Mapping[str, Made]", at: int) -> "Example":
        """The hardest negative of the `at`-th caption by each named source; all were made of the same captions."""
        first = next(iter(made.values()))
        data, caption = first.data, first.captions[at]
        found = {name: one.only(at).first(1) for name, one in made.items()}
        hardest = {name: one.negatives[0][0] for name, one in found.items() if len(one)}
        scores = {name: (one.scores[0].item(), one.scores[1].item()) for name, one in found.items() if len(one)}
        own = next((positive for positive, _ in scores.values()), None)
        picture = data.images[int(data.image_of_caption[caption])]
        return cls(picture, data.captions[caption], own, hardest, {name: score for name, (_, score) in scores.items()})


def negative_list(
    picture: Image.Image,
    caption: str,
    negatives: "Sequence[Negative]",
    *,
    title: str,
    subtitle: str = "",
    score: float | None = None,
    scores: Sequence[float] | None = None,
    own_captions: Sequence[str] = (),
) -> go.Figure:
    """A picture with its caption, beside it negatives as rows in the order given, changed words underlined.

    `score` and `scores` are the model's for the caption (the thin line on each bar) and for each negative. Fluency is
    a perplexity; the verdict is the world's on the negative.
    """
    canvas, size = Canvas(), 220
    canvas.picture(data_uri(picture), SIDE, 0, size, size)
    below = _beside(canvas, caption, score, own_captions, size)
    left, right = SIDE + size + 26, WIDTH - SIDE
    bar, perplexity = right - 318, right - 118
    canvas.words("negative", left + 10, 0, size=13, colour=MUTED)
    canvas.words("score", bar, 0, size=13, colour=MUTED)
    canvas.words("perplexity", perplexity, 0, size=13, colour=MUTED, across="right")
    canvas.words("the world says", right, 0, size=13, colour=MUTED, across="right")
    values = [0.0, *(scores or ()), *([] if score is None else [score])]
    ends = min(values), max(*values, 1e-9)
    for at, negative in enumerate(negatives):
        top, middle = 26 + ROW * at, 26 + ROW * at + (ROW - 6) / 2
        rim = {"color": RULE, "width": 1}
        canvas.rectangle(left, top, right + 6 - left, ROW - 6, fillcolor=PANEL, line=rim, layer="below")
        canvas.words(marked(negative, width=50), left + 10, middle, size=13, down="middle")
        if scores is not None:
            _bar(canvas, scores[at], score, ends, bar, middle)
        fluent = "" if negative.fluency is None else _short(negative.fluency)
        canvas.words(fluent, perplexity, middle, size=13, across="right", down="middle")
        _verdict(canvas, negative, right, middle)
    if not negatives:
        canvas.words("no negative came out of it", left + 10, 34, size=14, colour=MUTED)
    return canvas.figure(title, subtitle, height=max(26 + ROW * len(negatives) + 8, below + 8))


def synthetic_examples(examples: Sequence[Example], *, title: str, subtitle: str = "") -> go.Figure:
    """Pictures with their caption (P) and their named negatives below it, each with score and verdict (Figure 1b)."""
    canvas, size, top = Canvas(), 170, 26.0
    left, right = SIDE + size + 24, WIDTH - SIDE
    score = right - 140
    canvas.words("score", score, 0, size=13, colour=MUTED, across="right")
    canvas.words("the world says", right, 0, size=13, colour=MUTED, across="right")
    for example in examples:
        canvas.picture(data_uri(example.picture), SIDE, top, size, size)
        line = top + 4
        line = _line(canvas, "caption", label(example.caption, width=70, lines=2), BLUE, left, line)
        if example.score is not None:
            canvas.words(f"<b>{example.score:.3f}</b>", score, line - 30, size=14, across="right", down="middle")
        for name, negative in example.negatives.items():
            line = _line(canvas, name, marked(negative, width=70), PURPLE, left, line)
            if name in example.scores:
                canvas.words(f"{example.scores[name]:.3f}", score, line - 30, size=14, across="right", down="middle")
            _verdict(canvas, negative, right, line - 30)
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
        text = label(sentence, width=34, lines=3)
        canvas.words(text, SIDE, below, size=13, colour=INK if number == 0 else MUTED)
        below += 17 * (text.count("<br>") + 1) + 6
    return below


def _bar(
    canvas: Canvas, value: float, mark: float | None, ends: tuple[float, float], x: float, y: float, width: float = 76
) -> None:
    low, high = ends
    scale = width / max(high - low, 1e-9)
    canvas.rectangle(x, y - 5, width, 10, fillcolor=RULE, line={"width": 0})
    canvas.rectangle(x, y - 5, (value - low) * scale, 10, fillcolor=PURPLE, line={"width": 0})
    if mark is not None:
        canvas.rectangle(x + (mark - low) * scale - 1, y - 9, 2, 18, fillcolor=INK, line={"width": 0})
    canvas.words(f"<b>{value:.3f}</b>", x + width + 8, y, size=13, down="middle")


def _verdict(canvas: Canvas, negative: "Negative", right: float, y: float) -> None:
    shade, words = VERDICTS[-1 if negative.truth is None else int(negative.truth)]
    canvas.words(f"<b>{words}</b>", right, y, size=13, colour=shade, across="right", down="middle")


def _short(perplexity: float) -> str:
    return f"{perplexity:.1f}" if perplexity < 100 else f"{perplexity:,.0f}"
