"""The house style."""

import plotly.graph_objects as go
import pytest

from itmlab.figures.theme import PALETTE, VERDICTS, colour, styled, translucent


def test_the_palette_starts_again_after_its_last_colour():
    assert colour(0) == colour(len(PALETTE))


def test_titles_are_escaped():
    figure = styled(go.Figure(), "<b>x</b>", "a < b", height=300)
    assert figure.layout.title.text == "&lt;b&gt;x&lt;/b&gt;"
    assert figure.layout.title.subtitle.text == "a &lt; b"


def test_longer_subtitles_and_legends_push_the_plot_down():
    one, two = (styled(go.Figure(), "t", "word " * count, height=300) for count in (5, 60))
    assert two.layout.margin.t > one.layout.margin.t
    assert one.layout.margin.t > styled(go.Figure(), "t", "word", height=300, legend=False).layout.margin.t


def test_colours_can_be_made_translucent():
    assert translucent("#FF8000", 0.25) == "rgba(255,128,0,0.25)"


def luminance(shade: str) -> float:
    """Relative luminance as WCAG 2 defines it."""
    values = [int(shade[start : start + 2], 16) / 255 for start in (1, 3, 5)]
    red, green, blue = (v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4 for v in values)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.parametrize("shade", [*PALETTE, *(shade for shade, _ in VERDICTS.values())])
def test_every_colour_stands_out_from_white(shade: str):
    assert 1.05 / (luminance(shade) + 0.05) > 1.7


def test_verdicts_differ_by_sign_as_well_as_by_colour():
    signs = [words[0] for _, words in VERDICTS.values()]
    assert len(set(signs)) == 3
