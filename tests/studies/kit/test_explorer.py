"""Explorers without a browser: the same figures, still."""

import ipywidgets
import plotly.graph_objects as go
import pytest

from itmlab import studies
from itmlab.studies.kit import explorer
from itmlab.studies.kit.explorer import Explorer, update_in_place


def two_bars(height: int) -> go.Figure:
    return go.Figure(go.Bar(x=["a", "b"], y=[1, height]), layout={"title": {"text": f"height {height}"}})


@pytest.fixture
def simple() -> Explorer:
    slider = ipywidgets.IntSlider(2, 0, 9, description="height")
    return Explorer([slider], lambda: [two_bars(slider.value)])


def test_a_control_changes_the_live_figure_in_place(simple):
    box = simple.widget()
    (shown,) = simple.shown
    simple.controls[0].value = 7
    assert shown is box.children[1] and list(shown.data[0].y) == [1, 7]
    assert shown.layout.title.text == "height 7"


def test_nothing_is_drawn_before_it_is_shown(simple):
    simple.controls[0].value = 5
    assert simple.shown == [] and list(simple.figures()[0].data[0].y) == [1, 5]


def test_updating_leaves_the_figure_as_if_made_anew():
    live = go.FigureWidget(two_bars(3))
    wanted = two_bars(8).update_layout(shapes=[{"type": "rect"}], annotations=[{"text": "x"}], height=300)
    update_in_place(live, wanted)
    assert live.data[0].to_plotly_json()["y"] == wanted.data[0].to_plotly_json()["y"]
    for name in ("shapes", "annotations", "height", "title"):
        assert live.layout[name] == wanted.layout[name]


@pytest.mark.parametrize("reason", ["ITMLAB_STATIC", "no kernel", "no anywidget", None])
def test_without_a_front_end_the_figures_are_shown_still_and_with_one_the_widget(simple, monkeypatch, reason):
    shell = type("Shell", (), {"kernel": None if reason == "no kernel" else object()})()
    monkeypatch.setattr(explorer, "get_ipython", lambda: shell)
    monkeypatch.delenv("ITMLAB_STATIC", raising=False)
    if reason == "ITMLAB_STATIC":
        monkeypatch.setenv("ITMLAB_STATIC", "1")
    if reason == "no anywidget":
        monkeypatch.setattr(explorer, "find_spec", lambda name: None)
    shown = []
    monkeypatch.setattr(explorer, "display", lambda *given: shown.extend(given))
    simple._ipython_display_()
    assert [type(one) for one in shown] == [go.Figure if reason else ipywidgets.VBox]


def test_explorers_are_a_name_away():
    assert callable(studies.fne.explore_false_negatives) and callable(studies.maps.explore_attention)
