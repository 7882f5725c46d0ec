"""The explorer of rankings."""

import pytest

from itmlab import studies
from itmlab.studies.kit.theme import title_and_subtitle
from tests.studies.reading import controls, opened
from tests.studies.small_retrievals import small_retrievals


@pytest.fixture
def explorer():
    return opened(studies.sam.explore_retrieval(small_retrievals(), sentence="a red square", k=3))


def words(explorer):
    return [annotation.text for annotation in explorer.shown[0].layout.annotations]


def heading_texts(explorer):
    return [text for text in words(explorer) if "@" in text]


def headings(explorer):
    return [text.partition("</b>")[0].removeprefix("<b>") for text in heading_texts(explorer)]


def test_a_typed_sentence_finds_pictures_by_two_models(explorer):
    assert "“a red square”" in explorer.shown[0].layout.title.text
    assert headings(explorer) == ["a", "b"] and len(explorer.shown[0].layout.images) == 6
    assert any("✓ true" in text or "✗ false" in text for text in words(explorer))
    assert not any("★" in text for text in words(explorer)), "nobody annotated what was typed"


def test_typing_asks_for_the_sentence_whatever_was_asked_before(explorer):
    made = controls(explorer)
    made["query"].value = "picture"
    made["sentence"].value = "a blue square"
    assert made["query"].value == "sentence"
    assert "a blue square" in explorer.shown[0].layout.title.text


def test_a_caption_of_the_split_has_ground_truth(explorer):
    made = controls(explorer)
    made["query"].value = "caption"
    made["number"].value = 31
    made["k"].value = 10
    assert "caption 31" in explorer.shown[0].layout.title.text
    assert any("★ ground truth" in text for text in words(explorer))
    assert len(explorer.shown[0].layout.images) == 20


def test_a_picture_finds_captions(explorer):
    made = controls(explorer)
    made["number"].value = 31
    made["query"].value = "picture"
    assert made["number"].max == 15 and made["number"].value == 15
    assert "image 15" in explorer.shown[0].layout.title.text
    assert len(explorer.shown[0].layout.images) == 1 and "<b>written for it</b>" in words(explorer)


def test_each_model_says_how_much_the_other_found_too(explorer):
    controls(explorer)["k"].value = 10
    retrieved = small_retrievals()
    found = [set(retrieved.of_sentence(name, "a red square", k=10).index.tolist()) for name in "ab"]
    share = 10 * len(found[0] & found[1])
    assert 0 < share < 100
    for other, text in zip("ba", heading_texts(explorer), strict=True):
        assert f"also by {other} {share} %" in text


def test_one_model_twice_is_shown_once(explorer):
    made = controls(explorer)
    made["and"].value = "a"
    assert headings(explorer) == ["a"] and "also" not in heading_texts(explorer)[0]


@pytest.mark.parametrize(
    "sentence", ["", "   ", "🐕", "<script>alert(1)</script>", "word " * 10_000, "ein rotes Quadrat"]
)
def test_strange_sentences_are_ranked_or_refused_in_one_line(explorer, sentence):
    controls(explorer)["sentence"].value = sentence
    assert "<script" not in f"{explorer.shown[0].layout.title.text} {words(explorer)}"
    title, subtitle = title_and_subtitle(explorer.shown[0])
    if title == "Nothing to show":
        assert not explorer.shown[0].layout.images and subtitle
    else:
        assert len(explorer.shown[0].layout.images) == 6


def test_a_refused_sentence_leaves_nothing_of_the_last_one(explorer):
    controls(explorer)["sentence"].value = " "
    assert title_and_subtitle(explorer.shown[0])[0] == "Nothing to show"
    assert not explorer.shown[0].layout.images and words(explorer) == []
    controls(explorer)["sentence"].value = "a green square"
    assert len(explorer.shown[0].layout.images) == 6


def test_still_figures_show_the_same(explorer):
    (figure,) = explorer.figures()
    assert [annotation.text for annotation in figure.layout.annotations] == words(explorer)
