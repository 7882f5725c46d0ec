"""The explorer of attention maps."""

import pytest

from itmlab.models import TwoTowerConfig, build_model
from itmlab.widgets import attention
from tests.explain.small_world import small_set


@pytest.fixture(scope="module")
def explorer():
    data = small_set(8)
    models = {name: build_model(TwoTowerConfig.tiny(), data.captions, seed=seed) for seed, name in enumerate("ab")}
    made = attention(models, data)
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
