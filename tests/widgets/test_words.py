"""The explorer of words over squares and a tower that knows their colours."""

import pytest

from itmlab.figures.theme import title_and_subtitle
from itmlab.widgets import words
from tests.explain.colour_tower import ColourTower, judging_set


@pytest.fixture(scope="module")
def data():
    return judging_set()


@pytest.fixture
def explorer(data):
    made = words({"tower": ColourTower(data.captions)}, data)
    made.widget()
    return made


def controls(explorer):
    return {control.description: control for control in explorer.controls}


def said(explorer) -> list[str]:
    return [annotation.text for annotation in explorer.shown[0].layout.annotations]


def test_it_begins_with_a_caption_of_the_picture_and_nothing_to_correct(explorer):
    assert controls(explorer)["sentence"].value == "A red square."
    assert said(explorer).count("red") == 2 and "95" not in said(explorer) and "<b>✓ true</b>" in said(explorer)


def test_a_wrong_word_typed_is_seen_and_corrected(explorer):
    controls(explorer)["sentence"].value = "A blue square."
    found = said(explorer)
    assert found.count("blue") == 1 and found.count("red") == 1 and "95" in found and "<b>✗ false</b>" in found
    controls(explorer)["rewrite from"].value = 1.0
    assert said(explorer).count("blue") == 2


def test_another_picture_brings_its_captions(explorer):
    controls(explorer)["picture"].value = 2
    assert controls(explorer)["sentence"].value == "A green square."
    controls(explorer)["begin with"].value = 5
    assert controls(explorer)["sentence"].value == "there is a square that is green"
    assert said(explorer).count("green") == 2 and "image 2" in explorer.shown[0].layout.title.text


def test_it_can_begin_with_a_sentence(data):
    made = words({"tower": ColourTower(data.captions)}, data, picture=3, sentence="A red square.")
    assert controls(made)["picture"].value == 3 and controls(made)["sentence"].value == "A red square."


@pytest.mark.parametrize("sentence", ["", "   ", "\n"])
def test_nothing_typed_is_one_line(explorer, sentence):
    controls(explorer)["sentence"].value = sentence
    title, subtitle = title_and_subtitle(explorer.shown[0])
    assert title == "Nothing to show" and "has no words" in subtitle
    assert not explorer.shown[0].layout.images


@pytest.mark.parametrize(
    "sentence", ["<img src=x onerror=alert(1)> $x$", "dog \ud800 \u0000", "🐕" * 50, "square " * 2000]
)
@pytest.mark.filterwarnings("ignore:captions")
def test_whatever_is_typed_is_shown_letter_for_letter_or_cut(explorer, sentence):
    controls(explorer)["sentence"].value = sentence
    assert explorer.shown[0].layout.height < 1200 and len(said(explorer)) < 500
    assert not any("<img" in text or "$" in text for text in said(explorer))
