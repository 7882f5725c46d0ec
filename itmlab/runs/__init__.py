"""What a finished run can be asked: recall, search, features; run directories and the runs that ship."""

from importlib import import_module
from typing import Any

_HOMES = {
    "Ensemble": "run",
    "Hits": "search",
    "Index": "search",
    "Run": "run",
    "ensemble": "run",
    "evaluate": "scores",
    "pretrained": "run",
    "relevance_matrix": "scores",
    "similarity": "scores",
    "tracked": "run",
    "write_embeddings": "scores",
}

__all__ = [*_HOMES]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'itmlab.runs' has no attribute {name!r}")
    return getattr(import_module(f".{_HOMES[name]}", __name__), name)
