"""Explorers: of attention (pick a picture, a caption, a word, a checkpoint) and of the common space (point, click)."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import ipywidgets
import plotly.graph_objects as go

from ...data.captionset import CaptionSet
from ..kit.canvas import draw_captioned
from ..kit.explorer import Explorer, wide
from .attention import caption_maps, word_maps
from .embeddings import Embedded
from .figures import MOST, draw_attention_maps, draw_projection

ALL = "all"


def explore_attention(runs: Mapping[str, Any], data: CaptionSet) -> Explorer:
    """The explorer over a set's pictures for the named Runs or models, which are dual encoders.

    Maps are the similarity of word and patch, or the gradient's relevance; where the data have a world, a white line
    marks what a word means.
    """
    names = list(runs)
    picture = ipywidgets.IntSlider(0, 0, len(data) - 1, description="picture", **wide())
    caption = ipywidgets.Dropdown(description="caption", **wide(678))
    word = ipywidgets.Dropdown(description="word", **wide())
    checkpoint = ipywidgets.Dropdown(options=[ALL, *names], description="checkpoint", **wide())
    measure = ipywidgets.Dropdown(options=["similarity", "gradient"], description="map", **wide())

    def picture_moved() -> None:
        own = data.captions_of_image[picture.value].tolist()
        caption.options = [(data.captions[index], index) for index in own]
        caption.value = own[0]

    def caption_moved() -> None:
        if caption.value is None:
            return
        maps = word_maps(runs[names[0]], data.images[picture.value], data.captions[caption.value])
        word.options = [(ALL, -1), *((entry.word, index) for index, entry in enumerate(maps))]
        word.value = -1

    def draw() -> list[go.Figure]:
        chosen = names if checkpoint.value == ALL else [checkpoint.value]
        shown = {name: runs[name] for name in chosen}
        maps, outlines = caption_maps(shown, data, caption.value, measure=measure.value)
        if word.value >= 0:
            maps, outlines = {name: [row[word.value]] for name, row in maps.items()}, [outlines[word.value]]
        subtitle = f"“{data.captions[caption.value]}”"
        return [draw_attention_maps(maps, title="Where each word lands", subtitle=subtitle, outlines=outlines)]

    picture_moved()
    caption_moved()
    controls = [picture, checkpoint, caption, word, measure]
    return Explorer(controls, draw, {picture: picture_moved, caption: caption_moved})


# Explorer of the common space: point at a feature and see its picture, click it and see where its captions lie.


def explore_embeddings(
    maps: Mapping[str, Embedded], data: CaptionSet, *, picture: int = 0, most: int = MOST
) -> Explorer:
    """The explorer over the maps that `embedded` made of a split, for instance before and after training.

    Above, the maps with one picture and its captions picked out; below, that picture, its captions and what each model
    scores them. A click on a point picks its picture; pointing at one shows its picture below until the pointer leaves.
    `picture` is where it begins, `most` how many points a map draws.
    """
    which = ipywidgets.IntSlider(picture, 0, len(data) - 1, description="picture", continuous_update=False, **wide(678))

    def draw() -> list[go.Figure]:
        return [_maps(maps, data, which.value, most), _card(maps, data, which.value, None)]

    def card(kind: str, number: int) -> go.Figure:
        if kind == "pictures":
            return _card(maps, data, number, None)
        return _card(maps, data, int(data.image_of_caption[number]), number)

    def pick(kind: str, number: int) -> None:
        which.value = number if kind == "pictures" else int(data.image_of_caption[number])

    return PointExplorer([which], draw, card, pick)


class PointExplorer(Explorer):
    """An explorer whose first figure answers the pointer: `card` is the second figure for a point, `pick` a click's.

    Both are given the point's kind (its trace's legend group) and its number (its `customdata`).
    """

    def __init__(
        self,
        controls: Sequence[ipywidgets.Widget],
        draw: Callable[[], Sequence[go.Figure]],
        card: Callable[[str, int], go.Figure],
        pick: Callable[[str, int], None],
    ):
        super().__init__(controls, draw)
        self.card, self.pick = card, pick

    def figures(self) -> list[go.Figure]:
        """The figures for the controls as they stand; the second is what is shown while nothing is pointed at."""
        first, self.resting = super().figures()
        return [first, self.resting]

    def widget(self) -> ipywidgets.VBox:
        """Controls over live figures, the first of which calls back."""
        box, state = super().widget(), self.live[0].state
        state.listens = True
        state.observe(self._clicked, names="click")
        state.observe(self._hovered, names="hover")
        return box

    def _clicked(self, change: Any) -> None:
        if found := _point(change["new"]):
            self.pick(*found)
            self.show(lambda: [self.card(*found)], slice(1, 2))  # after the pick, which draws the picture's card alone

    def _hovered(self, change: Any) -> None:
        found = _point(change["new"])
        self.show(lambda: [self.card(*found) if found else self.resting], slice(1, 2))


def _point(told: Mapping[str, Any]) -> tuple[str, int] | None:
    """Kind and number of the point that the page tells of; of none, and of marks without a number, nothing."""
    return (told["kind"], told["number"]) if "number" in told else None


def _maps(maps: Mapping[str, Embedded], data: CaptionSet, picture: int, most: int) -> go.Figure:
    return draw_projection(
        {name: {"pictures": each.images, "captions": each.captions} for name, each in maps.items()},
        ids={"pictures": data.image_ids, "captions": data.caption_ids},
        picked={"pictures": [picture], "captions": data.captions_of_image[picture].tolist()},
        title="The common space",
        subtitle=f"{len(data):,} pictures and {len(data.captions):,} captions of {data.name}",
        most=most,
    )


def _card(maps: Mapping[str, Embedded], data: CaptionSet, picture: int, caption: int | None) -> go.Figure:
    own = data.captions_of_image[picture]
    features = {name: each.features for name, each in maps.items()}
    scores = {name: (each.captions[own] @ each.images[picture]).numpy() for name, each in features.items()}
    return draw_captioned(
        data.images[picture],
        [data.captions[index] for index in own.tolist()],
        scores,
        title=f"Picture {data.image_ids[picture]}",
        subtitle="its captions, and each one's cosine with it",
        chosen=None if caption is None else own.tolist().index(caption),
    )
