"""What all studies use: theme, plots, table and gallery, measured results, saving, and the base of explorers."""

import sys

import lazy_loader as lazy

_NAMES = {  # module -> its public names, imported when first used
    "bars": (
        "Calibration Dot Line densities draw_bars draw_comparison draw_curves draw_gains interval_rows roc_curves"
    ),
    "canvas": "draw_captioned draw_gallery draw_table",
    "drawn": "curve_rows draw_result record_result",
    "explorer": "Explorer",
    "results": "Result comparison_rows difference_rows level_rows list_results load_result save_result",
    "saving": "committed save write_figure write_pages",
    "scoring": "as_score matching",
    "viewer": "view",
}
__getattr__, __dir__, __all__ = lazy.attach(
    __name__, submod_attrs={module: names.split() for module, names in _NAMES.items()}
)

if "ipykernel" in sys.modules:  # in a notebook every figure carries a picture for pages that draw no plotly
    from . import saving  # noqa: F401
