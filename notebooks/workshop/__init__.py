"""Figures, explorers, exercises and the papers' tables for the notebooks of itmlab.

`plots` draws, `analysis` computes what is drawn, `explore` has the widgets, `check` judges an exercise, and `papers`
sets the printed tables of four papers beside measured ones. `python -m workshop` lists the commands.
"""

import sys

import lazy_loader as lazy

# plotly shows figures by nbformat, which needs jsonschema, which would spend two seconds on a grammar of web addresses.
sys.modules.setdefault("rfc3987_syntax", None)

# each part needs plotly, widgets or scikit-learn, and is imported when it is first used
__getattr__, __dir__, __all__ = lazy.attach(
    __name__, submodules=["analysis", "explore", "papers", "plots"], submod_attrs={"exercises": ["check"]}
)
