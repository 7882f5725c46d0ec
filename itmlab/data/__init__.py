"""What is matched: image–caption sets, from files, from `datasets` and from packages that register theirs."""

import lazy_loader as lazy

_NAMES = {  # file -> what it is known for, imported when first asked for
    "loading": "load names",
    "sources": "SOURCES inspect_source record_checksums",
}
__getattr__, __dir__, __all__ = lazy.attach(__name__, submod_attrs={file: n.split() for file, n in _NAMES.items()})
