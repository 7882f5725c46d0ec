"""One function a figure: arrays in, plotly figure out; `save` puts it on disk with its provenance."""

from .attention import attention_maps
from .calibration import calibration
from .committed import committed
from .gallery import gallery
from .graph import scene_graph
from .human_judgement import human_judgement
from .margins import adaptive_margins
from .masking import masked_shares, phrase_kinds
from .measures import measures_by_model
from .negatives import negative_captions, negative_pictures
from .pages import write_pages
from .pointing import pointing_bars
from .posterior import false_negative_probability
from .ranked import ranked_captions, ranked_pictures
from .recall import recall_bars
from .reduced import reduced_data
from .roc import roc
from .save import save, write_figure
from .scene import scene
from .semantic_recall import semantic_recall_by_m
from .semantic_truth import relevance_by_truth, truth_among_relevant
from .shares import false_negative_shares
from .spans import caption_spans
from .training import training_curves
from .truth import true_images, truth_by_knob

__all__ = [
    "adaptive_margins",
    "attention_maps",
    "calibration",
    "caption_spans",
    "committed",
    "false_negative_probability",
    "false_negative_shares",
    "gallery",
    "human_judgement",
    "masked_shares",
    "measures_by_model",
    "negative_captions",
    "negative_pictures",
    "phrase_kinds",
    "pointing_bars",
    "ranked_captions",
    "ranked_pictures",
    "recall_bars",
    "reduced_data",
    "relevance_by_truth",
    "roc",
    "save",
    "scene",
    "scene_graph",
    "semantic_recall_by_m",
    "training_curves",
    "true_images",
    "truth_among_relevant",
    "truth_by_knob",
    "write_figure",
    "write_pages",
]
