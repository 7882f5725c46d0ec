"""What K, L, τ and the way of masking do to negatives: small panels of difficulty, perplexity and truth."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from .labels import label
from .theme import BLUE, INK, MUTED, ORANGE, PURPLE, styled

if TYPE_CHECKING:
    from ..explain.sweep import Setting

KNOBS = {
    "maskings": "K: maskings",
    "samples": "L: fillings of each",
    "temperature": "τ: temperature",
    "masking": "what is masked",
}
MEASURES = {
    "difficulty": ("difficulty<br>s(I, T⁻) − s(I, T)", PURPLE),
    "fluency": ("median perplexity", ORANGE),
    "truth": ("truly false, %", BLUE),
}


def synthesis_sweep(
    settings: "Mapping[str, Sequence[Setting]]",
    *,
    title: str,
    subtitle: str = "",
    marked: Mapping[str, float | str] | None = None,
) -> go.Figure:
    """A column for each knob, a row for each measure, with 95 % intervals; `marked` values (the paper's) are ringed."""
    figure = make_subplots(
        len(MEASURES), len(settings), shared_yaxes=True, horizontal_spacing=0.025, vertical_spacing=0.06
    )
    for column, (knob, values) in enumerate(settings.items(), start=1):
        for row, (measure, (_, shade)) in enumerate(MEASURES.items(), start=1):
            found = [_ends(setting, measure) for setting in values]
            names = [setting.value if isinstance(setting.value, str) else f"{setting.value:g}" for setting in values]
            rings = [(marked or {}).get(knob) == setting.value for setting in values]
            ends = {
                "array": [upper - value for value, _, upper in found],
                "arrayminus": [value - lower for value, lower, _ in found],
            }
            figure.add_scatter(
                x=[label(name) for name in names],
                y=[value for value, _, _ in found],
                mode="markers" if knob == "masking" else "lines+markers",
                line={"color": shade, "width": 2},
                marker={
                    "color": shade,
                    "opacity": 1,
                    "size": [13 if ring else 9 for ring in rings],
                    "line": {"color": INK, "width": [2.5 if ring else 0 for ring in rings]},
                },
                error_y={**ends, "color": shade, "thickness": 1.5, "width": 4},
                hovertemplate="%{x}: %{y:.3g}<extra></extra>",
                row=row,
                col=column,
            )
        name = KNOBS.get(knob, knob)
        figure.update_xaxes(title=label(name), row=len(MEASURES), col=column)
        figure.update_xaxes(type="category", range=[-0.5, len(values) - 0.5], col=column)
    figure.update_xaxes(showticklabels=True, ticks="", linecolor=MUTED)
    for row in range(1, len(MEASURES)):
        figure.update_xaxes(showticklabels=False, row=row)
    for row, (words, _) in enumerate(MEASURES.values(), start=1):
        figure.update_yaxes(title=words, exponentformat="none", row=row, col=1)
    return styled(figure, title, subtitle, height=640, legend=False)


def _ends(setting: "Setting", measure: str) -> tuple[float, float, float]:
    """Value, lower and upper end."""
    if measure == "truth":
        found = setting.truth.share
        return found.percent, found.lower, found.upper
    found = getattr(setting, measure)
    return found.value, found.lower, found.upper
