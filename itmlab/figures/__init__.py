"""One function a figure: arrays in, plotly figure out; `save` puts it on disk with its provenance."""

from .attention import attention_maps
from .calibration import calibration
from .captioned import captioned
from .committed import committed
from .contrast_tables import contrast_gains, contrast_table
from .difficulty import difficulty
from .gallery import gallery
from .graph import scene_graph
from .hardness import hardness
from .human_judgement import human_judgement
from .info_cmr import denominator_shares, info_cmr_terms
from .kernel_memory import kernel_memory
from .made import Example, negative_list, synthetic_examples
from .margins import adaptive_margins
from .masking import masked_shares, phrase_kinds
from .measures import measures_by_model
from .memory_sweep import memory_sweep
from .negatives import negative_captions, negative_pictures
from .pages import write_pages
from .pointing import pointing_bars
from .posterior import false_negative_probability
from .projection import projection
from .prototypes import prototypes
from .ranked import ranked_captions, ranked_pictures
from .recall import recall_bars
from .reduced import reduced_data
from .roc import roc
from .save import save, write_figure
from .scene import scene
from .semantic_recall import semantic_recall_by_m
from .semantic_truth import relevance_by_truth, truth_among_relevant
from .shares import false_negative_shares
from .similarities import similarities
from .spans import caption_spans
from .surroundings import surroundings
from .sweep import synthesis_sweep
from .synthesis_tables import discrimination_table, perplexities, true_negative_rates
from .synthetic import Pairs, score_scatter
from .training import training_curves
from .truth import true_images, truth_by_knob
from .word_accuracy import word_accuracy
from .word_truth import word_truth
from .words import explained_words

__all__ = [
    "Example",
    "Pairs",
    "adaptive_margins",
    "attention_maps",
    "calibration",
    "caption_spans",
    "captioned",
    "committed",
    "contrast_gains",
    "contrast_table",
    "denominator_shares",
    "difficulty",
    "discrimination_table",
    "explained_words",
    "false_negative_probability",
    "false_negative_shares",
    "gallery",
    "hardness",
    "human_judgement",
    "info_cmr_terms",
    "kernel_memory",
    "masked_shares",
    "measures_by_model",
    "memory_sweep",
    "negative_captions",
    "negative_list",
    "negative_pictures",
    "perplexities",
    "phrase_kinds",
    "pointing_bars",
    "projection",
    "prototypes",
    "ranked_captions",
    "ranked_pictures",
    "recall_bars",
    "reduced_data",
    "relevance_by_truth",
    "roc",
    "save",
    "scene",
    "scene_graph",
    "score_scatter",
    "semantic_recall_by_m",
    "similarities",
    "surroundings",
    "synthesis_sweep",
    "synthetic_examples",
    "training_curves",
    "true_images",
    "true_negative_rates",
    "truth_among_relevant",
    "truth_by_knob",
    "word_accuracy",
    "word_truth",
    "write_figure",
    "write_pages",
]
