"""Ranked results framed by how similar in meaning they are to the query: the greener, the more (SAM, Figure 1)."""

from collections.abc import Mapping, Sequence
from textwrap import shorten
from typing import TYPE_CHECKING

import plotly.graph_objects as go
from PIL import Image

from .labels import label
from .pictures import Canvas, data_uri
from .theme import INK, MUTED, PANEL, PAPER, RULE, VERDICTS, WIDTH

if TYPE_CHECKING:
    from ..explain.rankings import Ranking

GREENS = ("#CBD2D9", "#A8D5C2", "#4DB892", "#007F5C", "#00563E")  # from nothing in common to the pool's best
SIDE, GAP, LINE = 16, 18, 17
ANNOTATED = "★"


def ranked_pictures(
    query: str,
    pictures: Sequence[Image.Image],
    rankings: "Mapping[str, Ranking]",
    *,
    title: str,
    captions: Sequence[str] | None = None,
    relevance: str = "CIDEr",
    columns: int = 5,
) -> go.Figure:
    """The pictures that each method ranks first for the sentence `query`, one method above the other.

    `rankings[method].index` points into `pictures` and, where given, into `captions`, one of which is written under
    each. A frame's green is φ (named `relevance`) over the largest in the pool; a star marks ground truth.
    """
    canvas, top = Canvas(), 4.0
    cell = (WIDTH - 2 * SIDE - GAP * (columns - 1)) / columns
    for method, ranking in rankings.items():
        top = _heading(canvas, method, ranking, SIDE, top)
        for start in range(0, len(ranking.index), columns):
            places = range(start, min(start + columns, len(ranking.index)))
            lowest = top
            for column, place in enumerate(places):
                left, item = SIDE + column * (cell + GAP), int(ranking.index[place])
                canvas.picture(data_uri(pictures[item]), left, top, cell, cell)
                line = {"color": greenness(ranking, place), "width": 6}
                canvas.rectangle(left - 2, top - 2, cell + 4, cell + 4, line=line)
                badge = {"bgcolor": INK, "borderpad": 4}
                canvas.words(f"<b>{_place(ranking, place)}</b>", left + 8, top + 8, size=13, colour=PAPER, **badge)
                below = _note(canvas, ranking, place, relevance, left, top + cell + 9)
                if captions is not None:
                    text = label(captions[item], width=int(cell / 6.3), lines=2)
                    canvas.words(text, left, below, size=12, colour=MUTED)
                    below += (LINE - 2) * (text.count("<br>") + 1)
                lowest = max(lowest, below)
            top = lowest + 16
        top += 8
    _key(canvas, rankings, relevance, top)
    return canvas.figure(title, f"“{shorten(query, 110, placeholder=' …')}”", height=top + 30)


def ranked_captions(
    picture: Image.Image,
    captions: Sequence[str],
    rankings: "Mapping[str, Ranking]",
    *,
    title: str,
    subtitle: str = "",
    own_captions: Sequence[str] = (),
    relevance: str = "CIDEr",
) -> go.Figure:
    """The captions that each method ranks first for a picture, one method below the other; frames as for pictures."""
    canvas, size, row = Canvas(), 230, 44
    canvas.picture(data_uri(picture), SIDE, 4, size, size)
    beside = 4 + size + 12
    if own_captions:
        canvas.words("<b>written for it</b>", SIDE, beside, size=13, colour=MUTED)
        beside += 20
    for caption in own_captions:
        text = label(caption, width=35, lines=3)
        canvas.words(text, SIDE, beside, size=13)
        beside += LINE * (text.count("<br>") + 1) + 6
    left, right, top = SIDE + size + 30, WIDTH - SIDE, 4.0
    for method, ranking in rankings.items():
        top = _heading(canvas, method, ranking, left, top)
        for place, item in enumerate(ranking.index.tolist()):
            middle = top + row / 2
            shade = greenness(ranking, place)
            canvas.rectangle(left, top, right - left, row, fillcolor=PANEL, line={"color": shade, "width": 3})
            canvas.rectangle(left, top, 12, row, fillcolor=shade, line={"width": 0})
            canvas.words(f"<b>{_place(ranking, place)}</b>", left + 22, middle, size=13, down="middle")
            canvas.words(label(captions[item], width=70, lines=2), left + 66, middle, size=13, down="middle")
            _note(canvas, ranking, place, relevance, right - 10, middle, across="right")
            top += row + 8
        top += 14
    top = max(top, beside)
    _key(canvas, rankings, relevance, top)
    return canvas.figure(title, subtitle, height=top + 30)


def greenness(ranking: "Ranking", place: int) -> str:
    """The frame's colour: φ of the item at `place` over the pool's largest, from grey to dark green."""
    share = float(ranking.relevance[place]) / ranking.best if ranking.best > 0 else 0.0
    at = min(max(share, 0.0), 1.0) * (len(GREENS) - 1)
    lower = min(int(at), len(GREENS) - 2)
    pair = [[int(shade[start : start + 2], 16) for start in (1, 3, 5)] for shade in GREENS[lower : lower + 2]]
    mixed = (round(a + (at - lower) * (b - a)) for a, b in zip(*pair, strict=True))
    return "#{:02X}{:02X}{:02X}".format(*mixed)


def _heading(canvas: Canvas, method: str, ranking: "Ranking", left: float, top: float) -> float:
    """The method's name and its scores for this query; returns where the results begin."""
    scores = " · ".join(f"{label(name)} {value:.0f} %" for name, value in ranking.measures.items())
    canvas.words(f"<b>{label(method, width=40, lines=1)}</b>  <span style='color:{MUTED}'>{scores}</span>", left, top)
    return top + 28


def _place(ranking: "Ranking", place: int) -> str:
    starred = ranking.annotated is not None and bool(ranking.annotated[place])
    return f"{place + 1} {ANNOTATED}" if starred else str(place + 1)


def _note(
    canvas: Canvas, ranking: "Ranking", place: int, relevance: str, x: float, y: float, *, across: str = "left"
) -> float:
    """φ and the world's verdict: on one line under a picture, on two at the right of a caption."""
    text = f"{label(relevance)} {ranking.relevance[place]:.2f}"
    if ranking.verdict is not None:
        shade, said = VERDICTS[int(ranking.verdict[place])]
        text += f"{'  ' if across == 'left' else '<br>'}<b style='color:{shade}'>{said}</b>"
    canvas.words(text, x, y, size=13, across=across, down="top" if across == "left" else "middle")
    return y + LINE + 3


def _key(canvas: Canvas, rankings: "Mapping[str, Ranking]", relevance: str, top: float) -> None:
    """What the greens and the star mean, on one line."""
    best = max((ranking.best for ranking in rankings.values()), default=0.0)
    step, x = 26, SIDE
    canvas.line((SIDE, top - 4), (WIDTH - SIDE, top - 4), RULE)
    canvas.words(f"{label(relevance)} with the query: 0", x, top + 14, size=12, colour=MUTED, down="middle")
    x += 134 + 7 * max(0, len(relevance) - 5)
    for shade in GREENS:
        canvas.rectangle(x, top + 8, step, 12, fillcolor=shade, line={"width": 0})
        x += step
    words = f"{best:.2f}, the largest of all candidates"
    if any(ranking.annotated is not None for ranking in rankings.values()):
        words += f"   ·   {ANNOTATED} ground truth"
    if any(ranking.verdict is not None for ranking in rankings.values()):
        words += "   ·   ✓ ✗ ? what the world says"
    canvas.words(words, x + 8, top + 14, size=12, colour=MUTED, down="middle")
