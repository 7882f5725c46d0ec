"""Words that take no effect, titles that never overlap, colours that stand out, error bars of shares."""

import html

import plotly.graph_objects as go
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from workshop.plots.theme import (
    METHODS,
    NIGHT,
    PALETTE,
    PAPER,
    TRUTH_LABELS,
    label,
    night_style,
    series_colours,
    styled,
    titled,
)


@pytest.mark.parametrize(
    ("text", "options", "shown"),
    [
        ("<a href='javascript:x'>dog</a>", {}, "&lt;a href=&#x27;javascript:x&#x27;&gt;dog&lt;/a&gt;"),
        ('statistics="all"', {}, "statistics=&#34;all&#34;"),  # as Plotly reads quotes
        ("a $5$ dog", {}, "a &#36;5&#36; dog"),  # no formula reaches MathJax
        ("a brown dog runs", {"width": 8}, "a brown<br>dog runs"),
        ("a brown dog runs over the green grass", {"width": 9, "lines": 2}, "a brown<br>dog …"),
        ("a\x00dog\nruns\u202eback", {}, "a dog runs back"),
    ],
)
def test_a_label_is_letters_wrapped_between_words_and_cut(text, options, shown):
    assert label(text, **options) == shown


@settings(deadline=None, max_examples=40)
@given(st.text(max_size=80), st.integers(5, 40))
def test_what_is_shown_is_what_was_said(text: str, width: int):
    shown = label(text, width=width)
    assert "<" not in shown.replace("<br>", "")
    plain = "".join(character if character.isprintable() else " " for character in text)
    assert html.unescape(shown.replace("<br>", "")).replace(" ", "") == "".join(plain.split())


def test_a_title_makes_the_figure_higher_and_leaves_the_plot_its_size():
    figure = styled(go.Figure(), height=300)
    plot = figure.layout.height - figure.layout.margin.t
    titled(figure, "title", "word " * 40)
    assert figure.layout.height - figure.layout.margin.t == plot and figure.layout.height > 380


def test_a_method_has_one_colour_and_other_names_take_what_is_left():
    shades = series_colours(["all", "FNE", "hardest_memory", "some"])
    assert shades["FNE"] == series_colours(["fne (area 0.936)"])["fne (area 0.936)"]
    assert len(set(shades.values())) == 4


def test_dark_style_changes_the_neutral_colours_and_blue_letters_only():
    rules = night_style()
    assert all(shade in rules for shade in NIGHT.values()) and not any(shade in rules for shade in PALETTE[1:])
    assert rules.count(f'{PALETTE[0]}" i]') == rules.count(f'{PALETTE[0]}" i]:is(text, tspan)') > 0


def luminance(shade: str) -> float:
    """Relative luminance as WCAG 2 defines it."""
    values = [int(shade[start : start + 2], 16) / 255 for start in (1, 3, 5)]
    red, green, blue = (v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4 for v in values)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.parametrize("paper", [PAPER, NIGHT[PAPER]])
def test_every_colour_stands_out_from_light_and_dark_paper(paper: str):
    for shade in {*PALETTE, *METHODS.values(), *(shade for shade, _ in TRUTH_LABELS.values())}:
        light, dark = sorted((luminance(shade), luminance(paper)), reverse=True)
        assert (light + 0.05) / (dark + 0.05) > 1.7, shade
