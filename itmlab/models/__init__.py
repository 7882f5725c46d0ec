"""What scores a pair: two towers, their configuration, their momentum copies."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .build import build_model
    from .config import TwoTowerConfig
    from .encoded import Encoded, cosine_similarity
    from .momentum import Momentum
    from .preparation import ImagePreparation
    from .two_tower import TwoTower

_HOMES = {
    "Encoded": "encoded",
    "ImagePreparation": "preparation",
    "Momentum": "momentum",
    "TwoTower": "two_tower",
    "TwoTowerConfig": "config",
    "build_model": "build",
    "cosine_similarity": "encoded",
}
__all__ = [
    "Encoded",
    "ImagePreparation",
    "Momentum",
    "TwoTower",
    "TwoTowerConfig",
    "build_model",
    "cosine_similarity",
]


def __getattr__(name: str):
    """Import on first use, so that a recipe can name a configuration without loading torch."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{_HOMES[name]}", __name__), name)
