"""TAGS-DC (Fan et al. 2022): synthetic sentences, words judged and corrected, their tables, figures and explorers."""

import lazy_loader as lazy

_NAMES = {  # file -> what it is known for, imported when first asked for
    "explorers": "explore_masking explore_negatives explore_words",
    "negative_figures": ("Example Pairs draw_negative_list draw_score_scatter draw_synthetic_examples"),
    "negatives": (
        "DifficultyHistory GENERATORS SyntheticNegatives difficulty_gap difficulty_history synthetic_negatives"
    ),
    "tables": "Perplexity draw_perplexities draw_true_negative_rates fluency_table truth_by_filter",
    "word_accuracy": "WordStudy WordTruth on_next_picture picture_worth word_study word_truth",
    "word_figures": "draw_algorithm_1 draw_explained_words draw_word_accuracy",
    "wrong_picture": "BothPictures draw_both_pictures masked_words replaced_phrases sentences_told wrong_pictures",
    "words": "Algorithm1 ExplainedSentence WordExample algorithm_1 corrections explain_words word_example",
}
__getattr__, __dir__, __all__ = lazy.attach(__name__, submod_attrs={file: n.split() for file, n in _NAMES.items()})
