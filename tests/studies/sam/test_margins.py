"""Margins drawn to scale around an anchor, and what they add where data are few."""

import numpy as np
import pytest
from PIL import Image

from itmlab.studies.kit.theme import BLUE, VERMILION, WIDTH, mixed
from itmlab.studies.sam.margins import ALIKE, MATCH, OUTER, PAPER_GAINS, draw_adaptive_margins, draw_reduced_data
from tests.studies.reading import words

RELEVANCE, MARGINS = np.array([2.0, 1.0, 0.0]), np.array([-0.05, 0.1, 0.25])


def drawn(negatives=("a dog", "<b>a cat</b>", "a $bird$")):
    picture = Image.new("RGB", (40, 40), "white")
    return draw_adaptive_margins(picture, ["one dog", "the dog"], negatives, RELEVANCE, MARGINS, title="Margins")


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
    assert (mixed(1.0, ALIKE), mixed(0.0, ALIKE)) == (BLUE, VERMILION)
    assert mixed(1.3, ALIKE) == BLUE and mixed(-1, ALIKE) == VERMILION
    colours = drawn().data[-1].marker.color
    assert colours[0] == colours[3] == BLUE and colours[2] == VERMILION


def test_captions_are_words_not_markup():
    figure = drawn()
    said = [*words(figure), *figure.data[-1].customdata]
    assert not any("<b>a cat" in text or "$bird" in text for text in said)
    assert sum("&lt;b&gt;a cat" in text for text in said) == 3  # its row, and both of its dots
    assert "φ 2.00, margin -0.05" in figure.data[-1].hovertext


def test_one_negative_or_none_is_drawn_too():
    picture = Image.new("RGB", (40, 40))
    for count in (0, 1):
        figure = draw_adaptive_margins(picture, ["x"], ["y"] * count, np.zeros(count), np.zeros(count), title="few")
        assert len(figure.data[-1].x) == 2 * count


ROWS = [
    {"share": share, "recipe": recipe, "seed": seed, "RSum": 100 * share + 10 * seed, "Nsum": 50.0 + seed}
    for share in (0.1, 1.0)
    for recipe in ("hardest", "hardest + SAM")
    for seed in range(3)
]
DIFFERENCES = [
    {"share": share, "recipe": "hardest + SAM", "baseline": "hardest", "measure": measure}
    | {"difference": -4.0, "lower": -9.0, "upper": 2.0}
    for share in (0.1, 1.0)
    for measure in ("RSum", "Nsum")
]


def test_every_seed_is_a_point_and_their_mean_a_line():
    figure = draw_reduced_data(ROWS, DIFFERENCES, title="t")
    line = next(trace for trace in figure.data if trace.name == "hardest" and trace.mode == "lines+markers")
    assert list(line.y) == [20.0, 110.0]
    points = [trace for trace in figure.data if trace.mode == "markers"]
    assert [len(trace.y) for trace in points] == [6] * 4
    drawn = {
        trace.name: trace.line.dash
        for trace in figure.data
        if trace.mode == "lines+markers" and "paper" not in trace.name
    }
    assert drawn == {"hardest": "dot", "hardest + SAM": "solid"}


def test_gains_carry_their_intervals():
    figure = draw_reduced_data(ROWS, DIFFERENCES, title="t")
    gains = next(trace for trace in figure.data if trace.error_y.array is not None)
    assert list(gains.y) == [-4, -4] and list(gains.error_y.array) == [6, 6] and gains.text[0].strip() == "−4"


@pytest.mark.parametrize("paper", [PAPER_GAINS, None])
def test_the_papers_gains_stand_below_where_wanted(paper):
    figure = draw_reduced_data(ROWS, DIFFERENCES, title="t", paper=paper)
    printed = [trace for trace in figure.data if "(paper)" in (trace.name or "")]
    assert len(printed) == (4 if paper else 0)


def test_the_papers_gains_are_those_of_its_tables():
    """SAM, Table 2 (10 %, 25 %) and Table 3 (100 %), RSum: with the margin, and without."""
    printed = {
        "CVSE": {0.1: (303.2, 138.7), 0.25: (383.8, 294.1), 1.0: (478.9, 471.6)},
        "SGR": {0.1: (324.6, 4.2), 0.25: (410.0, 140.6), 1.0: (495.3, 488.4)},
    }
    for model, by_share in printed.items():
        for share, (with_margin, without) in by_share.items():
            assert PAPER_GAINS[model][share][0] == pytest.approx(with_margin - without, abs=0.01)


def test_names_are_words_only():
    hostile = [{**row, "recipe": "<script>"} for row in ROWS]
    figure = draw_reduced_data(hostile, [], title="t", paper=None)
    assert all("<script>" not in (trace.name or "") for trace in figure.data)
