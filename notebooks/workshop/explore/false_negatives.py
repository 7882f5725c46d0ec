"""Explorer of FNE's probabilities: pick a picture, move p, λ, a and margin, and watch the negatives drawn follow."""

import ipywidgets
import numpy as np
import plotly.graph_objects as go

from itmlab.samplers import PRESETS

from ..analysis.false_negatives import Study, curves, judge
from ..plots.false_negatives import draw_false_negative_probability, draw_negative_captions
from .base import Explorer, PicturePicker, wide

BEST, OTHERS = 5, 4  # how many of the best-scoring negatives are listed, and of the others that were drawn
DRAWS = 12  # how many times the sampler draws


def explore_false_negatives(studied: Study, *, anchor: int = 0, prior: float = 1e-4) -> Explorer:
    """Return the explorer of FNE's probabilities over one split, with pictures as anchors.

    Above are densities, posterior and weights with the anchor's negatives on them. Below are its best-scoring negatives
    and others that the sampler took, with the world's verdict where the data have a world.

    Args:
        studied: the scores and statistics of a split, from `analysis.study`.
        anchor: the number of the first picture.
        prior: the first prior.
    """
    data = studied.data
    picture = PicturePicker(data, anchor)
    preset = ipywidgets.Dropdown(options=list(PRESETS), description="preset", **wide())
    likely = ipywidgets.FloatLogSlider(prior, min=-6, max=-0.5, step=0.25, description="prior p", **wide())
    threshold = ipywidgets.FloatLogSlider(0.01, min=-4, max=-0.25, step=0.25, description="threshold λ", **wide())
    sharpness = ipywidgets.FloatLogSlider(0.5, min=-1, max=2.5, step=0.1, description="sharpness a", **wide())
    margin = ipywidgets.FloatSlider(0.2, min=0, max=1, step=0.05, description="margin", **wide())
    knobs = {"prior": likely, "threshold": threshold, "sharpness": sharpness, "margin": margin, "preset": preset}

    def preset_moved() -> None:
        threshold.value = PRESETS[preset.value].threshold

    def draw() -> list[go.Figure]:
        settings = {name: knob.value for name, knob in knobs.items()}
        judged = judge(studied, picture.value, **settings, draws=DRAWS)
        drawn = judged.drawn.nonzero()[0]
        lowest = float(min(studied.scores.min(), 0))
        template = "p = {prior:.3g}, λ = {threshold:.3g}, a = {sharpness:.3g}, margin = {margin:.2g}, {preset}"
        probability = draw_false_negative_probability(
            curves(studied.sampler.statistics, judged.positive_score, **settings, lowest=lowest),
            studied.positive_scores,
            studied.negative_scores,
            title=f"Negatives of image “{data.image_ids[picture.value]}”",
            subtitle=template.format(**settings),
            judged=judged,
        )
        others = drawn[drawn >= BEST][:OTHERS]
        listed = np.concatenate([np.arange(min(BEST, len(judged.index))), others])
        negatives = draw_negative_captions(
            data.images[picture.value],
            data.captions_of([picture.value])[0],
            [data.captions[caption] for caption in judged.index[listed].tolist()],
            judged.posterior[listed],
            title=f"Its {BEST} best-scoring negatives, and {len(others)} more of {DRAWS} drawn",
            weights=judged.weight[listed],
            truth_labels=None if judged.truth_label is None else judged.truth_label[listed],
            drawn=judged.drawn[listed],
        )
        return [probability, negatives]

    return Explorer([picture, preset, likely, threshold, sharpness, margin], draw, {preset: preset_moved})
