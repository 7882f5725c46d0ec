"""Semantic recall, NCS and SAM (Biten et al. 2022): rankings, people's ratings, margins, and their figures."""

from .explorer import explore_retrieval
from .figures import (
    draw_measures_by_model,
    draw_ranked_captions,
    draw_ranked_pictures,
    draw_relevance_by_truth,
    draw_semantic_recall_by_m,
    draw_truth_among_relevant,
)
from .human import draw_human_judgement, judged_by_people
from .margins import draw_adaptive_margins, draw_reduced_data
from .rankings import (
    Measured,
    Ranking,
    Retrievals,
    measured,
    rank,
    retrievals,
    semantic_recalls,
    truth_among_relevant,
)

__all__ = [
    "Measured", "Ranking", "Retrievals", "draw_adaptive_margins", "draw_human_judgement", "draw_measures_by_model",
    "draw_ranked_captions", "draw_ranked_pictures", "draw_reduced_data", "draw_relevance_by_truth",
    "draw_semantic_recall_by_m", "draw_truth_among_relevant", "explore_retrieval", "judged_by_people", "measured",
    "rank", "retrievals", "semantic_recalls", "truth_among_relevant",
]  # fmt: skip
