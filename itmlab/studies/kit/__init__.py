"""What all studies use: the theme, canvas, bars and intervals, saving, and the base of explorers."""

import sys

import lazy_loader as lazy

_NAMES = {  # file -> what it is known for, imported when first asked for
    "bars": (
        "Dot draw_calibration draw_comparison draw_curves draw_false_negative_shares draw_gains draw_oracles "
        "draw_recall_bars draw_roc draw_training_curves interval_rows"
    ),
    "canvas": "draw_captioned draw_gallery",
    "explorer": "Explorer",
    "results": "Result comparison_rows difference_rows list_results load_result save_result",
    "saving": "committed save write_figure write_pages",
    "scoring": "as_score matching",
    "viewer": "view",
}
__getattr__, __dir__, __all__ = lazy.attach(__name__, submod_attrs={file: n.split() for file, n in _NAMES.items()})

if "ipykernel" in sys.modules:  # in a notebook every figure carries a picture for still pages, also where none is saved
    from . import saving  # noqa: F401
