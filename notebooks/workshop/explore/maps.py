"""The explorer of attention: which word lands where, and what lands on a patch."""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import ipywidgets
import plotly.graph_objects as go

from itmlab.data.captionset import CaptionSet

from ..analysis.attention import AttentionMap, Measure, caption_maps, dual_encoder_of, spoken_words
from ..plots.maps import draw_attention_maps, draw_words_on_patch
from .base import PicturePicker, PointExplorer, captions_in, wide

ALL = "all"


def explore_attention(runs: Mapping[str, Any], data: CaptionSet) -> PointExplorer:
    """Return the explorer of attention over a set's pictures.

    Maps show the similarity of word and patch, or the gradient's relevance; where the data have a world, a white line
    marks what a word means. Below is what lands on one patch of the picture. Point at another patch to see its words,
    and click to keep them; point at a word's map to see it larger, and click to choose the word.

    Args:
        runs: Runs or models of dual encoders, by name.
        data: the set.

    Raises:
        ItmlabError: an image has no caption.
    """
    picture = PicturePicker(data)
    names, state = list(runs), {"patch": -1}
    caption = ipywidgets.Dropdown(options=captions_in(data, picture.value), description="caption", **wide(678))
    word = ipywidgets.Dropdown(options=[(ALL, -1)], description="word", **wide())
    checkpoint = ipywidgets.Dropdown(options=[ALL, *names], description="checkpoint", **wide())
    measure = ipywidgets.Dropdown(options=["similarity", "gradient"], description="map", **wide())

    @lru_cache(maxsize=16)  # what the last few captions were read as
    def read(index: int, by: Measure) -> tuple[dict[str, list[AttentionMap]], list[Any]]:
        return caption_maps(runs, data, index, measure=by)

    def picture_moved() -> None:
        caption.options = captions_in(data, picture.value)
        state["patch"] = -1

    def caption_moved() -> None:
        words = (text for _, text, _ in spoken_words(dual_encoder_of(runs[names[0]]), data.captions[caption.value]))
        word.options = [(ALL, -1), *((text, index) for index, text in enumerate(words))]

    def maps() -> dict[str, list[AttentionMap]]:
        drawn = read(caption.value, measure.value)[0]
        return drawn if checkpoint.value == ALL else {checkpoint.value: drawn[checkpoint.value]}

    def figure(only: int) -> go.Figure:
        drawn, outlines = maps(), read(caption.value, measure.value)[1]
        numbers = range(len(outlines)) if only < 0 else [only]
        return draw_attention_maps(
            {name: [row[number] for number in numbers] for name, row in drawn.items()},
            title="Where each word lands" if only < 0 else f"Where “{drawn[next(iter(drawn))][only].word}” lands",
            subtitle=f"“{data.captions[caption.value]}”",
            outlines=[outlines[number] for number in numbers],
            numbers=numbers,
        )

    def spoken(number: int) -> bool:
        """Whether the caption has this word: the page may still show another."""
        return 0 <= number < len(word.options) - 1

    def card(kind: str, number: int) -> go.Figure:
        if kind == "words" and number != word.value and spoken(number):
            return figure(number)
        return draw_words_on_patch(maps(), number if kind == "patches" else patch())

    def patch() -> int:
        """The one that was clicked, or where the word, or the strongest, has its peak."""
        shown = next(iter(maps().values()))
        shown = shown[word.value : word.value + 1] if word.value >= 0 else shown
        strongest = max(shown, key=lambda drawn_map: drawn_map.weights.max(), default=None)
        return state["patch"] if state["patch"] >= 0 or not strongest else int(strongest.weights.argmax())

    def draw() -> list[go.Figure]:
        return [figure(word.value), card("patches", patch())]

    def pick(kind: str, number: int) -> None:
        if kind == "patches":
            state["patch"] = number
        elif spoken(number):
            word.value = number

    caption_moved()
    controls = [picture, checkpoint, caption, word, measure]
    return PointExplorer(controls, draw, {picture: picture_moved, caption: caption_moved}, card=card, pick=pick)
