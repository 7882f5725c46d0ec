"""Models of image-text matching: dual encoders, cross-encoders, late interaction, their configurations and weights."""

import lazy_loader as lazy

_NAMES = {  # file -> its public names, imported when they are first used
    "base": "ImagePreparation Model load_model model_class",
    "config": "ModelConfig LateInteractionConfig CrossEncoderConfig OscarDualEncoderConfig DualEncoderConfig",
    "cross_encoder": "CrossEncoder CrossEncoderOutput",
    "dual_encoder": "Momentum DualEncoder",
    "encoded": "Encoded cosine_similarity joined",
    "fragment": "LateInteraction",
    "oscar": "OscarDualEncoder",
    "photographs": "PhotoEncoder photos_installed with_photo_features",
    "transformer": "EmbeddedRegions",
    "weights.build": "build_from build_model",
    "weights.uniter": "load_public",
}
__getattr__, __dir__, __all__ = lazy.attach(__name__, submod_attrs={file: n.split() for file, n in _NAMES.items()})
