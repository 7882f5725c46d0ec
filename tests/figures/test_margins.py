import numpy as np
from PIL import Image

from itmlab.figures import adaptive_margins
from itmlab.figures.margins import MATCH, OUTER, blueness
from itmlab.figures.theme import BLUE, VERMILION, WIDTH

RELEVANCE, MARGINS = np.array([2.0, 1.0, 0.0]), np.array([-0.05, 0.1, 0.25])


def drawn(negatives=("a dog", "<b>a cat</b>", "a $bird$")):
    picture = Image.new("RGB", (40, 40), "white")
    return adaptive_margins(picture, ["one dog", "the dog"], negatives, RELEVANCE, MARGINS, title="Margins")


def test_the_farther_out_the_larger_the_margin_and_the_fixed_one_is_a_circle():
    dots = drawn().data[-1]
    middle = np.mean([shape["y0"] + shape["y1"] for shape in drawn().layout.shapes if shape["type"] == "circle"]) / 2
    radii = []
    for x, y in zip(dots.x, dots.y, strict=True):
        centre = WIDTH * (0.26 if x < WIDTH / 2 else 0.74)
        radii.append(np.hypot(x - centre, y - middle))
    unit = (OUTER - MATCH) / 0.25
    np.testing.assert_allclose(radii[:3], MATCH + 0.2 * unit)
    np.testing.assert_allclose(radii[3:], MATCH + MARGINS * unit)


def test_blue_is_alike_and_red_is_not():
    assert (blueness(1.0), blueness(0.0)) == (BLUE, VERMILION)
    assert blueness(1.3) == BLUE and blueness(-1) == VERMILION
    colours = drawn().data[-1].marker.color
    assert colours[0] == colours[3] == BLUE and colours[2] == VERMILION


def test_captions_are_words_not_markup():
    figure = drawn()
    said = [note.text for note in figure.layout.annotations] + [*figure.data[-1].customdata]
    assert not any("<b>a cat" in text or "$bird" in text for text in said)
    assert sum("&lt;b&gt;a cat" in text for text in said) == 3  # its row, and both of its dots
    assert "φ 2.00, margin -0.05" in figure.data[-1].hovertext


def test_one_negative_or_none_is_drawn_too():
    picture = Image.new("RGB", (40, 40))
    for count in (0, 1):
        figure = adaptive_margins(picture, ["x"], ["y"] * count, np.zeros(count), np.zeros(count), title="few")
        assert len(figure.data[-1].x) == 2 * count
