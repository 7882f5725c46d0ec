"""What is minimised: tensors in, one number out, one direction at a time (the caller adds the transpose)."""

from .contrastive import gaussian_noise, info_cmr, info_nce
from .tags import (
    PAPER_WEIGHTS,
    LossWeights,
    matching_score,
    matching_triplet,
    retrieved_matching,
    rows_by_anchor,
    synthetic_matching,
    triplet_hinges,
    weighted_sum,
)
from .triplet import adaptive_margin, max_of_hinges, sampled_triplet, sum_of_hinges
from .words import (
    UNLABELLED,
    correction_labels,
    counted_tokens,
    discrimination_labels,
    masked_language,
    token_likelihood,
    word_correction,
    word_discrimination,
)

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
