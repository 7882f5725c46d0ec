"""Why a model scores as it does: attention maps, relevance, pointing at known objects, false-negative probabilities."""

from .attention import AttentionMap, word_maps, word_to_patch
from .caption_maps import caption_maps
from .false_negatives import Curves, Judgement, Study, curves, judge, study
from .negatives_taken import negatives_taken
from .pointing import Pointing, pointing, word_masks
from .relevance import relevance

__all__ = [
    "AttentionMap",
    "Curves",
    "Judgement",
    "Pointing",
    "Study",
    "caption_maps",
    "curves",
    "judge",
    "negatives_taken",
    "pointing",
    "relevance",
    "study",
    "word_maps",
    "word_masks",
    "word_to_patch",
]
