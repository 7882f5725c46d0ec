"""Figures of rankings: the results of one query, the greener, the more similar in meaning.

References:
    Biten, Mafla, Gómez and Karatzas (2022), "Is an image worth five sentences?", Figure 1. φ is the score that
    a captioning metric gives a caption for the captions of a picture.
"""

from collections.abc import Mapping, Sequence
from textwrap import shorten

import plotly.graph_objects as go
from PIL import Image

from ..analysis.rankings import Ranking
from .canvas import draw_gallery, draw_table
from .theme import TRUTH_LABELS, translucent

GREENS = ("#CBD2D9", "#A8D5C2", "#4DB892", "#007F5C", "#00563E")  # from nothing in common to the pool's best


def draw_ranked_pictures(
    query: str,
    pictures: Sequence[Image.Image],
    rankings: Mapping[str, Ranking],
    *,
    captions: Sequence[str],
    title: str = "",
    relevance: str = "CIDEr",
) -> go.Figure:
    """Draw the pictures that each method ranks first for a sentence, one method below the other.

    Args:
        query: the sentence.
        pictures: all candidates; `rankings[method].index` points into them.
        rankings: the best candidates by method.
        captions: a caption of each candidate, written below it.
        title: the figure's title.
        relevance: the name of φ. The greener a frame, the larger φ; a star marks an annotated picture.
    """
    shown, notes, frames, badges, headings = [], [], [], [], {}
    for method, ranking in rankings.items():
        headings[len(shown)] = _heading(method, ranking)
        for place, item in enumerate(ranking.index.tolist()):
            shown.append(pictures[item])
            notes.append([_note(ranking, place, relevance), captions[item]])
            frames.append(greenness(ranking, place))
            badges.append(f"{place + 1} ★" if _starred(ranking, place) else str(place + 1))
    subtitle = f"“{shorten(query, 110, placeholder=' …')}”; ★ annotated"
    look = {"columns": 5, "frames": frames, "badges": badges, "headings": headings}
    return draw_gallery(shown, notes, title=title, subtitle=subtitle, **look)


def draw_ranked_captions(
    picture: Image.Image,
    captions: Sequence[str],
    rankings: Mapping[str, Ranking],
    *,
    title: str = "",
    own_captions: Sequence[str] = (),
    relevance: str = "CIDEr",
) -> go.Figure:
    """Draw the captions that each method ranks first for a picture as a table with a column per method.

    Arguments are as for `draw_ranked_pictures`; `own_captions` are those annotated for the picture.
    """
    columns, fills = {"": []}, {}
    for method, ranking in rankings.items():
        heading, places = _heading(method, ranking), range(len(ranking.index))
        columns[""] = [str(place + 1) for place in places]
        columns[heading] = [
            f"{captions[ranking.index[place]]} ({_note(ranking, place, relevance)})" for place in places
        ]
        fills[heading] = [translucent(greenness(ranking, place), 0.35) for place in places]
    widths = [0.3] + [3.0] * len(rankings)
    look = {"widths": widths, "fills": fills, "picture": picture, "beside": own_captions}
    return draw_table(columns, title=title, **look)


def greenness(ranking: Ranking, place: int) -> str:
    """Return a result's colour: φ over the pool's largest, from grey to dark green."""
    share = float(ranking.relevance[place]) / ranking.best if ranking.best > 0 else 0.0
    return GREENS[round(min(share, 1.0) * (len(GREENS) - 1))]


def _heading(method: str, ranking: Ranking) -> str:
    return " · ".join([method, *(f"{name} {value:.0f} %" for name, value in ranking.measures.items())])


def _starred(ranking: Ranking, place: int) -> bool:
    return ranking.annotated is not None and bool(ranking.annotated[place])


def _note(ranking: Ranking, place: int, relevance: str) -> str:
    parts = [f"{relevance} {ranking.relevance[place]:.2f}"]
    if ranking.truth_label is not None:
        parts.append(TRUTH_LABELS[int(ranking.truth_label[place])][1])
    if _starred(ranking, place):
        parts.append("★")
    return ", ".join(parts)
