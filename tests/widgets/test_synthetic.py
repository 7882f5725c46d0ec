"""The explorer of synthetic negatives, with a tower that knows nothing."""

import pytest

from itmlab.data.scenes import load
from itmlab.explain import synthetic_negatives
from itmlab.widgets import synthetic
from tests.explain.small_tower import small_tower


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return load(images=5, cache=tmp_path_factory.mktemp("scenes"))


@pytest.fixture(scope="module")
def tower(data):
    return small_tower(data.captions)


@pytest.fixture
def explorer(data, tower):
    made = synthetic(tower, data, picture=1, rows=4, drawn=6)
    made.widget()
    return made


def controls(explorer):
    return {control.description: control for control in explorer.controls}


def words(figure):
    return [note.text for note in figure.layout.annotations]


def test_it_shows_the_hardest_negatives_of_the_caption(explorer, data, tower):
    chosen = int(data.captions_of_image[1][0])
    made = synthetic_negatives(data, [chosen], "tags", run=tower, keep=4, fluent="scenes")
    (figure,) = explorer.shown
    assert f"Negatives of caption {data.caption_ids[chosen]}" in figure.layout.title.text
    assert {f"<b>{score:.3f}</b>" for score in made.scores[1].tolist()} <= set(words(figure))
    assert sum(text in ("<b>✗ false</b>", "<b>✓ true</b>", "<b>? undecided</b>") for text in words(figure)) == 4


@pytest.mark.parametrize("way", ["wm", "vse_c", "in_batch", "whole_set"])
def test_every_generator_can_be_chosen(explorer, way):
    before = words(explorer.shown[0])
    controls(explorer)["generator"].value = way
    assert words(explorer.shown[0]) != before
    assert f"{way}: the 4 hardest" in explorer.shown[0].layout.title.text


def test_fewer_maskings_another_temperature_and_another_seed_are_seen(explorer):
    made = controls(explorer)
    for name, value in (("K maskings", 1), ("L fillings", 3), ("τ", 3.0), ("seed", 7)):
        before = words(explorer.shown[0])
        made[name].value = value
        assert words(explorer.shown[0]) != before, name


def test_each_filter_lets_more_through_than_the_one_before(data, tower):
    explorer = synthetic(tower, data, generator="wm", rows=1000, fluent=None)
    found = []
    for name in ("with implied words", "the paper's", "none"):
        controls(explorer)["filter"].value = name
        found.append({text for text in words(explorer.figures()[0]) if "<u>" in text})
    assert found[0] <= found[1] <= found[2] and len(found[0]) < len(found[2])


def test_another_picture_and_another_caption(explorer, data):
    made = controls(explorer)
    made["picture"].value = 3
    made["caption"].value = 2
    chosen = int(data.captions_of_image[3][2])
    assert data.caption_ids[chosen] in explorer.shown[0].layout.title.text


def test_a_model_that_cannot_refill_is_told_in_one_line(data):
    explorer = synthetic(object(), data)
    (figure,) = explorer.figures()
    assert "Nothing to show" in figure.layout.title.text
