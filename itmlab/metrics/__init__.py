"""How good a score matrix is, and how alike captions are."""

from itmlab.metrics.cider import Cider, cider_matrix
from itmlab.metrics.correlation import Correlation, human_judgement, pearson
from itmlab.metrics.cumulative import ncs, ncs_of_each
from itmlab.metrics.document_frequencies import DocumentFrequencies
from itmlab.metrics.eccv import eccv_caption
from itmlab.metrics.extended import map_at_r, r_precision
from itmlab.metrics.recall import recall
from itmlab.metrics.retrieval import retrieval
from itmlab.metrics.semantic import semantic_retrieval
from itmlab.metrics.semantic_ranking import SemanticRanking
from itmlab.metrics.semantic_recall import semantic_recall, semantic_recall_of_each
from itmlab.metrics.spice import Spice, spice_matrix

__all__ = [
    "Cider",
    "Correlation",
    "DocumentFrequencies",
    "SemanticRanking",
    "Spice",
    "cider_matrix",
    "eccv_caption",
    "human_judgement",
    "map_at_r",
    "ncs",
    "ncs_of_each",
    "pearson",
    "r_precision",
    "recall",
    "retrieval",
    "semantic_recall",
    "semantic_recall_of_each",
    "semantic_retrieval",
    "spice_matrix",
]
