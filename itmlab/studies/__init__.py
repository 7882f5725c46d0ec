"""A room a paper: what is computed for its figures, the figures, and its explorer; `kit` is what all of them use."""

from importlib import import_module
from types import ModuleType

__all__ = [
    *("exercises", "fne", "itcontrast", "kit", "maps", "noise"),
    *("parser", "sam", "scene_graphs", "tags", "yardsticks"),
]


def __getattr__(name: str) -> ModuleType:
    """A room is imported when it is first asked for: each brings plotly and what its paper needs."""
    if name not in __all__:
        raise AttributeError(f"module 'itmlab.studies' has no room {name!r}")
    return import_module(f"{__name__}.{name}")
