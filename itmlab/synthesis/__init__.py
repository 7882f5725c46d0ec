"""Negatives that no data set holds, made of its captions: refilled or swapped words; retrieved ones beside; files."""

import lazy_loader as lazy

_NAMES = {  # file -> what it is known for, imported when first asked for
    "caption_swaps": "CaptionSwaps wordnet_swaps",
    "columns": "Table write_table",
    "export": "Exported export_negatives",
    "negative": "Negative",
    "read": "NegativeFile read_negatives",
    "refill": "MaskedRefill",
    "rules": "RuleSwaps",
    "synhnc": "FeatureNegatives SynHNC",
    "tags": "Retrieved FilteredTopM",
}
__getattr__, __dir__, __all__ = lazy.attach(__name__, submod_attrs={file: n.split() for file, n in _NAMES.items()})
