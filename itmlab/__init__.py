"""A workbench for image-text matching with hard, synthetic and false negatives."""

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

# The names used most, each brought in when first asked for, so that `import itmlab` stays quick.
_HOMES = {
    "load": "itmlab.data",
    "train": "itmlab.training",
    "compare": "itmlab.training",
    "estimate": "itmlab.recipes.dry_run",
    "ensemble": "itmlab.runs",
    "mine": "itmlab.runs",
    "pretrained": "itmlab.runs",
    "Run": "itmlab.runs",
    "ItmlabError": "itmlab.errors",
    "check": "itmlab.studies.exercises",
    "view": "itmlab.studies.kit.viewer",
}
_FOLDERS = ("data", "losses", "metrics", "models", "papers", "recipes", "runs", "samplers", "scenes", "storage",
            "studies", "synthesis", "text", "training")  # fmt: skip

__all__ = [*_HOMES, *_FOLDERS, "__version__"]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    if name in _FOLDERS:
        return import_module(f"itmlab.{name}")
    raise AttributeError(f"module 'itmlab' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
