"""Negatives drawn: changed words letter by letter, lists and examples, score against score, difficulty in training."""

import html
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from workshop.plots.negatives import changed_parts, marked

from itmlab.synthesis import Negative
from itmlab.synthesis.negative import Change, edited
from itmlab.text import Span
from itmlab.text.alignment import token_characters
from itmlab.text.graph import tokenise

CAPTION = "A man and a dog sit on a red bench near a dog."


def edited_at(*changes: tuple[int, int, str]) -> Negative:
    tokens = tokenise(CAPTION)
    parts = [Change(Span(start, end), words, "word") for start, end, words in changes]
    return edited(CAPTION, tokens, token_characters(CAPTION, tokens), parts)


def test_each_changed_place_is_found_even_if_its_words_stand_elsewhere_too():
    negative = edited_at((4, 5, "cat"), (12, 13, "man"))
    assert changed_parts(negative) == [
        ("A man and a ", False),
        ("cat", True),
        (" sit on a red bench near a ", False),
        ("man", True),
        (".", False),
    ]


@given(
    st.lists(st.tuples(st.integers(0, 11), st.sampled_from(["cat", "two <b>", "a", "x $y$ z", "&amp;"])), max_size=4)
)
def test_parts_spell_the_sentence_and_markup_stays_letters(places):
    changes = sorted({start: (start, start + 1, words) for start, words in places}.values())
    negative = edited_at(*changes)
    assert "".join(text for text, _ in changed_parts(negative)) == negative.sentence
    written = marked(negative, width=20, lines=9)
    tags = set(re.findall(r"<[^>]*>", written))
    assert tags <= {"<br>", "<b>", "</b>", "<u>", "</u>", "</span>", '<span style="color:#D55E00">'}
    plain = html.unescape(re.sub(r"<[^>]*>", "", written.replace("<br>", " ")))
    assert plain.split() == negative.sentence.split()
    coloured = [html.unescape(words) for words in re.findall(r"<u>(.*?)</u>", written)]
    assert "".join("".join(coloured).split()) == "".join("".join(words.split()) for words in negative.replacement)


@pytest.mark.parametrize("sentence", ["word " * 200, "w" * 500, "\u0000 \u2028 a", "🐕 dog " * 30])
def test_long_and_odd_sentences_are_cut(sentence):
    written = marked(Negative(sentence), width=30, lines=2)
    assert written.count("<br>") <= 1 and len(written) < 80
