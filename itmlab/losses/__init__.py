"""What is minimised: tensors in, one number out, one direction at a time (the caller adds the transpose).

Training calls these functions and no others, as attributes of this package, so that a change here is a change there.
"""

from .contrastive import gaussian_noise, info_cmr, info_nce
from .tags import (
    PAPER_WEIGHTS,
    LossWeights,
    masked_language,
    matching_binary,
    matching_contrast,
    matching_score,
    matching_triplet,
    retrieved_matching,
    rows_by_anchor,
    synthetic_matching,
    triplet_hinges,
    weighted_sum,
    word_correction,
    word_discrimination,
)
from .triplet import adaptive_margin, max_of_hinges, sampled_triplet, sum_of_hinges
from .words import UNLABELLED, correction_labels, counted_tokens, discrimination_labels, token_likelihood

__all__ = [
    "PAPER_WEIGHTS",
    "UNLABELLED",
    "LossWeights",
    "adaptive_margin",
    "correction_labels",
    "counted_tokens",
    "discrimination_labels",
    "gaussian_noise",
    "info_cmr",
    "info_nce",
    "masked_language",
    "matching_binary",
    "matching_contrast",
    "matching_score",
    "matching_triplet",
    "max_of_hinges",
    "retrieved_matching",
    "rows_by_anchor",
    "sampled_triplet",
    "sum_of_hinges",
    "synthetic_matching",
    "token_likelihood",
    "triplet_hinges",
    "weighted_sum",
    "word_correction",
    "word_discrimination",
]
