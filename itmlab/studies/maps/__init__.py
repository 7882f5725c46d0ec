"""Attention maps and embedding maps of any dual encoder: where words land, what lies near what."""

import lazy_loader as lazy

_NAMES = {  # file -> what it is known for, imported when first asked for
    "attention": ("AttentionMap BoxedObjects Pointing caption_maps pointing relevance word_maps word_masks"),
    "embeddings": (
        "BatchNeighbourhood Embedded SharedWord batch_neighbourhood embedded neighbours_kept project project_together "
        "shared_words untrained"
    ),
    "explorers": "explore_attention explore_embeddings",
    "figures": (
        "draw_attention_maps draw_batch_neighbourhood draw_pointing_bars draw_projection draw_shared_words "
        "draw_words_on_patch painted"
    ),
}
__getattr__, __dir__, __all__ = lazy.attach(__name__, submod_attrs={file: n.split() for file, n in _NAMES.items()})
