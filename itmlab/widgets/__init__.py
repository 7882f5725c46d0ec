"""Explorers: each a thin skin over figure functions."""

from .attention import attention
from .explorer import Explorer
from .false_negatives import false_negatives
from .masking import masking
from .retrieval import retrieval

__all__ = ["Explorer", "attention", "false_negatives", "masking", "retrieval"]
