"""The one loop, what it minimises for each kind of model, and the comparison of recipes."""

from importlib import import_module
from typing import Any

_HOMES = {
    "CaptionRelevance": "relevance",
    "Comparison": "comparison",
    "Interrupted": "progress",
    "compare": "comparison",
    "compare_reduced": "comparison",
    "train": "loop",
}

__all__ = [*_HOMES]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'itmlab.training' has no attribute {name!r}")
    return getattr(import_module(f".{_HOMES[name]}", __name__), name)
