"""What every explorer is: controls above figures that follow them, or the figures alone where no front end listens."""

import os
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from typing import Any

import ipywidgets
import plotly.graph_objects as go
from IPython import get_ipython
from IPython.display import display

from .theme import WIDTH


class Explorer:
    """Controls and the figures that `draw` makes from their values; shows itself as the last value of a cell.

    Where a browser listens, the figures are updated in place when a control moves. In a run without a screen (the tour
    sets ITMLAB_STATIC), outside a kernel, or without anywidget, the same figures are shown still.
    """

    def __init__(self, controls: Sequence[ipywidgets.Widget], draw: Callable[[], Sequence[go.Figure]]):
        self.controls, self.draw = list(controls), draw
        self.shown: list[go.FigureWidget] = []
        for control in self.controls:
            control.observe(self._changed, names="value")

    def figures(self) -> list[go.Figure]:
        """The figures for the controls as they stand, as plain plotly figures."""
        return [figure.update_layout(width=figure.layout.width or WIDTH) for figure in self.draw()]

    def widget(self) -> ipywidgets.VBox:
        """Controls over live figures."""
        self.shown = [go.FigureWidget(figure) for figure in self.figures()]
        layout = ipywidgets.Layout(display="flex", flex_flow="row wrap", grid_gap="2px 18px", margin="4px 0 8px 0")
        return ipywidgets.VBox([ipywidgets.Box(self.controls, layout=layout), *self.shown])

    def _changed(self, change: Any) -> None:
        for widget, figure in zip(self.shown, self.figures() if self.shown else (), strict=True):
            update_in_place(widget, figure)

    def _ipython_display_(self) -> None:
        display(*([self.widget()] if front_end_listens() else self.figures()))


def wide(pixels: int = 330) -> dict[str, Any]:
    """Keyword arguments of a control: so many pixels wide, with room for a word before it."""
    return {"style": {"description_width": "105px"}, "layout": ipywidgets.Layout(width=f"{pixels}px")}


def update_in_place(widget: go.FigureWidget, figure: go.Figure) -> None:
    """Give a live figure the data and layout of another with as many traces, in one message of what differs."""
    with widget.batch_update():
        for shown, new in zip(widget.data, figure.data, strict=True):
            shown.update(new.to_plotly_json(), overwrite=True)
        empty = dict.fromkeys(("annotations", "images", "shapes"), ())  # what the other has none of does not stay
        for name, value in {**empty, **figure.layout.to_plotly_json()}.items():
            if name != "template":
                widget.layout[name] = value


def front_end_listens() -> bool:
    """Whether a browser may be at the other end: a kernel, anywidget, and nobody who said otherwise."""
    still = os.environ.get("ITMLAB_STATIC") or find_spec("anywidget") is None
    return not still and getattr(get_ipython(), "kernel", None) is not None
