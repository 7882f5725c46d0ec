"""Why a model scores as it does: attention maps, relevance, pointing at known objects, false-negative probabilities."""

from .attention import AttentionMap, word_maps, word_to_patch
from .caption_maps import caption_maps
from .difficulty import DifficultyHistory, difficulty_history
from .discriminated import discriminated
from .embedded import Embedded, embedded, untrained
from .explained_sentence import ExplainedSentence
from .false_negatives import Curves, Judgement, Study, curves, judge, study
from .filtering import truth_by_filter
from .fluencies import Perplexity, fluency_table
from .info_cmr import Terms, shares_by_temperature, term_names, terms
from .judged import judged_by_people
from .kernel_memory import Recollection, SynthesisBatch, recollect, synthesis_batch
from .made import Made
from .made_of import MadeOf, made_of
from .matching import as_score, matching
from .measured import Measured, measured, semantic_recalls, truth_among_relevant
from .memory_sweeps import Curve, MemorySweep, hardness, memory_sweep, true_prototypes
from .negative_sources import GENERATORS
from .negatives_taken import negatives_taken
from .pointing import Pointing, pointing, word_masks
from .projections import neighbours_kept, project, project_together
from .rankings import Ranking, rank
from .relevance import relevance
from .retrievals import Retrievals, retrievals
from .surroundings import Surroundings, surroundings
from .sweep import Setting, synthesis_sweep
from .synthetic import synthetic_negatives
from .word_example import WordExample, word_example
from .word_study import WordStudy, word_study
from .word_truth import WordTruth, word_truth
from .words import corrections, words

__all__ = [
    "GENERATORS",
    "AnchorBatch",
    "AttentionMap",
    "Curve",
    "Curves",
    "DifficultyHistory",
    "Embedded",
    "ExplainedSentence",
    "Judgement",
    "Made",
    "MadeOf",
    "Measured",
    "MemorySweep",
    "Perplexity",
    "Pointing",
    "Ranking",
    "Recollection",
    "Retrievals",
    "Setting",
    "Study",
    "Surroundings",
    "SynthesisBatch",
    "Terms",
    "WordExample",
    "WordStudy",
    "WordTruth",
    "anchor_batch",
    "as_score",
    "caption_maps",
    "corrections",
    "curves",
    "difficulty_history",
    "discriminated",
    "embedded",
    "fluency_table",
    "hardness",
    "judge",
    "judged_by_people",
    "made_of",
    "matching",
    "measured",
    "memory_sweep",
    "negatives_taken",
    "neighbours_kept",
    "pointing",
    "project",
    "project_together",
    "rank",
    "recollect",
    "relevance",
    "retrievals",
    "semantic_recalls",
    "shares_by_temperature",
    "study",
    "surroundings",
    "synthesis_batch",
    "synthesis_sweep",
    "synthetic_negatives",
    "term_names",
    "terms",
    "true_prototypes",
    "truth_among_relevant",
    "truth_by_filter",
    "untrained",
    "word_example",
    "word_maps",
    "word_masks",
    "word_study",
    "word_to_patch",
    "word_truth",
    "words",
]
