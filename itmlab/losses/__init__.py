"""What is minimised: tensors in, one number out, one direction at a time (the caller adds the transpose)."""

from itmlab.losses.info_nce import info_nce
from itmlab.losses.triplet import max_of_hinges, sampled_triplet, sum_of_hinges

__all__ = ["info_nce", "max_of_hinges", "sampled_triplet", "sum_of_hinges"]
