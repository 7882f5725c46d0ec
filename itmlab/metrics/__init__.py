"""How good a score matrix is, and how alike captions are."""

import lazy_loader as lazy

_NAMES = {  # file -> what it is known for, imported when first asked for
    "cider": "Cider cider_matrix",
    "eccv": "eccv_caption map_at_r oracle_recall truth_retrieval",
    "perplexity": "CausalModel Fluency NgramModel causal_model fluency",
    "ranking": "recall retrieval",
    "semantic": (
        "SemanticRanking image_relevance ncs ncs_of_each semantic_recall semantic_recall_of_each semantic_retrieval"
    ),
    "spice": "Spice spice_matrix",
    "statistics": (
        "Correlation Interval Share holm human_judgement pearson seeds_needed share smallest_effect verdict"
    ),
    "yardstick_scores": "YardstickRow YardstickTable measure text_scores",
    "yardsticks": "FORMATS Yardstick YardstickItem picture_key read_yardstick",
}
__getattr__, __dir__, __all__ = lazy.attach(__name__, submod_attrs={file: n.split() for file, n in _NAMES.items()})
