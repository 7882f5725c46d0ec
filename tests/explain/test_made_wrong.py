"""Changes of a sentence are found to the letter, and each can be put back by itself."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from itmlab.explain.made_wrong import changed_places, put_back, with_only
from itmlab.synthesis import Negative
from itmlab.synthesis.edit import Change, edited
from itmlab.text import Span
from itmlab.text.alignment import token_characters
from itmlab.text.graph import tokenise

CAPTION = "A red dog, next to two cats, sleeps."


def made(caption: str, changes: list[tuple[int, int, str]]) -> Negative:
    tokens = tokenise(caption)
    new = [Change(Span(start, end), words, "word") for start, end, words in changes]
    return edited(caption, tokens, token_characters(caption, tokens), new)


def test_places_are_the_letters_of_the_new_words():
    negative = made(CAPTION, [(0, 2, "the small blue"), (6, 7, "a")])
    places = changed_places(negative, CAPTION)
    assert [negative.sentence[start:end] for start, end in places] == ["The small blue", "a"]
    assert with_only(negative, places, 0) == "The small blue dog, next to two cats, sleeps."
    assert with_only(negative, places, 1) == "A red dog, next to a cats, sleeps."
    assert put_back(negative, places, []) == negative.sentence


@settings(max_examples=80, deadline=None)
@given(data=st.data())
def test_any_change_alone_is_the_edit_with_that_change_alone(data):
    caption = " ".join(data.draw(st.lists(st.sampled_from(["A", "dog", "cat", "two", "T-shirt", ","]), min_size=2)))
    count = len(tokenise(caption))
    cuts = sorted(data.draw(st.sets(st.integers(0, count), min_size=2, max_size=6)))
    words = st.sampled_from(["cow", "big cow", "an", "dog"])
    changes = [(start, end, data.draw(words)) for start, end in zip(cuts[::2], cuts[1::2], strict=False)]
    negative = made(caption, changes)
    places = changed_places(negative, caption)
    assert len(places) == len(changes)
    for number, change in enumerate(changes):
        assert with_only(negative, places, number) == made(caption, [change]).sentence
    assert put_back(negative, places, range(len(places))) == caption


@pytest.mark.parametrize(
    "negative",
    [
        pytest.param(Negative("a cat on a mat"), id="retrieved"),
        pytest.param(Negative("A cat.", spans=(Span(1, 2),), source=("dog",), replacement=("cow",)), id="other words"),
        pytest.param(Negative("A cat.", spans=(Span(7, 8),), source=("dog",), replacement=("cat",)), id="outside"),
        pytest.param(Negative("A cat.", spans=(Span(1, 2),), source=("cow",), replacement=("cat",)), id="other"),
        pytest.param(Negative("A cat.", spans=(Span(1, 1),), source=("dog",), replacement=("cat",)), id="no words"),
    ],
)
def test_what_was_not_made_of_the_caption_word_by_word_has_no_places(negative):
    assert changed_places(negative, "A dog.") is None
