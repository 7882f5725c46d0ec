"""Explorer of words: type a sentence against a picture; see which of its words do not fit and what would be written."""

from collections.abc import Mapping
from typing import Any

import ipywidgets
import plotly.graph_objects as go

from ..data.captionset import CaptionSet
from ..errors import ItmlabError
from ..explain import word_example
from ..figures import explained_words
from ..figures.pictures import Canvas
from .explorer import Explorer, wide


def words(models: Mapping[str, Any], data: CaptionSet, *, picture: int = 0, sentence: str | None = None) -> Explorer:
    """The explorer over a set's pictures: the last of the named one-tower Runs or models explains, all of them score.

    A caption of the picture is where one begins to type, or `sentence`. Words are rewritten from the mismatch that the
    last control sets. What cannot be read is said in one line in the figure's place.
    """
    which = ipywidgets.IntSlider(picture, 0, len(data) - 1, description="picture", continuous_update=False, **wide())
    caption = ipywidgets.Dropdown(description="begin with", **wide(678))
    typed = ipywidgets.Text(description="sentence", continuous_update=False, **wide(678))
    above = ipywidgets.FloatSlider(0, min=0, max=1, step=0.05, description="rewrite from", **wide())

    def change_picture(change: Any = None) -> None:
        own = data.captions_of_image[which.value].tolist()
        caption.options = [(data.captions[index], index) for index in own]
        caption.value = own[0] if own else None

    def change_caption(change: Any = None) -> None:
        if caption.value is not None:
            typed.value = data.captions[caption.value]

    def draw() -> list[go.Figure]:
        try:
            example = word_example(models, data, which.value, typed.value, above=above.value)
        except ItmlabError as error:
            return [Canvas().figure("Nothing to show", str(error), height=120)]
        subtitle = f"{list(models)[-1]} on picture {data.image_ids[which.value]}"
        return [explained_words([example], title="Which words do not fit", subtitle=subtitle)]

    which.observe(change_picture, names="value")  # before the explorer's own observer, which draws
    caption.observe(change_caption, names="value")
    change_picture()
    change_caption()
    if sentence is not None:
        typed.value = sentence
    return Explorer([which, above, caption, typed], draw)
