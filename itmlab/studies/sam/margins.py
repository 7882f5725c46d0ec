"""SAM, the semantic adaptive margin: what it requires of an anchor's negatives, and the paper's gains.

In place of the one margin of a triplet loss, each negative T⁻ of a picture with captions G and match T has its own,
α = (φ(G, T) − φ(G, T⁻)) / τ: the more similar in meaning, the smaller.

References:
    Biten et al. (2022), Eq. 7, Figure 2, Tables 2 and 3; METHODS 2.5.
"""

from collections.abc import Sequence

import plotly.graph_objects as go
from jaxtyping import Float
from numpy import ndarray

from ..kit.bars import Dot, Row, interval_rows
from ..kit.theme import BLUE, VERMILION, mixed

ALIKE = (VERMILION, "#8C7C8B", BLUE)  # from nothing in common to the most


def draw_adaptive_margins(
    negatives: Sequence[str],
    relevance: Float[ndarray, "negative"],
    margins: Float[ndarray, "negative"],
    *,
    title: str,
    subtitle: str = "",
    fixed: float = 0.2,
) -> go.Figure:
    """Draw the margin of each negative caption as a dot, and the fixed margin as a diamond.

    Args:
        negatives: the captions.
        relevance: φ of each with the anchor's captions; the bluer a dot, the larger.
        margins: the adaptive margins.
        title: the figure's title.
        subtitle: what is shown.
        fixed: the margin of the plain triplet loss.
    """
    largest = max([float(value) for value in relevance], default=0.0) or 1.0
    rows: list[Row] = []
    for caption, phi, margin in zip(negatives, relevance, map(float, margins), strict=True):
        text = f"{margin:.2f} (φ {phi:.2f})".replace("-", "−")
        dot = Dot(margin, shade=mixed(float(phi) / largest, ALIKE), text=text, at=max(margin, fixed))
        rows.append((caption, [[Dot(fixed, printed=True), dot]]))
    return interval_rows(rows, axes=[{"title": "margin"}], title=title, subtitle=subtitle)
