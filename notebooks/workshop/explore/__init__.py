"""Widgets for the notebooks: `explore(run, data)` for a whole set, and one `explore_...` call for each question."""

import sys
from types import ModuleType
from typing import Any

import lazy_loader as lazy

_NAMES = {  # module -> its public names, imported when first used
    "base": ("Explorer "),
    "false_negatives": ("explore_false_negatives "),
    "history": ("view "),
    "kernel_memory": ("explore_kernel_memory "),
    "maps": ("explore_attention "),
    "negatives": ("explore_masking explore_negatives explore_words "),
    "whole": ("explore "),
}
__getattr__, __dir__, __all__ = lazy.attach(
    __name__, submod_attrs={module: names.split() for module, names in _NAMES.items()}
)


class _Explore(ModuleType):
    """This package, which can be called: `workshop.explore(run, data)`."""

    def __call__(self, runs: Any, data: Any, **options: Any) -> Any:
        return self.explore(runs, data, **options)


sys.modules[__name__].__class__ = _Explore
