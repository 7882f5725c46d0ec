"""The explorers of attention and of the common space, as their controls and the pointer move them."""

import datetime
import io

import pytest
from PIL import Image
from workshop.explore import explore, explore_attention
from workshop.explore.base import PicturePicker

from itmlab.models import DualEncoderConfig, build_model
from tests.workshop.reading import controls, headings, opened
from tests.workshop.small_retrievals import small_retrievals
from tests.workshop.small_world import small_set


def attention_models():
    captions = small_set(8).captions
    return {name: build_model(DualEncoderConfig.tiny(), captions, seed=seed).eval() for seed, name in enumerate("ab")}


@pytest.fixture(scope="module")
def explorer():
    return opened(explore_attention(attention_models(), small_set(8)))


def words(explorer, figure=0):
    """The words of a figure but the last line, which explains the colours."""
    return [annotation.text for annotation in explorer.shown[figure].layout.annotations][:-1]


def test_picture_word_checkpoint_and_kind_of_map_can_be_chosen(explorer):
    created = controls(explorer)
    assert words(explorer) == ["<b>a</b>", "A", "red", "square", "<b>b</b>", "A", "red", "square"]
    created["picture"].value = 3
    assert words(explorer)[1:4] == ["A", "white", "square"]
    created["checkpoint"].value = "b"
    assert words(explorer) == ["<b>b</b>", "A", "white", "square"]
    created["word"].value = 1
    assert words(explorer) == ["<b>b</b>", "white"]
    before = explorer.shown[0].layout.images[1].source
    created["map"].value = "gradient"
    assert explorer.shown[0].layout.images[1].source != before
    created["map"].value = "similarity"
    created["caption"].value = created["caption"].options[1][1]
    assert words(explorer)[1:] == ["there", "is", "a", "square", "that", "is", "white"]


@pytest.fixture
def attention(explorer):
    """The explorer at its second picture, with nothing chosen."""
    created = controls(explorer)
    created["picture"].value, created["picture"].value = 0, 1
    created["checkpoint"].value, created["map"].value = "all", "similarity"
    return explorer


def second(explorer) -> tuple[str, str]:
    return headings(explorer.shown[1])


def test_pointing_at_a_patch_lists_the_words_that_land_on_it_and_a_click_keeps_it(attention):
    state = attention.live[0].state
    before = second(attention)
    state.hover = {"kind": "patches", "number": 0}
    assert second(attention) == ("What lands on this patch", "row 1, column 1; a word's weight there")
    state.hover = {}
    assert second(attention) == before
    state.click = {"kind": "patches", "number": 0}
    state.hover = {"kind": "patches", "number": 5}
    state.hover = {}
    controls(attention)["checkpoint"].value = "b"
    assert second(attention)[1].startswith("row 1, column 1;")


def test_pointing_at_a_word_shows_its_map_larger_and_a_click_chooses_it(attention):
    state = attention.live[0].state
    state.hover = {"kind": "words", "number": 1}
    (word,) = set(words(attention, 1)) - {"<b>a</b>", "<b>b</b>"}
    assert second(attention)[0] == f"Where “{word}” lands" and len(words(attention)) == 8
    state.click = {"kind": "words", "number": 1}
    assert controls(attention)["word"].value == 1 and words(attention)[1::2] == [word, word]
    assert second(attention)[0] == "What lands on this patch"


@pytest.fixture
def space():
    return opened(explore(small_retrievals().models, small_retrievals().data, picture=3))


def title(space) -> str:
    return headings(space.shown[1])[0]


def test_pictures_captions_sentences_and_own_pictures_have_neighbours(space):
    created = controls(space)
    assert title(space) == "Captions for picture image 3"
    created["picture"].value = 5
    assert title(space) == "Captions for picture image 5"
    created["sentence"].value = "a red square <script>"
    assert title(space) == "Pictures for a sentence" and "<script" not in str(space.shown[1].to_plotly_json())
    created["sentence"].value = " "
    assert title(space) == "Nothing to show"
    file = io.BytesIO()
    Image.new("RGB", (40, 30), "red").save(file, "PNG")
    upload = {"name": "mine.png", "type": "image/png", "size": 1, "content": memoryview(file.getvalue())}
    upload["last_modified"] = datetime.datetime(2026, 1, 1)
    created["own picture"].value = (upload,)
    assert title(space) == "Captions for your picture"
    created["own picture"].value = (upload | {"content": memoryview(b"no picture")},)
    assert title(space) == "Nothing to show" and "your picture" in headings(space.shown[1])[1]


def test_two_models_stand_side_by_side_and_marks_have_the_wanted_colour(space):
    created = controls(space)
    names = lambda: {trace.name for trace in space.shown[0].data if trace.showlegend}  # noqa: E731
    assert [annotation.text for annotation in space.shown[0].layout.annotations] == ["a", "b"]
    created["and"].value = "a"
    assert [annotation.text for annotation in space.shown[0].layout.annotations] == ["a"]
    created["colour by"].value = "right or wrong"
    assert "wrong" in names()
    created["colour by"].value = "true of the picture"
    assert {"✓ true", "✗ false"} <= names()


def test_a_click_on_a_caption_picks_its_picture(space):
    space.live[0].state.click = {"kind": "captions", "number": 19}
    assert space.controls[0].value == 9 and title(space).startswith("Pictures for caption")


def test_pictures_are_found_by_the_words_of_their_captions_or_by_their_number():
    data = small_set(40)
    picker = PicturePicker(data, value=20)
    assert 20 in [picture["number"] for picture in picker.shown] and not picker.is_last
    picker.query = "RED square"
    red = [number for number, captions in enumerate(data.captions_of()) if "red" in " ".join(captions)]
    assert [picture["number"] for picture in picker.shown] == red[: len(picker.shown)] and picker.page == 0
    picker.query = "31"
    assert [picture["number"] for picture in picker.shown] == [31] and picker.is_last
    picker.query = "zebra"
    assert picker.shown == [] and picker.note.startswith("0 of 40") and picker.value == 20


def test_a_lasso_marks_its_items_on_every_map_lists_them_and_gives_their_numbers_to_python(space):
    state = space.live[0].state
    state.lasso = [{"kind": "pictures", "number": 3}, {"kind": "captions", "number": 7}, {"kind": ""}]
    assert space.selection == {"pictures": [3], "captions": [7]} and title(space) == "In the lasso"
    assert headings(space.shown[1])[1] == "2 captions of 1 pictures in the lasso"
    marked = [trace for trace in space.shown[0].data if trace.name == "selected"]
    assert [len(trace.x) for trace in marked] == [2, 2]
    state.hover = {"kind": "pictures", "number": 4}
    assert title(space) == "Captions for picture image 4"
    state.hover = {}
    assert title(space) == "In the lasso"
    state.lasso = []
    assert title(space) == "Captions for picture image 3"
