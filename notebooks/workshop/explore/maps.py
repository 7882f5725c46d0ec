"""The explorer of attention (which word lands where, what lands on a patch), and the base of those with a pointer."""

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import ipywidgets
import plotly.graph_objects as go

from itmlab.data.captionset import CaptionSet

from ..analysis.attention import AttentionMap, Measure, caption_maps, dual_encoder_of, spoken_words
from ..plots.maps import draw_attention_maps, draw_words_on_patch
from .base import Explorer, wide
from .gallery import PicturePicker, captions_in

ALL = "all"


def explore_attention(runs: Mapping[str, Any], data: CaptionSet) -> Explorer:
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
    def read(name: str, index: int, by: Measure) -> tuple[list[AttentionMap], list[Any]]:
        maps, outlines = caption_maps({name: runs[name]}, data, index, measure=by)
        return maps[name], outlines

    def picture_moved() -> None:
        caption.options = captions_in(data, picture.value)
        state["patch"] = -1

    def caption_moved() -> None:
        words = (text for text, _ in spoken_words(dual_encoder_of(runs[names[0]]), data.captions[caption.value]))
        word.options = [(ALL, -1), *((text, index) for index, text in enumerate(words))]

    def maps() -> dict[str, list[AttentionMap]]:
        chosen = names if checkpoint.value == ALL else [checkpoint.value]
        return {name: read(name, caption.value, measure.value)[0] for name in chosen}

    def figure(only: int) -> go.Figure:
        drawn, outlines = maps(), read(names[0], caption.value, measure.value)[1]
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
    return PointExplorer(controls, draw, card, pick, following={picture: picture_moved, caption: caption_moved})


# The base of explorers that answer the pointer.

Point = tuple[str, int]  # its kind (its trace's `meta`) and its number (its `customdata`)


class PointExplorer(Explorer):
    """An explorer whose first figure answers the pointer: `card` is the second figure for a point, `pick` a click's.

    `shared` is the second figure for the points inside a lasso, and `selection` holds their numbers by kind.
    """

    def __init__(
        self,
        controls: Sequence[ipywidgets.Widget],
        draw: Callable[[], Sequence[go.Figure]],
        card: Callable[[str, int], go.Figure],
        pick: Callable[[str, int], None],
        shared: Callable[[Sequence[Point]], go.Figure] | None = None,
        following: Mapping[ipywidgets.Widget, Callable[[], None]] | None = None,
    ):
        super().__init__(controls, draw, following)
        self.card, self.pick, self.shared = card, pick, shared
        self.selection: dict[str, list[int]] = {}

    def figures(self) -> list[go.Figure]:
        """Return the figures; the second is what is shown while nothing is pointed at."""
        first, self.resting = super().figures()
        return [first, self.resting]

    def widget(self) -> ipywidgets.VBox:
        """Return the controls over live figures; the first figure calls back."""
        box, state = super().widget(), self.live[0].state
        state.listens = True
        for name, handler in {"click": self._clicked, "hover": self._hovered, "lasso": self._lassoed}.items():
            state.observe(handler, names=name)
        return box

    def _clicked(self, change: Any) -> None:
        if point := _point(change["new"]):
            self.pick(*point)
            self.resting = self.card(*point)
            self.show(lambda: [self.resting], slice(1, 2))  # after the pick, which draws the picture's card alone

    def _hovered(self, change: Any) -> None:
        point = _point(change["new"])
        self.show(lambda: [self.card(*point) if point else self.resting], slice(1, 2))

    def _lassoed(self, change: Any) -> None:
        points = [point for event in change["new"] if (point := _point(event))]
        self.selection = {kind: sorted(number for other, number in points if other == kind) for kind, _ in points}
        if self.shared:
            figures = super().figures()  # the first marks what is selected
            self.resting = self.shared(points) if points else figures[1]
            self.show(lambda: [figures[0], self.resting])


def _point(event: Mapping[str, Any]) -> Point | None:
    """Kind and number of the point that the page tells of; of none, and of marks without a number, nothing."""
    return (event["kind"], event["number"]) if "number" in event else None
