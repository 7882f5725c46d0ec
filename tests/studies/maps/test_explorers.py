"""The explorers of attention and of the common space, as their controls and the pointer move them."""

import pytest

from itmlab.models import DualEncoderConfig, build_model
from itmlab.studies.kit.theme import title_and_subtitle
from itmlab.studies.maps.explorers import explore_attention, explore_embeddings
from tests.studies.reading import controls, opened
from tests.studies.small_maps import small_maps
from tests.studies.small_world import small_set


@pytest.fixture(scope="module")
def explorer():
    data = small_set(8)
    models = {name: build_model(DualEncoderConfig.tiny(), data.captions, seed=seed) for seed, name in enumerate("ab")}
    return opened(explore_attention(models, data))


def words(explorer):
    return [annotation.text for annotation in explorer.shown[0].layout.annotations]


def test_picture_word_checkpoint_and_kind_of_map_can_be_chosen(explorer):
    made = controls(explorer)
    assert words(explorer) == ["<b>a</b>", "A", "red", "square", "<b>b</b>", "A", "red", "square"]
    made["picture"].value = 3
    assert words(explorer)[1:4] == ["A", "white", "square"]
    made["checkpoint"].value = "b"
    assert words(explorer) == ["<b>b</b>", "A", "white", "square"]
    made["word"].value = 1
    assert words(explorer) == ["<b>b</b>", "white"]
    before = explorer.shown[0].layout.images[1].source
    made["map"].value = "gradient"
    assert explorer.shown[0].layout.images[1].source != before
    made["map"].value = "similarity"
    made["caption"].value = made["caption"].options[1][1]
    assert words(explorer)[1:] == ["there", "is", "a", "square", "that", "is", "white"]


@pytest.fixture(scope="module")
def maps():
    return small_maps()


@pytest.fixture
def space(maps):
    return opened(explore_embeddings(maps, small_set(), picture=3))


def title(space) -> str:
    return title_and_subtitle(space.shown[1])[0]


def rims(space):
    return [shape.line.width for shape in space.shown[1].layout.shapes]


def points_picked(space):
    rims = [trace for trace in space.shown[0].data if trace.name == "one picture and its captions"]
    return [tuple(trace.x) for trace in rims]


def test_it_begins_with_the_picture_asked_for(space):
    assert title(space) == "Picture image 3" and rims(space) == [1, 1]
    axes = [trace.xaxis for trace in space.shown[0].data if trace.customdata is not None]
    assert axes == ["x", "x", "x2", "x2"]


def test_a_click_on_a_picture_picks_it(space):
    before = points_picked(space)
    space.live[0].state.click = {"kind": "pictures", "number": 7}
    assert space.controls[0].value == 7 and title(space) == "Picture image 7"
    assert points_picked(space) != before


def test_a_click_on_a_caption_picks_its_picture_and_sets_the_caption_off(space):
    space.live[0].state.click = {"kind": "captions", "number": 19}
    assert space.controls[0].value == 9 and title(space) == "Picture image 9"
    assert rims(space) == [1, 2]


def test_pointing_shows_a_picture_until_the_pointer_leaves(space):
    space.live[0].state.hover = {"kind": "captions", "number": 10}
    assert title(space) == "Picture image 5" and space.controls[0].value == 3
    space.live[0].state.hover = {}
    assert title(space) == "Picture image 3"


def test_marks_that_stand_for_nothing_are_pointed_at_in_vain(space):
    space.live[0].state.hover = space.live[0].state.click = {"kind": ""}
    assert title(space) == "Picture image 3" and space.controls[0].value == 3


def test_the_slider_moves_both_figures(space):
    before = points_picked(space)
    space.controls[0].value = 12
    assert title(space) == "Picture image 12" and points_picked(space) != before


def test_hostile_captions_take_no_effect(maps):
    data = small_set()
    data.captions[6] = "<img src=x onerror=alert(1)>"
    figure = explore_embeddings(maps, data, picture=3).figures()[1]
    assert not any("<img" in note.text for note in figure.layout.annotations)


def test_still_figures_show_the_same(space):
    maps_figure, card = space.figures()
    assert title_and_subtitle(card)[0] == title(space) and len(maps_figure.data) == len(space.shown[0].data)
