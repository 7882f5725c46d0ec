"""Why a model scores as it does: attention maps, relevance, pointing at known objects, false-negative probabilities."""

from .attention import AttentionMap, word_maps, word_to_patch
from .caption_maps import caption_maps
from .false_negatives import Curves, Judgement, Study, curves, judge, study
from .judged import judged_by_people
from .measured import Measured, measured, semantic_recalls, truth_among_relevant
from .negatives_taken import negatives_taken
from .pointing import Pointing, pointing, word_masks
from .rankings import Ranking, rank
from .relevance import relevance
from .retrievals import Retrievals, retrievals

__all__ = [
    "AttentionMap",
    "Curves",
    "Judgement",
    "Measured",
    "Pointing",
    "Ranking",
    "Retrievals",
    "Study",
    "caption_maps",
    "curves",
    "judge",
    "judged_by_people",
    "measured",
    "negatives_taken",
    "pointing",
    "rank",
    "relevance",
    "retrievals",
    "semantic_recalls",
    "study",
    "truth_among_relevant",
    "word_maps",
    "word_masks",
    "word_to_patch",
]
