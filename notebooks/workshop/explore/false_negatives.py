"""Explorer of FNE's probabilities: pick an anchor, move p, λ, a and margin, and watch the negatives drawn follow."""

from typing import Any

import ipywidgets
import numpy as np
import plotly.graph_objects as go

from itmlab.data.captionset import CaptionSet
from itmlab.samplers import PRESETS

from ..analysis.false_negatives import Study, curves, judge, study
from ..plots.false_negatives import draw_false_negative_probability, draw_negative_captions, draw_negative_pictures
from .base import Explorer, wide


def explore_false_negatives(
    run: Any,
    data: CaptionSet | None = None,
    *,
    anchor: int = 0,
    prior: float = 1e-4,
    best: int = 5,
    drawn: int = 4,
    draws: int = 12,
) -> Explorer:
    """Return the explorer of FNE's probabilities over one split.

    Above are densities, posterior and weights with the anchor's negatives on them. Below are its best-scoring negatives
    and others that the sampler took, with the world's verdict where the data have a world.

    Args:
        run: a Run or model with `data`, or a Study made before.
        data: the split.
        anchor: the number of the first anchor.
        prior: the first prior.
        best: how many of the best-scoring negatives are listed.
        drawn: how many other negatives that were taken are listed.
        draws: how many times the sampler draws.
    """
    studied = run if isinstance(run, Study) else study(run, data)
    images, captions = studied.scores.shape
    direction = ipywidgets.Dropdown(options=["image", "caption"], description="anchor", **wide())
    number = ipywidgets.IntSlider(anchor, 0, images - 1, description="number", **wide())
    preset = ipywidgets.Dropdown(options=list(PRESETS), description="preset", **wide())
    likely = ipywidgets.FloatLogSlider(prior, min=-6, max=-0.5, step=0.25, description="prior p", **wide())
    threshold = ipywidgets.FloatLogSlider(0.01, min=-4, max=-0.25, step=0.25, description="threshold λ", **wide())
    sharpness = ipywidgets.FloatLogSlider(0.5, min=-1, max=2.5, step=0.1, description="sharpness a", **wide())
    margin = ipywidgets.FloatSlider(0.2, min=0, max=1, step=0.05, description="margin", **wide())

    knobs = {"prior": likely, "threshold": threshold, "sharpness": sharpness, "margin": margin, "preset": preset}

    def draw() -> list[go.Figure]:
        settings = {name: knob.value for name, knob in knobs.items()}
        return _figures(studied, number.value, direction.value, settings, (best, drawn, draws))

    def direction_moved() -> None:
        number.max = (images if direction.value == "image" else captions) - 1

    def preset_moved() -> None:
        threshold.value = PRESETS[preset.value].threshold

    following = {direction: direction_moved, preset: preset_moved}
    return Explorer([direction, number, preset, likely, threshold, sharpness, margin], draw, following)


def _figures(
    studied: Study, anchor: int, direction: str, settings: dict[str, Any], numbers: tuple[int, int, int]
) -> list[go.Figure]:
    best, drawn, draws = numbers
    data, judged = studied.data, judge(studied, anchor, direction, **settings, draws=draws)
    name = data.image_ids[anchor] if direction == "image" else data.caption_ids[anchor]
    lowest = float(min(studied.scores.min(), 0))
    template = "p = {prior:.3g}, λ = {threshold:.3g}, a = {sharpness:.3g}, margin = {margin:.2g}, {preset}"
    probability = draw_false_negative_probability(
        curves(studied.sampler.statistics, judged.positive_score, **settings, lowest=lowest),
        studied.positive_scores,
        studied.negative_scores,
        title=f"Negatives of {direction} “{name}”",
        subtitle=template.format(**settings),
        judged=judged,
    )
    others = judged.drawn.nonzero()[0]
    others = others[others >= best][:drawn]
    listed = np.concatenate([np.arange(min(best, len(judged.index))), others])
    index = judged.index[listed].tolist()
    columns = {
        "title": f"Its {best} best-scoring negatives, and {len(others)} more of {draws} drawn",
        "weights": judged.weight[listed],
        "truth_labels": None if judged.truth_label is None else judged.truth_label[listed],
        "drawn": judged.drawn[listed],
    }
    shown = judged.posterior[listed]
    if direction == "caption":
        pictures = [data.images[image] for image in index]
        return [probability, draw_negative_pictures(data.captions[anchor], pictures, shown, **columns)]
    captions = data.captions_of([anchor])[0]
    texts = [data.captions[caption] for caption in index]
    return [probability, draw_negative_captions(data.images[anchor], captions, texts, shown, **columns)]
