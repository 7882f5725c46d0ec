"""What scores a pair: two towers, one tower, fragment matchers, their configurations, momentum copies."""

from importlib import import_module
from typing import Any

_HOMES = {
    "EmbeddedRegions": "transformer",
    "Encoded": "encoded",
    "Fragment": "fragment",
    "FragmentConfig": "config",
    "ImagePreparation": "base",
    "LoadReport": "weights.uniter",
    "Momentum": "dual_encoder",
    "OneTower": "cross_encoder",
    "OneTowerConfig": "config",
    "OneTowerOutput": "cross_encoder",
    "SeparateOneTower": "oscar",
    "SeparateOneTowerConfig": "config",
    "TwoTower": "dual_encoder",
    "TwoTowerConfig": "config",
    "build_fragment": "weights.build",
    "build_model": "weights.build",
    "build_one_tower": "weights.build",
    "build_separate_one_tower": "weights.build",
    "cosine_similarity": "encoded",
    "joined": "encoded",
    "load_public": "weights.uniter",
}

__all__ = [*_HOMES]


def __getattr__(name: str) -> Any:
    """Import on first use, so that a recipe can name a configuration without loading torch."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{_HOMES[name]}", __name__), name)
