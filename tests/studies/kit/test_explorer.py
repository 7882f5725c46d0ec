"""Explorers without a browser: the same figures, still."""

import gzip
import json
from types import SimpleNamespace

import ipywidgets
import plotly.graph_objects as go
import pytest
from plotly.offline import get_plotlyjs

from itmlab import studies
from itmlab.studies.kit import explorer
from itmlab.studies.kit.explorer import Explorer


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
    assert len(explorer.SCRIPT) < 5000, "anywidget gives up a widget whose script takes two seconds to load"


@pytest.fixture
def in_cell(monkeypatch):
    """Says in which cell of a notebook code is run."""
    monkeypatch.setattr(explorer, "_LEFT", {})
    return lambda name: monkeypatch.setattr(
        explorer, "get_ipython", lambda: SimpleNamespace(get_parent=lambda: {"metadata": {"cellId": name}})
    )


def pair(beginning: int) -> tuple[ipywidgets.IntSlider, ipywidgets.Dropdown]:
    """A picture and one of its captions, by number, in an explorer of their own."""
    picture, caption = ipywidgets.IntSlider(beginning, 0, 9, description="picture"), ipywidgets.Dropdown()

    def moved() -> None:
        caption.options = [10 * picture.value + index for index in range(3)]
        caption.value = caption.options[0]

    moved()
    Explorer([picture, caption], list, {picture: moved})
    return picture, caption


def test_a_cell_run_again_takes_up_its_controls_as_they_were_left(in_cell):
    in_cell("one")
    picture, caption = pair(2)
    picture.value, caption.value = 5, 52
    assert [control.value for control in pair(2)] == [5, 52]
    assert [control.value for control in pair(2)] == [5, 52], "and a third time"
    assert [control.value for control in pair(3)] == [3, 30], "the cell was changed to begin elsewhere"
    in_cell("another")
    assert [control.value for control in pair(2)] == [2, 20]


def test_without_cells_it_begins_where_it_is_told_to(monkeypatch):
    monkeypatch.setattr(explorer, "get_ipython", lambda: None)
    picture, _ = pair(2)
    picture.value = 5
    assert pair(2)[0].value == 2


@pytest.mark.parametrize("reason", ["ITMLAB_STATIC", "no kernel", None])
def test_without_a_front_end_the_figures_are_shown_still_and_with_one_the_widget(simple, monkeypatch, reason):
    shell = type("Shell", (), {"kernel": None if reason == "no kernel" else object()})()
    monkeypatch.setattr(explorer, "get_ipython", lambda: shell)
    monkeypatch.delenv("ITMLAB_STATIC", raising=False)
    if reason == "ITMLAB_STATIC":
        monkeypatch.setenv("ITMLAB_STATIC", "1")
    shown = []
    monkeypatch.setattr(explorer, "display", lambda *given, **options: shown.extend(given))
    monkeypatch.setattr(explorer, "carried", lambda figures: {"image/jpeg": f"{len(figures)} in a column"})
    simple._ipython_display_()
    if reason:
        assert [type(one) for one in shown] == [go.Figure]
    else:  # and a picture beside it, for pages that have no widgets
        (bundle,) = shown
        assert "application/vnd.jupyter.widget-view+json" in bundle and bundle["image/jpeg"] == "1 in a column"


def test_explorers_are_a_name_away():
    assert callable(studies.fne.explore_false_negatives) and callable(studies.maps.explore_attention)
