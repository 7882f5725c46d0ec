"""The explorer of attention maps."""

from types import SimpleNamespace

import pytest

from itmlab import studies
from itmlab.models import TwoTowerConfig, build_model
from itmlab.studies.kit.theme import title_and_subtitle
from itmlab.studies.maps.explorers import explore_attention
from tests.studies.small_maps import small_maps
from tests.studies.small_world import small_set


@pytest.fixture(scope="module")
def explorer():
    data = small_set(8)
    models = {name: build_model(TwoTowerConfig.tiny(), data.captions, seed=seed) for seed, name in enumerate("ab")}
    made = explore_attention(models, data)
    made.widget()
    return made


def controls(explorer):
    return {control.description: control for control in explorer.controls}


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
def explorer_embeddings(maps):
    made = studies.maps.explore_embeddings(maps, small_set(), picture=3)
    made.widget()
    return made


def title(explorer_embeddings) -> str:
    return title_and_subtitle(explorer_embeddings.shown[1])[0]


def points(explorer_embeddings, kind):
    return next(trace for trace in explorer_embeddings.shown[0].data if trace.legendgroup == kind)


def at(*numbers):
    return SimpleNamespace(point_inds=list(numbers))


def rims(explorer_embeddings):
    return [shape.line.width for shape in explorer_embeddings.shown[1].layout.shapes]


def test_it_begins_with_the_picture_asked_for(explorer_embeddings):
    assert title(explorer_embeddings) == "Picture image 3" and rims(explorer_embeddings) == [1, 1]
    assert [trace.xaxis for trace in explorer_embeddings.shown[0].data if trace.customdata is not None] == [
        "x",
        "x",
        "x2",
        "x2",
    ]


def test_a_click_on_a_picture_picks_it(explorer_embeddings):
    before = points_picked(explorer_embeddings)
    explorer_embeddings._clicked(points(explorer_embeddings, "pictures"), at(7), None)
    assert explorer_embeddings.controls[0].value == 7 and title(explorer_embeddings) == "Picture image 7"
    assert points_picked(explorer_embeddings) != before


def points_picked(explorer_embeddings):
    rims = [trace for trace in explorer_embeddings.shown[0].data if trace.name == "one picture and its captions"]
    return [tuple(trace.x) for trace in rims]


def test_a_click_on_a_caption_picks_its_picture_and_sets_the_caption_off(explorer_embeddings):
    explorer_embeddings._clicked(points(explorer_embeddings, "captions"), at(19), None)
    assert explorer_embeddings.controls[0].value == 9 and title(explorer_embeddings) == "Picture image 9"
    assert rims(explorer_embeddings) == [1, 2]


def test_pointing_shows_a_picture_until_the_pointer_leaves(explorer_embeddings):
    explorer_embeddings._entered(points(explorer_embeddings, "captions"), at(10), None)
    assert title(explorer_embeddings) == "Picture image 5" and explorer_embeddings.controls[0].value == 3
    explorer_embeddings._left(points(explorer_embeddings, "captions"), at(10), None)
    assert title(explorer_embeddings) == "Picture image 3"


def test_other_traces_hear_of_the_pointer_too_and_nothing_happens(explorer_embeddings):
    for answer in (explorer_embeddings._clicked, explorer_embeddings._entered, explorer_embeddings._left):
        answer(points(explorer_embeddings, "pictures"), at(), None)
    assert title(explorer_embeddings) == "Picture image 3"


def test_the_slider_moves_both_figures(explorer_embeddings):
    before = points_picked(explorer_embeddings)
    explorer_embeddings.controls[0].value = 12
    assert title(explorer_embeddings) == "Picture image 12" and points_picked(explorer_embeddings) != before


def test_hostile_captions_take_no_effect(maps):
    data = small_set()
    data.captions[6] = "<img src=x onerror=alert(1)>"
    figure = studies.maps.explore_embeddings(maps, data, picture=3).figures()[1]
    assert not any("<img" in note.text for note in figure.layout.annotations)


def test_still_figures_show_the_same(explorer_embeddings):
    maps_figure, card = explorer_embeddings.figures()
    assert title_and_subtitle(card)[0] == title(explorer_embeddings) and len(maps_figure.data) == len(
        explorer_embeddings.shown[0].data
    )
