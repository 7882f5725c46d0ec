"""The base of all explorers: controls above figures that follow them, and the control that chooses a picture.

A live figure is not plotly's FigureWidget. That one carries plotly.js (5 MB), and on a slow page anywidget gives up
before it is loaded; the figure then stays empty. Here the script is short (`live_figure.js`), and figure and library
are the state of models that the page holds before any view.
"""

import gzip
import os
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import ipywidgets
import plotly.graph_objects as go
import traitlets
from anywidget import AnyWidget
from IPython import get_ipython
from IPython.display import display

from itmlab.data.captionset import CaptionSet
from itmlab.data.faults import one_line
from itmlab.errors import ItmlabError
from itmlab.metrics.ranking import require_positives

from ..plots.canvas import Canvas, data_uri
from ..plots.theme import WIDTH

Draw = Callable[[], Sequence[go.Figure]]
Following = Mapping[ipywidgets.Widget, Callable[[], None]]  # called when a control moves, before anything is drawn
FOLDER = Path(__file__).parent


class FigureState(ipywidgets.Widget):
    """The state of a figure in a page: its JSON, whether a newer one is being computed, and a line above it.

    If `listens` is set, the page reports `click`, `hover` and `lasso` (a list): the kind of a point (its trace's
    `meta`) and its number (its `customdata`). The page's figure may be older than the kernel's.
    """

    figure = traitlets.Unicode().tag(sync=True)
    busy = traitlets.Bool().tag(sync=True)
    note = traitlets.Unicode().tag(sync=True)
    listens = traitlets.Bool().tag(sync=True)
    click = traitlets.Dict().tag(sync=True)
    hover = traitlets.Dict().tag(sync=True)
    lasso = traitlets.List().tag(sync=True)


class Library(ipywidgets.Widget):
    """plotly.js for a page, zipped: once for all the figures of a kernel."""

    script = traitlets.Bytes().tag(sync=True)


class LiveFigure(AnyWidget):
    """A figure in a page, which follows its state."""

    _esm = FOLDER / "live_figure.js"
    state = traitlets.Instance(FigureState).tag(sync=True, **ipywidgets.widget_serialization)
    library = traitlets.Instance(Library).tag(sync=True, **ipywidgets.widget_serialization)


@cache
def plotly_library() -> Library:
    """Return the kernel's one copy of plotly.js."""
    from plotly.offline import get_plotlyjs

    return Library(script=gzip.compress(get_plotlyjs().encode(), 6))


class Explorer:
    """Controls and the figures that `draw` makes from their values; displays itself as the last value of a cell.

    When a control moves, the function that is `following` it is called first (it may move other controls), then
    everything is drawn once. Without a screen (the tour sets ITMLAB_STATIC) or a kernel, still figures are shown.
    """

    def __init__(self, controls: Sequence[ipywidgets.Widget], draw: Draw, following: Following | None = None):
        self.controls, self.draw, self.following = list(controls), draw, following or {}
        self.shown: list[go.Figure] = []
        self.live: list[LiveFigure] = []
        self._moving = 0
        for control in self.controls:
            control.observe(self._changed, names="value")

    def figures(self) -> list[go.Figure]:
        """Return the figures for the controls as they stand, as plain plotly figures."""
        return [figure.update_layout(width=figure.layout.width or WIDTH) for figure in self.draw()]

    def widget(self) -> ipywidgets.VBox:
        """Return the controls over live figures."""
        self.shown = self.figures()
        states = [FigureState(figure=figure.to_json()) for figure in self.shown]
        self.live = [LiveFigure(state=state, library=plotly_library()) for state in states]
        layout = ipywidgets.Layout(display="flex", flex_flow="row wrap", grid_gap="2px 18px", margin="4px 0 8px 0")
        return ipywidgets.VBox([ipywidgets.Box(self.controls, layout=layout), *self.live])

    def show(self, make: Draw, places: slice = slice(None)) -> None:
        """Draw new figures in place of some; until then these say that they are computing.

        Args:
            make: returns the new figures.
            places: which figures they replace.
        """
        states = [live.state for live in self.live[places]]
        for state in states:
            state.busy, state.note = True, ""
        try:
            self.shown[places] = figures = list(make())
            for state, figure in zip(states, figures, strict=True):
                state.figure = figure.to_json()
        except Exception as error:
            states[0].note = one_line(error, 200)
            raise
        finally:
            for state in states:
                state.busy = False

    def _changed(self, change: Any) -> None:
        self._moving += 1
        try:
            self.following.get(change["owner"], lambda: None)()
        finally:
            self._moving -= 1
        if self.live and not self._moving:  # one that followed another does not draw for itself
            self.show(self.figures)

    def _ipython_display_(self) -> None:
        kernel = getattr(get_ipython(), "kernel", None)
        if kernel is None or os.environ.get("ITMLAB_STATIC"):
            return display(*self.figures())
        display(self.widget())


# Explorers that answer the pointer.


class PointExplorer(Explorer):
    """An explorer whose first figure answers the pointer: `card` is the second figure for a point, `pick` a click's.

    A point is its kind (its trace's `meta`) and its number (its `customdata`). `selection` holds the numbers of the
    points inside a lasso by kind, and `shared` draws the second figure of them. The arguments `drawing` are those of
    `Explorer`.
    """

    def __init__(
        self,
        *drawing: Any,
        card: Callable[[str, int], go.Figure],
        pick: Callable[[str, int], None],
        shared: Callable[[Mapping[str, list[int]]], go.Figure] | None = None,
    ):
        super().__init__(*drawing)
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
            first, self.resting = self.figures()  # the first marks what is selected
            if points:
                self.resting = self.shared(self.selection)
            self.show(lambda: [first, self.resting])


def _point(event: Mapping[str, Any]) -> tuple[str, int] | None:
    """Kind and number of the point that the page tells of; of none, and of marks without a number, nothing."""
    return (event["kind"], event["number"]) if "number" in event else None


# The control that chooses a picture.

PER_PAGE = 14  # thumbnails in one row


def captions_in(data: CaptionSet, picture: int) -> list[tuple[str, int]]:
    """Return a picture's captions with their numbers, as the options of a dropdown."""
    return [(data.captions[number], number) for number in data.captions_of_image[picture].tolist()]


class PicturePicker(AnyWidget):
    """Thumbnails of a set's pictures with a search box; `value` is the number of the chosen picture.

    A query lists the pictures whose captions contain all of its words, or the picture of that number.

    Args:
        data: the set.
        value: the picture that is chosen first.

    Raises:
        ItmlabError: an image has no caption.
    """

    _esm = FOLDER / "gallery.js"
    value = traitlets.Int().tag(sync=True)
    query = traitlets.Unicode().tag(sync=True)
    page = traitlets.Int().tag(sync=True)
    shown = traitlets.List().tag(sync=True)
    note = traitlets.Unicode().tag(sync=True)
    is_last = traitlets.Bool().tag(sync=True)
    description = "picture"

    def __init__(self, data: CaptionSet, value: int = 0):
        require_positives(data.image_of_caption, len(data), "image")
        self._data = data
        self._text = [" ".join(captions).casefold() for captions in data.captions_of()]
        self.value, self.page = value, value // PER_PAGE
        self._list()  # before the page hears of this widget: a later message may be lost while it is busy
        super().__init__(layout={"width": "100%"})
        self.observe(self._searched, names="query")
        self.observe(self._list, names="page")
        self.observe(self._chosen, names="value")

    def matching(self) -> list[int]:
        """Return the numbers of the pictures that the query finds; all of them for an empty query."""
        words = self.query.casefold().split()
        if len(words) == 1 and words[0].isdecimal() and int(words[0]) < len(self._data):
            return [int(words[0])]
        return [number for number, text in enumerate(self._text) if all(word in text for word in words)]

    def _searched(self, _: Any) -> None:
        self.page = 0
        self._list()

    def _chosen(self, _: Any) -> None:
        """Turn to the page of a picture that was chosen elsewhere, as by a click into a map."""
        if not self.query:
            self.page = self.value // PER_PAGE

    def _list(self, _: Any = None) -> None:
        numbers = self.matching()
        first = max(0, min(self.page, (len(numbers) - 1) // PER_PAGE)) * PER_PAGE
        listed = numbers[first : first + PER_PAGE]
        sources = [data_uri(self._data.images[number], largest=64, photographic=True) for number in listed]
        rows = zip(listed, sources, self._data.captions_of(listed), strict=True)
        with self.hold_sync():
            self.is_last = first + PER_PAGE >= len(numbers)
            self.note = f"{len(numbers):,} of {len(self._data):,} pictures"
            self.shown = [{"number": number, "source": source, "caption": texts[0]} for number, source, texts in rows]


# What explorers share besides.


def figure_or_reason(make: Callable[[], go.Figure]) -> go.Figure:
    """Return the figure that `make` draws, or one that says in a line why it cannot be drawn."""
    try:
        return make()
    except ItmlabError as error:
        return Canvas().figure("Nothing to show", str(error), height=120)


def wide(pixels: int = 330) -> dict[str, Any]:
    """Keyword arguments of a control: so many pixels wide, with room for a word before it."""
    return {"style": {"description_width": "105px"}, "layout": ipywidgets.Layout(width=f"{pixels}px")}
