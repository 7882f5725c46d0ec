"""False negative elimination (Li et al., 2023): its analysis, figures and explorer."""

import lazy_loader as lazy

_NAMES = {  # module -> its public names, imported when first used
    "analysis": "Curves Judgement Study curves judge negatives_taken posterior_quality study",
    "explorer": "explore_false_negatives",
    "figures": "draw_false_negative_probability draw_negative_captions draw_negative_pictures true_images",
}
__getattr__, __dir__, __all__ = lazy.attach(
    __name__, submod_attrs={module: names.split() for module, names in _NAMES.items()}
)
