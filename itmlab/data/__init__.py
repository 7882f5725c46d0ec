"""Image-caption sets, their readers, batches and pictures."""

import lazy_loader as lazy

_NAMES = {  # file -> its public names, imported when they are first used
    "loading": "load names",
}
__getattr__, __dir__, __all__ = lazy.attach(__name__, submod_attrs={file: n.split() for file, n in _NAMES.items()})
