"""Samplers choose a negative for each anchor: tensors in, indices out."""

import lazy_loader as lazy

_NAMES = {  # file -> what it is known for, imported when first asked for
    "base": "Sampler",
    "basic": "Hardest Oracle Random SemiHard Softest",
    "fne": ("FalseNegativeEliminating PRESETS Preset RunningMoments Statistics log_odds posterior sampling_weights"),
    "queue": "MomentumQueue Pool",
    "retrieved": "hardest_negatives mined_negatives random_negatives",
}
__getattr__, __dir__, __all__ = lazy.attach(__name__, submod_attrs={file: n.split() for file, n in _NAMES.items()})
