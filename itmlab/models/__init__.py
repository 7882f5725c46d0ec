"""What scores a pair: two towers, one tower, fragment matchers, their configurations, momentum copies."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .base import ImagePreparation
    from .config import FragmentConfig, OneTowerConfig, SeparateOneTowerConfig, TwoTowerConfig
    from .cross_encoder import OneTower, OneTowerOutput
    from .dual_encoder import Momentum, TwoTower
    from .encoded import Encoded, cosine_similarity, joined
    from .fragment import Fragment
    from .oscar import SeparateOneTower
    from .transformer import EmbeddedRegions
    from .weights.build import build_fragment, build_model, build_one_tower, build_separate_one_tower
    from .weights.uniter import LoadReport, load_public


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
__all__ = [
    "EmbeddedRegions",
    "Encoded",
    "Fragment",
    "FragmentConfig",
    "ImagePreparation",
    "LoadReport",
    "Momentum",
    "OneTower",
    "OneTowerConfig",
    "OneTowerOutput",
    "SeparateOneTower",
    "SeparateOneTowerConfig",
    "TwoTower",
    "TwoTowerConfig",
    "build_fragment",
    "build_model",
    "build_one_tower",
    "build_separate_one_tower",
    "cosine_similarity",
    "joined",
    "load_public",
]


def __getattr__(name: str):
    """Import on first use, so that a recipe can name a configuration without loading torch."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{_HOMES[name]}", __name__), name)
