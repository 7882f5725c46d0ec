"""Training: recipes, the loop, its steps, runs, and the comparison of recipes.

`itmlab.train(recipe, data, run_dir)` trains a recipe and returns the `Run`; see `itmlab.train.loop.train`.
"""

import sys
from types import ModuleType
from typing import Any

import lazy_loader as lazy

_NAMES = {  # file -> its public names, imported when first used
    "comparison": "Comparison compare compare_runs",
    "session": "Interrupted",
    "loop": "train",
    "mining": "Mined mine",
    "named": "names recipe",
    "recipes": "Recipe",
    "run": "Ensemble Hits Run ensemble pretrained",
    "scores": "evaluate relevance_matrix similarity write_embeddings",
    "workers": "trained",
}
__getattr__, __dir__, __all__ = lazy.attach(__name__, submod_attrs={file: n.split() for file, n in _NAMES.items()})


class _Callable(ModuleType):
    """A module that trains when it is called: this room has the name of its main function."""

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        from .loop import train

        return train(*arguments, **options)


sys.modules[__name__].__class__ = _Callable
