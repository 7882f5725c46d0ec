"""The explorer of the common space."""

from types import SimpleNamespace

import pytest

from itmlab import widgets
from itmlab.figures.theme import title_and_subtitle
from tests.explain.small_maps import small_maps
from tests.explain.small_world import small_set


@pytest.fixture(scope="module")
def maps():
    return small_maps()


@pytest.fixture
def explorer(maps):
    made = widgets.embeddings(maps, small_set(), picture=3)
    made.widget()
    return made


def title(explorer) -> str:
    return title_and_subtitle(explorer.shown[1])[0]


def points(explorer, kind):
    return next(trace for trace in explorer.shown[0].data if trace.legendgroup == kind)


def at(*numbers):
    return SimpleNamespace(point_inds=list(numbers))


def rims(explorer):
    return [shape.line.width for shape in explorer.shown[1].layout.shapes]


def test_it_begins_with_the_picture_asked_for(explorer):
    assert title(explorer) == "Picture image 3" and rims(explorer) == [1, 1]
    assert [trace.xaxis for trace in explorer.shown[0].data if trace.customdata is not None] == ["x", "x", "x2", "x2"]


def test_a_click_on_a_picture_picks_it(explorer):
    before = points_picked(explorer)
    explorer._clicked(points(explorer, "pictures"), at(7), None)
    assert explorer.controls[0].value == 7 and title(explorer) == "Picture image 7"
    assert points_picked(explorer) != before


def points_picked(explorer):
    rims = [trace for trace in explorer.shown[0].data if trace.name == "one picture and its captions"]
    return [tuple(trace.x) for trace in rims]


def test_a_click_on_a_caption_picks_its_picture_and_sets_the_caption_off(explorer):
    explorer._clicked(points(explorer, "captions"), at(19), None)
    assert explorer.controls[0].value == 9 and title(explorer) == "Picture image 9"
    assert rims(explorer) == [1, 2]


def test_pointing_shows_a_picture_until_the_pointer_leaves(explorer):
    explorer._entered(points(explorer, "captions"), at(10), None)
    assert title(explorer) == "Picture image 5" and explorer.controls[0].value == 3
    explorer._left(points(explorer, "captions"), at(10), None)
    assert title(explorer) == "Picture image 3"


def test_other_traces_hear_of_the_pointer_too_and_nothing_happens(explorer):
    for answer in (explorer._clicked, explorer._entered, explorer._left):
        answer(points(explorer, "pictures"), at(), None)
    assert title(explorer) == "Picture image 3"


def test_the_slider_moves_both_figures(explorer):
    before = points_picked(explorer)
    explorer.controls[0].value = 12
    assert title(explorer) == "Picture image 12" and points_picked(explorer) != before


def test_hostile_captions_take_no_effect(maps):
    data = small_set()
    data.captions[6] = "<img src=x onerror=alert(1)>"
    figure = widgets.embeddings(maps, data, picture=3).figures()[1]
    assert not any("<img" in note.text for note in figure.layout.annotations)


def test_still_figures_show_the_same(explorer):
    maps_figure, card = explorer.figures()
    assert title_and_subtitle(card)[0] == title(explorer) and len(maps_figure.data) == len(explorer.shown[0].data)
