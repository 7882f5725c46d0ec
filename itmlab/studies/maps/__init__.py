"""Attention maps and embedding maps of any dual encoder: where words land, what lies near what."""

from .attention import AttentionMap, Pointing, caption_maps, pointing, relevance, word_maps, word_masks, word_to_patch
from .embeddings import (
    Embedded,
    Surroundings,
    embedded,
    neighbours_kept,
    project,
    project_together,
    surroundings,
    untrained,
)
from .explorers import explore_attention, explore_embeddings
from .figures import draw_attention_maps, draw_pointing_bars, draw_projection, draw_similarities, draw_surroundings

__all__ = [
    "AttentionMap",
    "Embedded",
    "Pointing",
    "Surroundings",
    "caption_maps",
    "draw_attention_maps",
    "draw_pointing_bars",
    "draw_projection",
    "draw_similarities",
    "draw_surroundings",
    "embedded",
    "explore_attention",
    "explore_embeddings",
    "neighbours_kept",
    "pointing",
    "project",
    "project_together",
    "relevance",
    "surroundings",
    "untrained",
    "word_maps",
    "word_masks",
    "word_to_patch",
]
