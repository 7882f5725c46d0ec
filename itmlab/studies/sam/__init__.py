"""Semantic recall, NCS and SAM (Biten et al., 2022): rankings, people's ratings, margins, and their figures."""

import lazy_loader as lazy

_NAMES = {  # module -> its public names, imported when first used
    "explorer": "explore_retrieval",
    "figures": "draw_ranked_captions draw_ranked_pictures draw_semantic_recall_by_m",
    "human": "correlation_rows human_correlation",
    "rankings": "Measured Ranking Retrievals measured rank retrievals semantic_recalls truth_among_relevant",
}
__getattr__, __dir__, __all__ = lazy.attach(
    __name__, submod_attrs={module: names.split() for module, names in _NAMES.items()}
)
