"""Explorer of SynHNC: pick an anchor, move σ, m and ε, change the weights; see what the memories recall."""

from functools import cache
from typing import Any

import ipywidgets
import plotly.graph_objects as go

from itmlab.data.captionset import CaptionSet
from itmlab.data.pictures import view

from ..analysis.kernel_memory import ReadOut, SynthesisBatch, attribution, read_out, synthesis_batch
from ..plots.synthesis import draw_kernel_memory, draw_prototypes
from .base import Explorer, wide


def explore_kernel_memory(run: Any, data: CaptionSet, *, anchor: int = 0, pairs: int = 128) -> Explorer:
    """Return the explorer of kernel memories over a batch of a split.

    Args:
        run: a Run or model.
        data: the split.
        anchor: the number of the first anchor in the batch.
        pairs: how many pictures with one caption each are in the batch.
    """
    direction = ipywidgets.Dropdown(options=["image", "caption"], description="anchor", **wide())
    last = min(pairs, len(data)) - 1
    number = ipywidgets.IntSlider(anchor, 0, last, description="number", continuous_update=False, **wide())
    sigma = ipywidgets.FloatLogSlider(0.1, min=-2, max=1, step=0.05, description="width σ", **wide())
    clusters = ipywidgets.IntSlider(8, 1, 16, description="clusters m", **wide())
    kinds = [("least squares", "least_squares"), ("identity", "identity")]
    weights = ipywidgets.Dropdown(options=kinds, description="weights", **wide())
    ridge = ipywidgets.FloatLogSlider(1e-3, min=-6, max=0, step=0.25, description="ridge ε", **wide())

    @cache
    def batch_of(anchors: str) -> SynthesisBatch:
        return synthesis_batch(run, data, direction=anchors, pairs=pairs, seed=0)

    def draw() -> list[go.Figure]:
        batch = batch_of(direction.value)
        settings = {"sigma": sigma.value, "clusters": clusters.value, "weights": weights.value}
        return _figures(batch, read_out(batch, number.value, **settings, regularisation=ridge.value), settings)

    return Explorer([direction, number, weights, sigma, clusters, ridge], draw)


def _figures(batch: SynthesisBatch, read: ReadOut, settings: dict[str, Any]) -> list[go.Figure]:
    data, at = batch.data, read.anchor
    image, caption = int(batch.images[at]), int(batch.captions[at])
    names = [batch.candidate_name(index) for index in range(len(batch.candidates))]
    words = settings["weights"].replace("_", " ")
    if batch.direction == "image":
        shown, anchor = names, data.images[image]
        subtitle = f"picture {data.image_ids[image]}, whose own caption here is “{data.captions[caption]}”"
    else:
        shown, anchor = view(data.images, batch.images.tolist()), None  # decoded when one is shown
        subtitle = f"caption “{data.captions[caption]}”"
    memory = draw_kernel_memory(
        read,
        names,
        title="What the memory of each cluster recalls",
        subtitle=f"σ = {settings['sigma']:.3g}, m = {settings['clusters']}, {words}; a colour a cluster",
        match=at,
        anchor=anchor,
    )
    titles = {"title": "What they are made of", "subtitle": subtitle, "match": float(read.score[at])}
    return [memory, draw_prototypes(attribution(batch, read), shown, **titles, anchor=anchor)]
