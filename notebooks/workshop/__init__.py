"""Figures, explorers, exercises and the papers' tables for the notebooks of itmlab.

`plots` draws, `analysis` computes what is drawn, `explore` has the widgets, `check` judges an exercise, and `papers`
sets the printed tables of four papers beside measured ones. `python -m workshop` lists the commands.
"""

import sys
from importlib import import_module
from typing import Any

# plotly shows figures by nbformat, which needs jsonschema, which would spend two seconds on a grammar of web addresses.
sys.modules.setdefault("rfc3987_syntax", None)

_MODULES = ("analysis", "exercises", "explore", "papers", "plots")
__all__ = ["check", *_MODULES]


def __getattr__(name: str) -> Any:
    """Import a part when it is first used: each needs plotly, widgets or scikit-learn."""
    if name == "check":
        return import_module("workshop.exercises").check
    if name in _MODULES:
        return import_module(f"workshop.{name}")
    raise AttributeError(f"module 'workshop' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
