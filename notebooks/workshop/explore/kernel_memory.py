"""Explorer of SynHNC: pick an anchor, move σ, m and ε, change the weights; see what the memories recall."""

from typing import Any

import ipywidgets
import plotly.graph_objects as go

from itmlab.data.captionset import CaptionSet

from ..analysis.kernel_memory import attribution, read_out, synthesis_batch
from ..plots.synthesis import draw_kernel_memory, draw_prototypes
from .base import Explorer, wide


def explore_kernel_memory(run: Any, data: CaptionSet, *, anchor: int = 0, pairs: int = 128) -> Explorer:
    """Return the explorer of kernel memories over a batch of a split, with pictures as anchors.

    Args:
        run: a Run or model.
        data: the split.
        anchor: the number of the first anchor in the batch.
        pairs: how many pictures with one caption each are in the batch.
    """
    batch = synthesis_batch(run, data, pairs=pairs, seed=0)
    candidates = [data.captions[caption] for caption in batch.captions.tolist()]
    last = len(candidates) - 1
    number = ipywidgets.IntSlider(anchor, 0, last, description="anchor", continuous_update=False, **wide())
    sigma = ipywidgets.FloatLogSlider(0.1, min=-2, max=1, step=0.05, description="width σ", **wide())
    clusters = ipywidgets.IntSlider(8, 1, 16, description="clusters m", **wide())
    kinds = [("least squares", "least_squares"), ("identity", "identity")]
    weights = ipywidgets.Dropdown(options=kinds, description="weights", **wide())
    ridge = ipywidgets.FloatLogSlider(1e-3, min=-6, max=0, step=0.25, description="ridge ε", **wide())

    def draw() -> list[go.Figure]:
        match = number.value  # the captions are in the order of their pictures
        image = int(batch.images[match])
        settings = {"sigma": sigma.value, "clusters": clusters.value, "weights": weights.value}
        read = read_out(batch, match, **settings, regularisation=ridge.value)
        memory = draw_kernel_memory(
            read,
            candidates,
            title="What the memory of each cluster recalls",
            subtitle=f"σ = {sigma.value:.3g}, m = {clusters.value}, {weights.label}; a colour a cluster",
            match=match,
            anchor=data.images[image],
        )
        prototypes = draw_prototypes(
            attribution(batch, read),
            candidates,
            title="What they are made of",
            subtitle=f"picture {data.image_ids[image]}, whose own caption here is “{candidates[match]}”",
            match=float(read.score[match]),
            anchor=data.images[image],
        )
        return [memory, prototypes]

    return Explorer([number, weights, sigma, clusters, ridge], draw)
