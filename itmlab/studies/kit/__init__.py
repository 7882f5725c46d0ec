"""What all studies use: the theme, canvas, bars and intervals, saving, and the base of explorers."""

from .bars import draw_calibration, draw_false_negative_shares, draw_recall_bars, draw_roc, draw_training_curves
from .canvas import draw_captioned, draw_gallery
from .explorer import Explorer
from .saving import committed, save, write_figure, write_pages
from .scoring import as_score, matching

__all__ = [
    "Explorer",
    "as_score",
    "committed",
    "draw_calibration",
    "draw_captioned",
    "draw_false_negative_shares",
    "draw_gallery",
    "draw_recall_bars",
    "draw_roc",
    "draw_training_curves",
    "matching",
    "save",
    "write_figure",
    "write_pages",
]
