"""What is minimised: tensors in, one number out, one direction at a time (the caller adds the transpose)."""

from itmlab.losses.adaptive_margin import adaptive_margin
from itmlab.losses.info_nce import info_nce
from itmlab.losses.triplet import max_of_hinges, sampled_triplet, sum_of_hinges

__all__ = ["adaptive_margin", "info_nce", "max_of_hinges", "sampled_triplet", "sum_of_hinges"]
