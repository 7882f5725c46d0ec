"""How good a score matrix is."""

from itmlab.metrics.recall import recall
from itmlab.metrics.retrieval import retrieval

__all__ = ["recall", "retrieval"]
