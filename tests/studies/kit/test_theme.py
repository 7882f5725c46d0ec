"""Words that take no effect, titles that never overlap, colours that stand out, error bars of shares."""

import html
from itertools import combinations

import numpy as np
import plotly.graph_objects as go
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from plotly.colors import hex_to_rgb

from itmlab.metrics.statistics import share
from itmlab.studies.kit.theme import (
    PALETTE,
    TRUTH_LABELS,
    error_bars,
    label,
    styled,
    title_and_subtitle,
)
from itmlab.studies.sam.figures import GREENS
from itmlab.studies.tags.word_figures import FITS, MISFITS


def test_bars_reach_from_the_lower_to_the_upper_end():
    shares = [share(torch.tensor([True, False, True])), share(torch.zeros(0).bool())]
    bars = error_bars(shares, "#123456")
    assert bars["array"] == [pytest.approx(shares[0].upper - shares[0].percent), 0]
    assert bars["arrayminus"] == [pytest.approx(shares[0].percent - shares[0].lower), 0] and bars["color"] == "#123456"


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


# How colour-blind eyes see linear RGB (Machado, Oliveira and Fernandes 2009, Table 1, severity 1).
EYES = {
    "all cones": np.eye(3),
    "protanopia": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deuteranopia": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.968881]],
    "tritanopia": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.3039]],
}
XYZ = np.array([[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.072175], [0.0193339, 0.119192, 0.9503041]])


def seen(shade: str, eyes: str) -> np.ndarray:
    """A #RRGGBB colour as CIE L*a*b* (D65), for these eyes."""
    values = np.array(hex_to_rgb(shade)) / 255
    linear = np.where(values <= 0.04045, values / 12.92, ((values + 0.055) / 1.055) ** 2.4)
    x, y, z = np.cbrt(XYZ @ np.clip(EYES[eyes] @ linear, 1e-3, 1) / [0.95047, 1, 1.08883])
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


@pytest.mark.parametrize("eyes", EYES)
@pytest.mark.parametrize(
    ("together", "least"),
    [([shade for shade, _ in TRUTH_LABELS.values()], 15), ((FITS, MISFITS), 40), (PALETTE, 7), (GREENS, 7)],
    ids=["truth labels", "words", "series", "meaning"],
)
def test_colours_that_stand_together_differ_for_every_kind_of_eyes(together, least, eyes):
    for one, other in combinations(together, 2):
        assert np.linalg.norm(seen(one, eyes) - seen(other, eyes)) > least, (one, other)
