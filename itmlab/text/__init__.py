"""Text of captions: scene graphs with token spans, maskings of phrases, and tokenisers."""

import lazy_loader as lazy

_NAMES = {  # file -> what it is known for, imported when first asked for
    "graph": "Attribute Relation SceneGraph SceneObject Span tokenise",
    "masking": "Phrase PhraseMasking WordMasking phrases",
    "parsing": "parse",
    "tokens": "unknown_words",
}
__getattr__, __dir__, __all__ = lazy.attach(__name__, submod_attrs={file: n.split() for file, n in _NAMES.items()})
