"""Explorers without a browser: the same figures, still."""

import gzip
import json

import ipywidgets
import plotly.graph_objects as go
import pytest
from plotly.offline import get_plotlyjs
from workshop.explore import base as explorer
from workshop.explore.base import Explorer


def two_bars(height: int) -> go.Figure:
    return go.Figure(go.Bar(x=["a", "b"], y=[1, height]), layout={"title": {"text": f"height {height}"}})


@pytest.fixture
def simple() -> Explorer:
    slider = ipywidgets.IntSlider(2, 0, 9, description="height")
    return Explorer([slider], lambda: [two_bars(slider.value)])


def test_a_control_changes_what_the_page_shows(simple):
    box = simple.widget()
    (live,) = simple.live
    simple.controls[0].value = 7
    assert live is box.children[1] and list(simple.shown[0].data[0].y) == [1, 7]
    shown = json.loads(live.state.figure)
    assert shown["layout"]["title"]["text"] == "height 7" and not live.state.busy


def test_it_says_that_it_computes_and_in_one_line_what_went_wrong(simple):
    simple.widget()
    (state,), said = [live.state for live in simple.live], []
    state.observe(lambda change: said.append(change["new"]), names="busy")
    before, simple.draw = state.figure, lambda: 1 / 0
    with pytest.raises(ZeroDivisionError):
        simple.controls[0].value = 7
    assert said == [True, False] and state.note == "division by zero" and state.figure == before


def test_a_control_that_follows_another_does_not_draw_for_itself():
    first, second, third = (ipywidgets.IntSlider(1, 0, 9, description=name) for name in "abc")
    drawn = []

    def draw():
        drawn.append((first.value, second.value, third.value))
        return [two_bars(third.value)]

    following = {
        first: lambda: setattr(second, "value", first.value + 1),
        second: lambda: setattr(third, "value", second.value + 1),
    }
    Explorer([first, second, third], draw, following).widget()
    first.value = 4
    assert drawn == [(1, 1, 1), (4, 5, 6)]


def test_nothing_is_drawn_before_it_is_shown(simple):
    simple.controls[0].value = 5
    assert simple.shown == [] and list(simple.figures()[0].data[0].y) == [1, 5]


def test_the_library_goes_to_the_page_once_and_no_figure_carries_it(simple):
    library = explorer.plotly_library()
    assert all(live.library is library for _ in range(2) for live in (simple.widget(), simple.live)[1])
    assert gzip.decompress(library.script).decode() == get_plotlyjs()
    assert (explorer.FOLDER / "live_figure.js").stat().st_size < 6000, (
        "anywidget gives up a widget whose script takes two seconds to load"
    )


@pytest.mark.parametrize("reason", ["ITMLAB_STATIC", "no kernel", None])
def test_without_a_front_end_the_figures_are_shown_still_and_with_one_the_widget(simple, monkeypatch, reason):
    shell = type("Shell", (), {"kernel": None if reason == "no kernel" else object()})()
    monkeypatch.setattr(explorer, "get_ipython", lambda: shell)
    monkeypatch.delenv("ITMLAB_STATIC", raising=False)
    if reason == "ITMLAB_STATIC":
        monkeypatch.setenv("ITMLAB_STATIC", "1")
    shown = []
    monkeypatch.setattr(explorer, "display", lambda *given, **options: shown.extend(given))
    simple._ipython_display_()
    assert [type(one) for one in shown] == [go.Figure if reason else type(simple.widget())]
