"""Widgets for the notebooks: one `explore_...` call each."""

import lazy_loader as lazy

_NAMES = {  # module -> its public names, imported when first used
    "base": ("Explorer "),
    "false_negatives": ("explore_false_negatives "),
    "history": ("view "),
    "kernel_memory": ("explore_kernel_memory "),
    "maps": ("explore_attention explore_embeddings "),
    "negatives": ("explore_masking explore_negatives explore_words "),
    "retrieval": ("explore_retrieval "),
}
__getattr__, __dir__, __all__ = lazy.attach(
    __name__, submod_attrs={module: names.split() for module, names in _NAMES.items()}
)
