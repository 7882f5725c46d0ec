"""The base of all explorers: controls above figures that follow them, or still figures where no browser listens.

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

from itmlab.data.faults import one_line
from itmlab.errors import ItmlabError

from ..plots.canvas import Canvas
from ..plots.saving import carried
from ..plots.theme import WIDTH

SCRIPT = Path(__file__).parent / "live_figure.js"


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

    _esm = SCRIPT
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

    def __init__(
        self,
        controls: Sequence[ipywidgets.Widget],
        draw: Callable[[], Sequence[go.Figure]],
        following: Mapping[ipywidgets.Widget, Callable[[], None]] | None = None,
    ):
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

    def show(self, make: Callable[[], Sequence[go.Figure]], places: slice = slice(None)) -> None:
        """Draw new figures in place of some; until then these say that they are computing.

        Args:
            make: returns the new figures.
            places: which figures they replace.
        """
        states, note = [live.state for live in self.live[places]], ""
        for state in states:
            state.busy = True
        try:
            self.shown[places] = figures = list(make())
            drawn: list[str] = [figure.to_json() for figure in figures]
        except Exception as error:
            note = one_line(error, 200)
            raise
        finally:
            for place, state in enumerate(states):
                with state.hold_sync():  # in one message
                    state.busy, state.note = False, note if place == 0 else ""
                    if not note:
                        state.figure = drawn[place]

    def _changed(self, change: Any) -> None:
        self._moving += 1
        try:
            self.following.get(change["owner"], lambda: None)()
        finally:
            self._moving -= 1
        if self.live and not self._moving:  # one that followed another does not draw for itself
            self.show(self.figures)

    def _ipython_display_(self) -> None:
        if not front_end_listens():
            return display(*self.figures())
        box = self.widget()
        display({**box._repr_mimebundle_(), **carried(self.shown)}, raw=True)


def figure_or_reason(make: Callable[[], go.Figure]) -> go.Figure:
    """Return the figure that `make` draws, or one that says in a line why it cannot be drawn."""
    try:
        return make()
    except ItmlabError as error:
        return Canvas().figure("Nothing to show", str(error), height=120)


def wide(pixels: int = 330) -> dict[str, Any]:
    """Keyword arguments of a control: so many pixels wide, with room for a word before it."""
    return {"style": {"description_width": "105px"}, "layout": ipywidgets.Layout(width=f"{pixels}px")}


def front_end_listens() -> bool:
    """Return whether a browser may be connected: this is a kernel, and ITMLAB_STATIC is not set."""
    return not os.environ.get("ITMLAB_STATIC") and getattr(get_ipython(), "kernel", None) is not None
