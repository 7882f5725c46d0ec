"""The world `scenes`: pictures that the package draws and captions itself, so that the truth of any pair is known."""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach(__name__, submod_attrs={"build": ["load"], "world": ["World"]})
