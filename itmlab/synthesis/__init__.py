"""Negatives that a data set does not contain, made from its captions; retrieved negatives; files of negatives."""

import lazy_loader as lazy

_NAMES = {  # file -> what it is known for, imported when first asked for
    "files": "NegativeFile generate_negatives read_negatives write_negatives",
    "negative": "SentenceGenerator Negative",
    "rules": "RuleSwaps",
    "synhnc": "FeatureNegatives SynHNC Synthesiser",
    "tags": "FilteredTopM MaskedRefill",
}
__getattr__, __dir__, __all__ = lazy.attach(__name__, submod_attrs={file: n.split() for file, n in _NAMES.items()})
