"""What scores a pair: two towers, one tower, fragment matchers, their configurations, momentum copies."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .build import build_model
    from .config import TwoTowerConfig
    from .encoded import Encoded, cosine_similarity, joined
    from .fragment import Fragment
    from .fragment_config import FragmentConfig
    from .fresh import build_fragment, build_one_tower, build_separate_one_tower
    from .momentum import Momentum
    from .one_tower import OneTower, OneTowerOutput
    from .one_tower_checkpoint import LoadReport, load_public
    from .one_tower_config import OneTowerConfig, SeparateOneTowerConfig
    from .one_tower_embedding import EmbeddedRegions
    from .preparation import ImagePreparation
    from .separate_one_tower import SeparateOneTower
    from .two_tower import TwoTower

_HOMES = {
    "EmbeddedRegions": "one_tower_embedding",
    "Encoded": "encoded",
    "Fragment": "fragment",
    "FragmentConfig": "fragment_config",
    "ImagePreparation": "preparation",
    "LoadReport": "one_tower_checkpoint",
    "Momentum": "momentum",
    "OneTower": "one_tower",
    "OneTowerConfig": "one_tower_config",
    "OneTowerOutput": "one_tower",
    "SeparateOneTower": "separate_one_tower",
    "SeparateOneTowerConfig": "one_tower_config",
    "TwoTower": "two_tower",
    "TwoTowerConfig": "config",
    "build_fragment": "fresh",
    "build_model": "build",
    "build_one_tower": "fresh",
    "build_separate_one_tower": "fresh",
    "cosine_similarity": "encoded",
    "joined": "encoded",
    "load_public": "one_tower_checkpoint",
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
