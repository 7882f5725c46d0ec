"""How wide words are on paper: needed where boxes are drawn around them before any browser has seen them."""

from unicodedata import combining, east_asian_width

# Advance widths of Arial (and of its metric twins Helvetica and Liberation Sans), thousandths of the font size.
_ASCII = dict(
    zip(
        map(chr, range(32, 127)),
        [278, 278, 355, 556, 556, 889, 667, 191, 333, 333, 389, 584, 278, 333, 278, 278]
        + [556] * 10
        + [278, 278, 584, 584, 584, 556, 1015]
        + [667, 667, 722, 722, 667, 611, 778, 722, 278, 500, 667, 556, 833]
        + [722, 778, 667, 778, 722, 667, 611, 722, 667, 944, 667, 667, 611]
        + [278, 278, 278, 469, 556, 333]
        + [556, 556, 500, 556, 556, 278, 556, 556, 222, 222, 500, 222, 833]
        + [556, 556, 556, 556, 333, 500, 278, 556, 500, 722, 500, 500, 500]
        + [334, 260, 334, 584],
        strict=True,
    )
)


def text_width(text: str, size: float) -> float:
    """Pixels that `text` takes in the house font at `size` pixels; letters beyond ASCII are estimated."""
    return sum(_ASCII.get(letter) or _estimate(letter) for letter in text) * size / 1000


def shortened(text: str, size: float, room: float) -> str:
    """`text`, or as much of its beginning as fits into `room` pixels together with an ellipsis."""
    if text_width(text, size) <= room:
        return text
    kept = 0.0
    for at, letter in enumerate(text):
        kept += text_width(letter, size)
        if kept > room - size:
            return text[:at] + "…"
    return text


def _estimate(letter: str) -> int:
    if combining(letter) or not letter.isprintable():
        return 0
    return 1000 if east_asian_width(letter) in "WF" else 600
