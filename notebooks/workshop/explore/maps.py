"""Explorers: of attention (which word lands where, what lands on a patch), of the common space (point, lasso)."""

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import ipywidgets
import plotly.graph_objects as go

from itmlab.data.captionset import CaptionSet

from ..analysis.attention import AttentionMap, Measure, caption_maps, dual_encoder_of, spoken_words
from ..analysis.embeddings import Embedded
from ..analysis.scoring import require_captions
from ..plots.canvas import draw_captioned, draw_table
from ..plots.maps import MOST, draw_attention_maps, draw_projection, draw_words_on_patch
from .base import Explorer, wide
from .gallery import PicturePicker

ALL = "all"
LISTED = 25  # captions of a lasso


def explore_attention(runs: Mapping[str, Any], data: CaptionSet) -> Explorer:
    """The explorer over a set's pictures for the named Runs or models, which are dual encoders.

    Maps are the similarity of word and patch, or the gradient's relevance; where the data have a world, a white line
    marks what a word means. Below, what lands on one patch of the picture: pointing at another patch shows its words,
    a click keeps it; pointing at a word's map shows that one larger, a click chooses the word.
    """
    require_captions(data)
    names, state = list(runs), {"patch": -1}
    picture = PicturePicker(data)
    caption = ipywidgets.Dropdown(description="caption", **wide(678))
    word = ipywidgets.Dropdown(description="word", **wide())
    checkpoint = ipywidgets.Dropdown(options=[ALL, *names], description="checkpoint", **wide())
    measure = ipywidgets.Dropdown(options=["similarity", "gradient"], description="map", **wide())

    @lru_cache(maxsize=16)  # what the last few captions were read as
    def read(name: str, index: int, by: Measure) -> tuple[list[AttentionMap], list[Any]]:
        maps, outlines = caption_maps({name: runs[name]}, data, index, measure=by)
        return maps[name], outlines

    def picture_moved() -> None:
        captions = data.captions_of_image[picture.value].tolist()
        caption.options = [(data.captions[index], index) for index in captions]
        caption.value = captions[0]
        state["patch"] = -1

    def caption_moved() -> None:
        if caption.value is None:
            return
        words = (text for text, _ in spoken_words(dual_encoder_of(runs[names[0]]), data.captions[caption.value]))
        word.options = [(ALL, -1), *((text, index) for index, text in enumerate(words))]
        word.value = -1

    def maps() -> dict[str, list[AttentionMap]]:
        chosen = names if checkpoint.value == ALL else [checkpoint.value]
        return {name: read(name, caption.value, measure.value)[0] for name in chosen}

    def figure(only: int) -> go.Figure:
        drawn, outlines = maps(), read(names[0], caption.value, measure.value)[1]
        subtitle = f"“{data.captions[caption.value]}”"
        numbers = range(len(outlines)) if only < 0 else [only]
        return draw_attention_maps(
            {name: [row[number] for number in numbers] for name, row in drawn.items()},
            title="Where each word lands" if only < 0 else f"Where “{drawn[next(iter(drawn))][only].word}” lands",
            subtitle=subtitle,
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

    picture_moved()
    caption_moved()
    controls = [picture, checkpoint, caption, word, measure]
    return PointExplorer(controls, draw, card, pick, following={picture: picture_moved, caption: caption_moved})


# Explorer of the common space: point at a feature and see its picture, click it and see where its captions lie, draw a
# lasso around many and read their captions.


def explore_embeddings(
    maps: Mapping[str, Embedded], data: CaptionSet, *, picture: int = 0, most: int = MOST
) -> Explorer:
    """The explorer over the maps that `embedded` made of a split, for instance before and after training.

    Above, the maps with one picture and its captions picked out; below, that picture, its captions and what each model
    scores them. A click on a point picks its picture; pointing at one shows its picture below until the pointer leaves.
    A lasso around some lists their captions, and `.selection` holds their numbers. `picture` is the first one, `most`
    how many points a map draws.
    """
    require_captions(data)
    which = PicturePicker(data, picture)

    def draw() -> list[go.Figure]:
        return [_maps(maps, data, which.value, most), _card(maps, data, which.value, None)]

    def card(kind: str, number: int) -> go.Figure:
        if kind == "pictures":
            return _card(maps, data, number, None)
        return _card(maps, data, int(data.image_of_caption[number]), number)

    def pick(kind: str, number: int) -> None:
        which.value = number if kind == "pictures" else int(data.image_of_caption[number])

    def shared(points: Sequence[Point]) -> go.Figure:
        return _shared(data, points)

    return PointExplorer([which], draw, card, pick, shared)


Point = tuple[str, int]  # its kind (its trace's legend group) and its number (its `customdata`)


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
        """The figures for the controls as they stand; the second is what is shown while nothing is pointed at."""
        first, self.resting = super().figures()
        return [first, self.resting]

    def widget(self) -> ipywidgets.VBox:
        """Controls over live figures, the first of which calls back."""
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
            self.resting = self.shared(points) if points else super().figures()[1]
            self.show(lambda: [self.resting], slice(1, 2))


def _point(event: Mapping[str, Any]) -> Point | None:
    """Kind and number of the point that the page tells of; of none, and of marks without a number, nothing."""
    return (event["kind"], event["number"]) if "number" in event else None


def _maps(maps: Mapping[str, Embedded], data: CaptionSet, picture: int, most: int) -> go.Figure:
    figure = draw_projection(
        {name: model.places() for name, model in maps.items()},
        ids={"pictures": data.image_ids, "captions": data.caption_ids},
        picked={"pictures": [picture], "captions": data.captions_of_image[picture].tolist()},
        title="The common space",
        subtitle=f"{len(data):,} pictures and {len(data.captions):,} captions of {data.name}",
        most=most,
    )
    return figure.update_layout(dragmode="lasso")


def _card(maps: Mapping[str, Embedded], data: CaptionSet, picture: int, caption: int | None) -> go.Figure:
    captions = data.captions_of_image[picture]
    features = {name: model.features for name, model in maps.items()}
    scores = {
        name: (encoded.captions[captions] @ encoded.images[picture]).numpy() for name, encoded in features.items()
    }
    return draw_captioned(
        data.images[picture],
        [data.captions[index] for index in captions.tolist()],
        scores,
        title=f"Picture {data.image_ids[picture]}",
        subtitle="its captions, and each one's cosine with it",
        chosen=None if caption is None else captions.tolist().index(caption),
    )


def _shared(data: CaptionSet, points: Sequence[Point]) -> go.Figure:
    pictures = dict.fromkeys(n if kind == "pictures" else int(data.image_of_caption[n]) for kind, n in points)
    captions = {n for kind, n in points if kind == "captions"}
    captions.update(c for kind, n in points if kind == "pictures" for c in data.captions_of_image[n].tolist())
    return draw_table(
        {"caption": [data.captions[number] for number in sorted(captions)[:LISTED]] or ["no caption"]},
        title="In the lasso",
        subtitle=f"{len(captions):,} captions of {len(pictures):,} pictures in the lasso",
        picture=data.images[next(iter(pictures))] if pictures else None,
    )
