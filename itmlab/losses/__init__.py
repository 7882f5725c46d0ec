"""Losses: tensors in, one number out, one direction at a time (the caller adds the transpose).

Training calls these functions as attributes of this package, so a change here changes training.
"""

import lazy_loader as lazy

_NAMES = {  # file -> what it is known for, imported when first asked for
    "base": "Loss",
    "contrastive": "InfoCMR InfoNCE gaussian_noise",
    "rivals": "DebiasedInfoNCE HardNegativeNCE RelabellingInfoNCE SigmoidLoss",
    "tags": (
        "LossWeights PAPER_WEIGHTS matching_score retrieved_matching synthetic_matching triplet_hinges weighted_sum "
        "word_correction word_discrimination KEPT REPLACED UNLABELLED correction_labels counted_tokens "
        "discrimination_labels label_weight token_likelihood"
    ),
    "sam": "SemanticAdaptiveMargin adaptive_margin",
    "triplet": "TripletLoss",
}
__getattr__, __dir__, __all__ = lazy.attach(__name__, submod_attrs={file: n.split() for file, n in _NAMES.items()})
