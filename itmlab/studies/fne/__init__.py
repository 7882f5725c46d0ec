"""False negative elimination (Li et al. 2023): what is computed for its figures, the figures, the explorer."""

from .analysis import Curves, Judgement, Study, curves, judge, negatives_taken, study
from .explorer import explore_false_negatives
from .figures import (
    draw_false_negative_probability,
    draw_negative_captions,
    draw_negative_pictures,
    draw_true_images,
    draw_truth_by_knob,
)

__all__ = [
    "Curves",
    "Judgement",
    "Study",
    "curves",
    "draw_false_negative_probability",
    "draw_negative_captions",
    "draw_negative_pictures",
    "draw_true_images",
    "draw_truth_by_knob",
    "explore_false_negatives",
    "judge",
    "negatives_taken",
    "study",
]
