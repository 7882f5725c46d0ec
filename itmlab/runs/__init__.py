"""What a finished run can be asked: recall, search, features; run directories and the runs that ship."""

import lazy_loader as lazy

_NAMES = {  # file -> what it is known for, imported when first asked for
    "mining": "Mined mine",
    "run": "Ensemble Run ensemble pretrained",
    "scores": "evaluate relevance_matrix similarity write_embeddings",
    "search": "Hits",
}
__getattr__, __dir__, __all__ = lazy.attach(__name__, submod_attrs={file: n.split() for file, n in _NAMES.items()})
