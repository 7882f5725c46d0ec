"""How good a score matrix is, and how alike captions are."""

from .cider import Cider, cider_matrix
from .eccv import eccv_caption, map_at_r, r_precision
from .ngrams import DocumentFrequencies
from .perplexity import CausalModel, Fluency, causal_model, fluency
from .ranking import recall, retrieval
from .semantic import SemanticRanking, ncs, ncs_of_each, semantic_recall, semantic_recall_of_each, semantic_retrieval
from .spice import Spice, spice_matrix
from .statistics import Correlation, Share, TrueNegatives, human_judgement, pearson, share, true_negative_rate
from .words import WordAccuracy, discrimination, word_correction_accuracy, word_discrimination_accuracy

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
