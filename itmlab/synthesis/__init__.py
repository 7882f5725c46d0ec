"""Negatives that no data set holds, made of its captions: refilled or swapped words; retrieved ones beside; files."""

from .export import Exported, export_negatives
from .negative import Negative
from .read import NegativeFile, read_negatives
from .refill import MaskedRefill
from .rules import RuleSwaps, wordnet_swaps
from .synhnc import FeatureNegatives, SynHNC
from .tags import Retrieved, Tailored

__all__ = [
    "Exported",
    "FeatureNegatives",
    "MaskedRefill",
    "Negative",
    "NegativeFile",
    "Retrieved",
    "RuleSwaps",
    "SynHNC",
    "Tailored",
    "export_negatives",
    "read_negatives",
    "wordnet_swaps",
]
