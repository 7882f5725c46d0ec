"""Recipes, the one loop, checkpoints, and comparison of recipes."""

from importlib import import_module
from typing import Any

_HOMES = {
    "CaptionRelevance": "relevance",
    "Comparison": "comparison",
    "Ensemble": "ensembles",
    "Hits": "hits",
    "Index": "search",
    "Interrupted": "interruption",
    "Recipe": "recipe",
    "Run": "run",
    "compare": "comparison",
    "compare_reduced": "reduced",
    "ensemble": "ensembles",
    "evaluate": "evaluation",
    "pretrained": "run",
    "relevance_matrix": "semantics",
    "similarity": "evaluation",
    "tracked": "tracking",
    "train": "loop",
    "write_embeddings": "evaluation",
}

__all__ = [*_HOMES]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'itmlab.training' has no attribute {name!r}")
    return getattr(import_module(f".{_HOMES[name]}", __name__), name)
