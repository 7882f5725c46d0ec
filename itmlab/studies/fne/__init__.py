"""False negative elimination (Li et al. 2023): what is computed for its figures, the figures, the explorer."""

import lazy_loader as lazy

_NAMES = {  # file -> what it is known for, imported when first asked for
    "analysis": (
        "Curves GainByDensity Judgement Study curves gain_by_density judge negatives_taken posterior_quality study"
    ),
    "explorer": "explore_false_negatives",
    "figures": (
        "draw_by_truth draw_false_negative_probability draw_gain_by_density draw_negative_captions "
        "draw_negative_pictures draw_true_images draw_truth_by_knob"
    ),
}
__getattr__, __dir__, __all__ = lazy.attach(__name__, submod_attrs={file: n.split() for file, n in _NAMES.items()})
