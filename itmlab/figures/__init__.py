"""One function a figure: arrays in, plotly figure out; `save` puts it on disk with its provenance."""

from .attention import attention_maps
from .calibration import calibration
from .committed import committed
from .gallery import gallery
from .graph import scene_graph
from .negatives import negative_captions, negative_pictures
from .pages import write_pages
from .pointing import pointing_bars
from .posterior import false_negative_probability
from .recall import recall_bars
from .roc import roc
from .save import save, write_figure
from .scene import scene
from .shares import false_negative_shares
from .training import training_curves
from .truth import true_images, truth_by_knob

__all__ = [
    "attention_maps",
    "calibration",
    "committed",
    "false_negative_probability",
    "false_negative_shares",
    "gallery",
    "negative_captions",
    "negative_pictures",
    "pointing_bars",
    "recall_bars",
    "roc",
    "save",
    "scene",
    "scene_graph",
    "training_curves",
    "true_images",
    "truth_by_knob",
    "write_figure",
    "write_pages",
]
