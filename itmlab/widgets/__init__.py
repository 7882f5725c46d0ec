"""Explorers: each a thin skin over figure functions."""

from .attention import attention
from .embeddings import embeddings
from .explorer import Explorer
from .false_negatives import false_negatives
from .kernel_memory import kernel_memory
from .masking import masking
from .retrieval import retrieval
from .synthetic import synthetic
from .words import words

__all__ = [
    "Explorer",
    "attention",
    "embeddings",
    "false_negatives",
    "kernel_memory",
    "masking",
    "retrieval",
    "synthetic",
    "words",
]
