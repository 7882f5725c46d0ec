"""Captions are hostile text: whatever they hold, a figure shows it letter by letter."""

import html

from hypothesis import given, settings
from hypothesis import strategies as st

from itmlab.figures.labels import label


def test_markup_is_shown_not_obeyed():
    assert label("<a href='javascript:x'>dog</a>") == "&lt;a href=&#x27;javascript:x&#x27;&gt;dog&lt;/a&gt;"


def test_quotes_are_written_as_plotly_reads_them():
    assert label('statistics="all"') == "statistics=&#34;all&#34;"


def test_no_formula_reaches_mathjax():
    assert "$" not in label("a $5$ dog")
    assert html.unescape(label("a $5$ dog")) == "a $5$ dog"


def test_long_text_is_wrapped_between_words_and_cut():
    assert label("a brown dog runs", width=8) == "a brown<br>dog runs"
    assert label("a brown dog runs over the green grass", width=9, lines=2) == "a brown<br>dog …"


def test_control_characters_become_spaces():
    assert label("a\x00dog\nruns\u202eback") == "a dog runs back"


@settings(deadline=None, max_examples=40)
@given(st.text(max_size=80), st.integers(5, 40))
def test_what_is_shown_is_what_was_said(text: str, width: int):
    shown = label(text, width=width)
    assert "<" not in shown.replace("<br>", "")
    said = "".join(character if character.isprintable() else " " for character in text)
    assert html.unescape(shown.replace("<br>", "")).replace(" ", "") == "".join(said.split())
