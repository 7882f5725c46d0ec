"""Figures: one call each, drawn from numbers, from a run or from `results/`."""

import sys

import lazy_loader as lazy

_NAMES = {  # module -> its public names, imported when first used
    "bars": (
        "Calibration Dot Line densities draw_bars draw_comparison draw_curves draw_gains interval_rows roc_curves "
    ),
    "canvas": ("draw_captioned draw_gallery draw_table "),
    "drawn": ("curve_rows draw_result record_result "),
    "false_negatives": ("draw_false_negative_probability draw_negative_captions draw_negative_pictures true_images "),
    "maps": (
        "draw_attention_maps draw_batch_neighbourhood draw_pointing_bars draw_projection draw_shared_words "
        "draw_words_on_patch painted "
    ),
    "negative_tables": ("Perplexity draw_perplexities draw_true_negative_rates fluency_table truth_by_filter "),
    "negatives": ("Example Pairs draw_negative_list draw_score_scatter draw_synthetic_examples "),
    "rankings": ("draw_ranked_captions draw_ranked_pictures draw_semantic_recall_by_m "),
    "results": ("Result comparison_rows difference_rows level_rows list_results load_result save_result "),
    "saving": ("committed save write_figure write_pages "),
    "synthesis": ("draw_info_cmr_terms draw_kernel_memory draw_prototypes sweep_curves "),
    "words": ("draw_algorithm_1 draw_explained_words draw_word_accuracy "),
}
__getattr__, __dir__, __all__ = lazy.attach(
    __name__, submod_attrs={module: names.split() for module, names in _NAMES.items()}
)

if "ipykernel" in sys.modules:  # in a notebook every figure carries a picture for pages that draw no plotly
    from . import saving  # noqa: F401
