"""The one loop, what it minimises for each kind of model, and the comparison of recipes."""

import lazy_loader as lazy

_NAMES = {  # file -> what it is known for, imported when first asked for
    "comparison": "Comparison compare compare_runs trained",
    "interruption": "Interrupted",
    "loop": "train",
    "relevance": "CaptionRelevance",
}
__getattr__, __dir__, __all__ = lazy.attach(__name__, submod_attrs={file: n.split() for file, n in _NAMES.items()})
