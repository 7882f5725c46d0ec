"""What every explorer is: controls above figures that follow them, or the figures alone where no front end listens.

A live figure is not plotly's FigureWidget. That carries plotly.js (5 MB) itself, so that a slow page loads it in more
than the two seconds after which anywidget gives up all messages to a widget: its figure then stays empty for good. Here
the script is a few lines, and figure and library are the state of models that the page holds before any view.
"""

import gzip
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import cache
from typing import Any

import ipywidgets
import plotly.graph_objects as go
import traitlets
from anywidget import AnyWidget
from IPython import get_ipython
from IPython.display import display

from ...data.faults import one_line
from .saving import carried
from .theme import FONT, WIDTH

SCRIPT = r"""
const plotly = (library) => (window.itmlabPlotly ??= (async () => {
  const packed = new Blob([library.get("script")]).stream().pipeThrough(new DecompressionStream("gzip"));
  const script = await new Response(packed).text();
  const whole = `const module = {exports: {}}, exports = module.exports, define = undefined;${script}
    export default module.exports;`;
  const address = URL.createObjectURL(new Blob([whole], {type: "text/javascript"}));
  return (await import(address)).default;
})().catch((error) => { delete window.itmlabPlotly; throw error; }));

// In JupyterLab's dark theme every colour keeps its hue and is as light as it was dark; pictures stay as they are.
const dark = () => document.body.dataset.jpThemeLight === "false";
const atNight = (figure) => figure.replace(/(?<=[":])(#[0-9a-f]{6}\b|rgba?\([\d., ]+\))/gi, (colour) => {
  const [r, g, b, a = 1] = colour[0] === "#" ? [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16))
    : colour.match(/[\d.]+/g).map(Number);
  const lighter = 255 - Math.max(r, g, b) - Math.min(r, g, b);
  return `rgba(${[r, g, b].map((each) => Math.round(17 + (each + lighter) * 238 / 255))},${a})`;
});

export default {
  async render({ model, el, signal }) {
    const held = (name) => model.widget_manager.get_model(model.get(name).slice("IPY_MODEL_".length));
    const state = await held("state");
    const note = document.createElement("div"), figure = document.createElement("div");
    note.style = "STYLE";
    note.setAttribute("role", "status");
    figure.setAttribute("role", "figure");
    el.replaceChildren(note, figure);

    let Plotly, drawn, drawing = false, seen = false, waiting;
    const draw = async () => {
      const wanted = dark() ? atNight(state.get("figure")) : state.get("figure");
      if (!seen || drawing || drawn === wanted || signal.aborted) return;
      drawing = true;
      const first = drawn === undefined;
      drawn = wanted;
      try {
        Plotly ??= await plotly(await held("library"));
        const { data, layout } = JSON.parse(wanted);
        await Plotly.react(figure, data, layout, { displaylogo: false });
        figure.style.minHeight = `${layout.height}px`;
        figure.setAttribute("aria-label", figure.querySelector(".gtitle")?.textContent ?? "");
        if (first && state.get("listens")) {
          const tell = (name, told) => { state.set(name, told); state.save_changes(); };
          const point = ({ data, customdata }) => ({ kind: data.legendgroup, number: customdata });
          figure.on("plotly_click", ({ points }) => tell("click", { ...point(points[0]), at: Date.now() }));
          figure.on("plotly_hover", ({ points }) => tell("hover", point(points[0])));
          figure.on("plotly_unhover", () => tell("hover", {}));
          figure.on("plotly_selected", (event) => tell("lasso", (event?.points ?? []).map(point)));
          figure.on("plotly_deselect", () => tell("lasso", []));
        }
      } catch (error) {
        note.textContent = `This figure cannot be drawn: ${error}`;
      }
      drawing = false;
      draw();  // what came meanwhile; of several figures the last
    };
    const tell = () => {
      clearTimeout(waiting);
      const shown = (words, opacity) => { note.textContent = words; figure.style.opacity = opacity; };
      if (state.get("busy")) waiting = setTimeout(shown, 200, "computing …", 0.4);
      else shown(state.get("note"), 1);
    };
    // Plotly measures words, which it can only where they are seen; far up and down nothing is drawn before its time.
    const watch = new IntersectionObserver((all) => {
      seen = all.at(-1).isIntersecting;
      const sliders = el.closest(".widget-vbox")?.querySelectorAll(".widget-slider") ?? [];
      for (const slider of sliders) {  // which have no name that a screen reader could say
        const name = slider.querySelector(".widget-label").textContent;
        slider.querySelector(".noUi-handle").setAttribute("aria-label", name);
      }
      draw();
    });
    const theme = new MutationObserver(draw);
    theme.observe(document.body, { attributes: true, attributeFilter: ["data-jp-theme-light"] });
    figure.style.minHeight = `${JSON.parse(state.get("figure")).layout.height ?? 450}px`;
    watch.observe(figure);
    state.on("change:figure", draw);
    state.on("change:busy change:note", tell);
    tell();
    return () => {
      watch.disconnect();
      theme.disconnect();
      state.off("change:figure", draw);
      state.off("change:busy change:note", tell);
      Plotly?.purge(figure);
    };
  },
};
""".replace("STYLE", f"min-height: 18px; font: 13px/18px {FONT}; color: var(--jp-ui-font-color1)")


class FigureState(ipywidgets.Widget):
    """What a page is to show: a figure as JSON, whether a newer one is being computed, and a line above it.

    Where it `listens`, `click`, `hover` and `lasso` (a list) come back: a point's kind (its trace's legend group) and
    its number (its `customdata`), as the page has them, whose figure may be older than the kernel's.
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
    """The kernel's one copy of plotly.js."""
    from plotly.offline import get_plotlyjs

    return Library(script=gzip.compress(get_plotlyjs().encode(), 6))


class Explorer:
    """Controls and the figures that `draw` makes from their values; shows itself as the last value of a cell.

    Where a browser listens, the figures follow when a control moves: first what is `following` that control is called
    (it may move others), then all is drawn, once. A cell that is run again takes up its controls as they were left, but
    for those that it now begins elsewhere. In a run without a screen (the tour sets ITMLAB_STATIC) or outside a kernel,
    the same figures are shown still.
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
        self._take_up()

    def figures(self) -> list[go.Figure]:
        """The figures for the controls as they stand, as plain plotly figures."""
        return [figure.update_layout(width=figure.layout.width or WIDTH) for figure in self.draw()]

    def widget(self) -> ipywidgets.VBox:
        """Controls over live figures."""
        self.shown = self.figures()
        states = [FigureState(figure=figure.to_json()) for figure in self.shown]
        self.live = [LiveFigure(state=state, library=plotly_library()) for state in states]
        layout = ipywidgets.Layout(display="flex", flex_flow="row wrap", grid_gap="2px 18px", margin="4px 0 8px 0")
        return ipywidgets.VBox([ipywidgets.Box(self.controls, layout=layout), *self.live])

    def show(self, make: Callable[[], Sequence[go.Figure]], places: slice = slice(None)) -> None:
        """Draw what `make` gives in the figures at `places`; until then they say that they are computing."""
        states, note = [one.state for one in self.live[places]], ""
        for state in states:
            state.busy = True
        try:
            self.shown[places] = made = list(make())
            drawn: list[str] = [figure.to_json() for figure in made]
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

    def _take_up(self) -> None:
        cell = getattr(get_ipython(), "get_parent", dict)().get("metadata", {}).get("cellId")
        if cell is None:
            return
        key = (cell, *(control.description for control in self.controls))
        begun = [control.value for control in self.controls]
        began, left = _LEFT.get(key, ([], []))
        values = [control.value for control in left]
        for control, now, before, value in [*zip(self.controls, begun, began, values, strict=False)] * 2:
            with suppress(traitlets.TraitError):  # no option any more
                if now == before:  # twice: one that follows another may have been moved by it
                    control.value = value
        _LEFT[key] = begun, self.controls

    def _ipython_display_(self) -> None:
        if not front_end_listens():
            return display(*self.figures())
        box = self.widget()
        display({**box._repr_mimebundle_(), **carried(self.shown)}, raw=True)


# Of each cell's explorer: where its controls began, and the controls.
_LEFT: dict[tuple[str, ...], tuple[list[Any], list[ipywidgets.Widget]]] = {}


def wide(pixels: int = 330) -> dict[str, Any]:
    """Keyword arguments of a control: so many pixels wide, with room for a word before it."""
    return {"style": {"description_width": "105px"}, "layout": ipywidgets.Layout(width=f"{pixels}px")}


def front_end_listens() -> bool:
    """Whether a browser may be at the other end: a kernel, and nobody who said otherwise."""
    return not os.environ.get("ITMLAB_STATIC") and getattr(get_ipython(), "kernel", None) is not None
