"""How good a score matrix is, and how alike captions are."""

from itmlab.metrics.causal_model import CausalModel, causal_model
from itmlab.metrics.cider import Cider, cider_matrix
from itmlab.metrics.correlation import Correlation, human_judgement, pearson
from itmlab.metrics.cumulative import ncs, ncs_of_each
from itmlab.metrics.discrimination import (
    WordAccuracy,
    discrimination,
    word_correction_accuracy,
    word_discrimination_accuracy,
)
from itmlab.metrics.document_frequencies import DocumentFrequencies
from itmlab.metrics.eccv import eccv_caption
from itmlab.metrics.extended import map_at_r, r_precision
from itmlab.metrics.fluency import Fluency, fluency
from itmlab.metrics.recall import recall
from itmlab.metrics.retrieval import retrieval
from itmlab.metrics.semantic import semantic_retrieval
from itmlab.metrics.semantic_ranking import SemanticRanking
from itmlab.metrics.semantic_recall import semantic_recall, semantic_recall_of_each
from itmlab.metrics.share import Share, share
from itmlab.metrics.spice import Spice, spice_matrix
from itmlab.metrics.true_negatives import TrueNegatives, true_negative_rate

__all__ = [
    "CausalModel",
    "Cider",
    "Correlation",
    "DocumentFrequencies",
    "Fluency",
    "SemanticRanking",
    "Share",
    "Spice",
    "TrueNegatives",
    "WordAccuracy",
    "causal_model",
    "cider_matrix",
    "discrimination",
    "eccv_caption",
    "fluency",
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
    "share",
    "spice_matrix",
    "true_negative_rate",
    "word_correction_accuracy",
    "word_discrimination_accuracy",
]
