"""Words that take no effect, titles that never overlap, colours that stand out, error bars of shares."""

import html

import plotly.graph_objects as go
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from workshop.plots.theme import PALETTE, TRUTH_LABELS, label, styled, title_and_subtitle


@pytest.mark.parametrize(
    ("said", "options", "shown"),
    [
        ("<a href='javascript:x'>dog</a>", {}, "&lt;a href=&#x27;javascript:x&#x27;&gt;dog&lt;/a&gt;"),
        ('statistics="all"', {}, "statistics=&#34;all&#34;"),  # as Plotly reads quotes
        ("a $5$ dog", {}, "a &#36;5&#36; dog"),  # no formula reaches MathJax
        ("a brown dog runs", {"width": 8}, "a brown<br>dog runs"),
        ("a brown dog runs over the green grass", {"width": 9, "lines": 2}, "a brown<br>dog …"),
        ("a\x00dog\nruns\u202eback", {}, "a dog runs back"),
    ],
)
def test_a_label_is_letters_wrapped_between_words_and_cut(said, options, shown):
    assert label(said, **options) == shown


@settings(deadline=None, max_examples=40)
@given(st.text(max_size=80), st.integers(5, 40))
def test_what_is_shown_is_what_was_said(text: str, width: int):
    shown = label(text, width=width)
    assert "<" not in shown.replace("<br>", "")
    said = "".join(character if character.isprintable() else " " for character in text)
    assert html.unescape(shown.replace("<br>", "")).replace(" ", "") == "".join(said.split())


def test_titles_are_escaped():
    figure = styled(go.Figure(), "<b>x</b>", "a </span> $b$", height=300)
    shown = figure.layout.title.text
    assert ">&lt;b&gt;x&lt;/b&gt;</span><br>" in shown and ">a &lt;/span&gt; &#36;b&#36;</span>" in shown


@pytest.mark.parametrize("title", ["", "What is hidden", "<b>x</b> & </span><br>", "word " * 30 + "end"])
@pytest.mark.parametrize("subtitle", ["", "a < b, $1 & “</span>”", "word " * 60 + "end"])
def test_title_and_subtitle_can_be_read_back(title: str, subtitle: str):
    assert title_and_subtitle(styled(go.Figure(), title, subtitle, height=300)) == (title, subtitle)


def test_a_figure_of_another_style_has_a_title_too():
    assert title_and_subtitle(go.Figure(layout={"title": {"text": "a &lt; b"}})) == ("a < b", "")
    assert title_and_subtitle(go.Figure()) == ("", "")


def luminance(shade: str) -> float:
    """Relative luminance as WCAG 2 defines it."""
    values = [int(shade[start : start + 2], 16) / 255 for start in (1, 3, 5)]
    red, green, blue = (v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4 for v in values)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.parametrize("shade", [*PALETTE, *(shade for shade, _ in TRUTH_LABELS.values())])
def test_every_colour_stands_out_from_white(shade: str):
    assert 1.05 / (luminance(shade) + 0.05) > 1.7
