"""What is minimised: tensors in, one number out, one direction at a time (the caller adds the transpose)."""

from itmlab.losses.adaptive_margin import adaptive_margin
from itmlab.losses.info_cmr import gaussian_noise, info_cmr
from itmlab.losses.info_nce import info_nce
from itmlab.losses.masked_language import masked_language
from itmlab.losses.matching import (
    matching_score,
    matching_triplet,
    retrieved_matching,
    synthetic_matching,
    triplet_hinges,
)
from itmlab.losses.pair_rows import rows_by_anchor
from itmlab.losses.token_likelihood import UNLABELLED, token_likelihood
from itmlab.losses.triplet import max_of_hinges, sampled_triplet, sum_of_hinges
from itmlab.losses.weighted_sum import PAPER_WEIGHTS, LossWeights, weighted_sum
from itmlab.losses.word_level import (
    correction_labels,
    counted_tokens,
    discrimination_labels,
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
