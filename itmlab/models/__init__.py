"""What scores a pair: dual encoders, cross-encoder, fragment matchers, their configurations, momentum copies."""

import lazy_loader as lazy

_NAMES = {  # file -> what it is known for, imported when first asked for
    "base": "ImagePreparation",
    "config": "LateInteractionConfig CrossEncoderConfig OscarDualEncoderConfig DualEncoderConfig",
    "cross_encoder": "CrossEncoder CrossEncoderOutput",
    "dual_encoder": "Momentum DualEncoder",
    "encoded": "Encoded cosine_similarity joined",
    "fragment": "LateInteraction load_matcher",
    "oscar": "OscarDualEncoder",
    "photographs": "PhotoEncoder photos_installed with_photo_features",
    "transformer": "EmbeddedRegions",
    "weights.build": "build_late_interaction build_model build_cross_encoder build_oscar_dual_encoder",
    "weights.uniter": "LoadReport load_public",
}
__getattr__, __dir__, __all__ = lazy.attach(__name__, submod_attrs={file: n.split() for file, n in _NAMES.items()})
