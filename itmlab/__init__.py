"""A workbench for image-text matching with hard, synthetic and false negatives."""

import os
from importlib import import_module
from typing import Any

__version__ = "0.1.0"

# GNU's OpenMP, on which torch computes, spins for milliseconds where a thread waits for the others. Two processes with
# a thread for each core (two notebooks open at once) then hold the cores that the other waits for, and a step of either
# takes 70 to 90 times as long; spinning a thirtieth of that it is 5 to 6 times, and alone no slower. Read with torch.
if "OMP_WAIT_POLICY" not in os.environ:
    os.environ.setdefault("GOMP_SPINCOUNT", "10000")

# The names used most, each brought in when first asked for, so that `import itmlab` stays quick.
_HOMES = {
    "load": "itmlab.data",
    "compare": "itmlab.train",
    "ensemble": "itmlab.train",
    "mine": "itmlab.train",
    "pretrained": "itmlab.train",
    "Run": "itmlab.train",
    "recipe": "itmlab.train",
    "Recipe": "itmlab.train.recipes",
    "ItmlabError": "itmlab.errors",
}
_FOLDERS = ("data", "losses", "metrics", "models", "samplers", "scenes", "storage", "synthesis", "text", "train")

__all__ = [*_HOMES, *_FOLDERS, "__version__"]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    if name in _FOLDERS:
        return import_module(f"itmlab.{name}")
    raise AttributeError(f"module 'itmlab' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
