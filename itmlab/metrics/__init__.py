"""How good a score matrix is, and how alike captions are."""

import lazy_loader as lazy

_NAMES = {  # file -> what it is known for, imported when first asked for
    "cider": "Cider cider_matrix",
    "eccv": "eccv_caption",
    "perplexity": "CausalModel Fluency causal_model fluency",
    "ranking": "chance_rsum positives_by recall retrieval",
    "semantic": ("SemanticRanking image_relevance ncs ncs_of_each semantic_recall_of_each semantic_retrieval"),
    "spice": "Spice spice_matrix",
    "statistics": "Interval Share holm pearson seeds_needed share smallest_effect verdict",
    "truth": "oracle_recall truth_retrieval",
    "yardsticks": "FORMATS Yardstick YardstickItem YardstickRow YardstickTable measure picture_key read_yardstick",
}
__getattr__, __dir__, __all__ = lazy.attach(__name__, submod_attrs={file: n.split() for file, n in _NAMES.items()})
