"""TAGS-DC (Fan et al. 2022): synthetic sentences, words judged and corrected, their tables, figures and explorers."""

from .explorers import explore_masking, explore_synthetic, explore_words
from .negative_figures import (
    Example,
    Pairs,
    draw_difficulty,
    draw_negative_list,
    draw_score_scatter,
    draw_synthetic_examples,
)
from .negatives import GENERATORS, DifficultyHistory, Made, difficulty_history, synthetic_negatives
from .tables import (
    Perplexity,
    Setting,
    discriminated,
    draw_discrimination_table,
    draw_perplexities,
    draw_synthesis_sweep,
    draw_true_negative_rates,
    fluency_table,
    synthesis_sweep,
    truth_by_filter,
)
from .word_accuracy import WordStudy, WordTruth, word_study, word_truth
from .word_figures import draw_explained_words, draw_word_accuracy, draw_word_truth
from .words import ExplainedSentence, WordExample, corrections, explain_words, word_example

__all__ = [
    "GENERATORS", "DifficultyHistory", "Example", "ExplainedSentence", "Made", "Pairs", "Perplexity", "Setting",
    "WordExample", "WordStudy", "WordTruth", "corrections", "difficulty_history", "discriminated",
    "draw_difficulty", "draw_discrimination_table", "draw_explained_words", "draw_negative_list",
    "draw_perplexities", "draw_score_scatter", "draw_synthesis_sweep", "draw_synthetic_examples",
    "draw_true_negative_rates", "draw_word_accuracy", "draw_word_truth", "explain_words", "explore_masking",
    "explore_synthetic", "explore_words", "fluency_table", "synthesis_sweep", "synthetic_negatives",
    "truth_by_filter", "word_example", "word_study", "word_truth",
]  # fmt: skip
