"""Negatives that no data set holds, made of its captions: refilled or swapped words; retrieved ones beside; files."""

from .export import Exported, export_negatives
from .feature_negatives import FeatureNegatives, SynHNC
from .generator import Tailored
from .negative import Negative
from .read import NegativeFile, read_negatives
from .refill import MaskedRefill
from .retrieved import Retrieved
from .rules import RuleSwaps
from .wordnet import wordnet_swaps

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
