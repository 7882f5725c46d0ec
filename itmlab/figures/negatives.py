"""The negatives of one anchor, each with its probability of being false and the world's verdict (FNE, Fig. 6)."""

from collections.abc import Sequence

import plotly.graph_objects as go
from jaxtyping import Float, Integer
from numpy import ndarray
from PIL import Image

from .gallery import gallery
from .labels import label
from .pictures import Canvas, data_uri
from .theme import INK, MUTED, PANEL, POSTERIOR, RULE, VERDICTS, WIDTH

ROW = 56  # pixels a negative takes


def negative_captions(
    picture: Image.Image,
    own_captions: Sequence[str],
    captions: Sequence[str],
    posteriors: Float[ndarray, "negative"],
    *,
    title: str,
    subtitle: str = "",
    weights: Float[ndarray, "negative"] | None = None,
    verdicts: Integer[ndarray, "negative"] | None = None,
    drawn: Integer[ndarray, "negative"] | None = None,
) -> go.Figure:
    """An anchor picture with its own captions, beside it negative captions as rows in the order given.

    A row shows the posterior as a bar, the sampling weight, the world's verdict (1 true, 0 false, −1 undecided) and how
    often the sampler has `drawn` it; a negative that was drawn has a dark rim.
    """
    side, anchor = 16, 250
    canvas = Canvas()
    canvas.picture(data_uri(picture), side, 0, anchor, anchor)
    canvas.words("<b>its own captions</b>", side, anchor + 10, size=13, colour=MUTED)
    below = anchor + 32
    for caption in own_captions:
        text = label(caption, width=38, lines=3)
        canvas.words(text, side, below, size=13)
        below += 18 * (text.count("<br>") + 1) + 6
    left, bar, right = side + anchor + 30, WIDTH - side - 290, WIDTH - side
    canvas.words("negative", left + 10, 0, size=13, colour=MUTED)
    canvas.words("false-negative probability", bar, 0, size=13, colour=MUTED)
    if verdicts is not None:
        canvas.words("the world says", right, 0, size=13, colour=MUTED, across="right")
    for index, caption in enumerate(captions):
        top, middle = 26 + ROW * index, 26 + ROW * index + (ROW - 6) / 2
        taken = drawn is not None and drawn[index] > 0
        rim = {"color": INK if taken else RULE, "width": 2 if taken else 1}
        canvas.rectangle(left, top, right + 6 - left, ROW - 6, fillcolor=PANEL, line=rim, layer="below")
        canvas.words(label(caption, width=51, lines=2), left + 10, middle, size=13, down="middle")
        _bar(canvas, float(posteriors[index]), bar, middle - (7 if weights is not None else 0), 120)
        if weights is not None:
            note = f"weight {weights[index]:.2f}" + (f" · <b>drawn {drawn[index]} ×</b>" if taken else "")
            canvas.words(note, bar, middle + 12, size=12, colour=INK if taken else MUTED, down="middle")
        if verdicts is not None:
            shade, said = VERDICTS[int(verdicts[index])]
            canvas.words(f"<b>{said}</b>", right, middle, size=13, colour=shade, across="right", down="middle")
    return canvas.figure(title, subtitle, height=max(ROW * len(captions) + 34, below + 8))


def negative_pictures(
    caption: str,
    pictures: Sequence[Image.Image],
    posteriors: Float[ndarray, "negative"],
    *,
    title: str,
    weights: Float[ndarray, "negative"] | None = None,
    verdicts: Integer[ndarray, "negative"] | None = None,
    drawn: Integer[ndarray, "negative"] | None = None,
    columns: int = 5,
) -> go.Figure:
    """Negative pictures of an anchor caption in the order given, framed in the colour of the world's verdict."""
    notes = []
    for index, posterior in enumerate(posteriors):
        lines = [f"FN probability {percent(float(posterior))}"]
        if weights is not None:
            times = f" · drawn {drawn[index]} ×" if drawn is not None and drawn[index] else ""
            lines.append(f"weight {weights[index]:.2f}{times}")
        notes.append(lines)
    said = None if verdicts is None else [VERDICTS[int(verdict)] for verdict in verdicts]
    return gallery(
        pictures,
        notes,
        title=title,
        subtitle=f"anchor: “{caption}”",
        columns=columns,
        frames=said and [shade for shade, _ in said],
        badges=said and [words for _, words in said],
    )


def percent(probability: float) -> str:
    """A probability in percent, with digits where they tell something."""
    value = 100 * probability
    if value < 0.01:
        return "< 0.01 %"
    return f"{value:.2f} %" if value < 1 else f"{value:.1f} %" if value < 10 else f"{value:.0f} %"


def _bar(canvas: Canvas, probability: float, x: float, y: float, width: float) -> None:
    for length, shade in ((width, RULE), (width * probability, POSTERIOR)):
        canvas.rectangle(x, y - 5, length, 10, fillcolor=shade, line={"width": 0})
    canvas.words(f"<b>{percent(probability)}</b>", x + width + 8, y, size=13, down="middle")
