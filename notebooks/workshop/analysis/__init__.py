"""What the figures show, computed from runs and data sets."""

import lazy_loader as lazy

_NAMES = {  # module -> its public names, imported when first used
    "attention": ("AttentionMap Pointing caption_maps pointing word_drops word_maps word_masks "),
    "embeddings": (
        "BatchNeighbourhood Embedded batch_neighbourhood embedded neighbours_kept project project_together "
    ),
    "false_negatives": ("Curves Judgement Study curves judge negatives_taken study "),
    "human": ("rating_rows "),
    "kernel_memory": (
        "Attribution MemorySweep ReadOut SynthesisBatch attribution hardness memory_sweep read_out "
        "shares_by_temperature synthesis_batch true_prototypes "
    ),
    "lines": ("Calibration densities roc_curves sweep_curves true_images "),
    "noise": ("with_noise "),
    "negatives": ("SyntheticNegatives difficulty_history synthetic_negatives truth_by_filter "),
    "rankings": ("Measured Ranking Retrievals measured rank retrievals semantic_recalls truth_among_relevant "),
    "scoring": ("as_score matching run_on_yardstick "),
    "word_accuracy": ("on_next_picture word_study "),
    "words": ("explain_words fluency_table word_example "),
    "wrong_picture": ("BothPictures draw_both_pictures replaced_phrases sentences_told word_doubts wrong_word_found "),
}
__getattr__, __dir__, __all__ = lazy.attach(
    __name__, submod_attrs={module: names.split() for module, names in _NAMES.items()}
)
