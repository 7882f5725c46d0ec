"""Figures: one call each, drawn from numbers, from a run or from `results/`."""

import sys

import lazy_loader as lazy

_NAMES = {  # module -> its public names, imported when first used
    "canvas": "draw_gallery draw_table",
    "charts": "Dot Line draw_comparison draw_curves draw_forest draw_gains",
    "drawn": "curve_rows draw_result draw_rows record_result",
    "false_negatives": "draw_false_negative_probability draw_negative_captions",
    "gradients": "draw_gradients shares_of_push",
    "maps": "draw_attention_maps draw_batch_neighbourhood draw_projection draw_words_on_patch painted",
    "negatives": "Example Pairs draw_explained_words draw_found_words draw_score_scatter draw_synthetic_examples",
    "rankings": "draw_ranked_captions draw_ranked_pictures",
    "results": "Result comparison_rows difference_rows level_rows list_results load_result recipes_of save_result",
    "saving": "save write_pages",
    "synthesis": "draw_kernel_memory draw_prototypes",
}
__getattr__, __dir__, __all__ = lazy.attach(
    __name__, submod_attrs={module: names.split() for module, names in _NAMES.items()}
)

if "ipykernel" in sys.modules:  # in a notebook figures follow JupyterLab's theme
    from . import saving  # noqa: F401
