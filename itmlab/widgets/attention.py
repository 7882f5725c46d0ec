"""Explorer of attention maps: pick a picture, one of its captions, a word and a checkpoint."""

from collections.abc import Mapping
from typing import Any

import ipywidgets
import plotly.graph_objects as go

from ..data.captionset import CaptionSet
from ..explain import caption_maps, word_maps
from ..explain.caption_maps import Measure
from ..figures import attention_maps
from .explorer import Explorer, wide

ALL = "all"


def attention(runs: Mapping[str, Any], data: CaptionSet) -> Explorer:
    """The explorer over a set's pictures for the named Runs or models, which are two-tower models.

    Maps are the similarity of word and patch, or the gradient's relevance; where the data have a world, a white line
    marks what a word means.
    """
    names = list(runs)
    picture = ipywidgets.IntSlider(0, 0, len(data) - 1, description="picture", **wide())
    caption = ipywidgets.Dropdown(description="caption", **wide(678))
    word = ipywidgets.Dropdown(description="word", **wide())
    checkpoint = ipywidgets.Dropdown(options=[ALL, *names], description="checkpoint", **wide())
    measure = ipywidgets.Dropdown(options=["similarity", "gradient"], description="map", **wide())

    def change_picture(change: Any = None) -> None:
        own = data.captions_of_image[picture.value].tolist()
        caption.options = [(data.captions[index], index) for index in own]
        caption.value = own[0]

    def change_caption(change: Any = None) -> None:
        if caption.value is None:
            return
        maps = word_maps(runs[names[0]], data.images[picture.value], data.captions[caption.value])
        word.options = [(ALL, -1), *((entry.word, index) for index, entry in enumerate(maps))]
        word.value = -1

    def draw() -> list[go.Figure]:
        chosen = names if checkpoint.value == ALL else [checkpoint.value]
        return [_figure({name: runs[name] for name in chosen}, data, caption.value, word.value, measure.value)]

    picture.observe(change_picture, names="value")
    caption.observe(change_caption, names="value")
    change_picture()
    return Explorer([picture, checkpoint, caption, word, measure], draw)


def _figure(runs: Mapping[str, Any], data: CaptionSet, caption: int, word: int, measure: Measure) -> go.Figure:
    maps, outlines = caption_maps(runs, data, caption, measure=measure)
    if word >= 0:
        maps, outlines = {name: [row[word]] for name, row in maps.items()}, [outlines[word]]
    subtitle = f"“{data.captions[caption]}”"
    return attention_maps(maps, title="Where each word lands", subtitle=subtitle, outlines=outlines)
