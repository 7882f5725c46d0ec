"""Ranked results: the frame's green is φ, the star is ground truth, and captions are only words."""

from itertools import pairwise

import numpy as np
import pytest

from itmlab.explain.rankings import Ranking
from itmlab.figures import ranked_captions, ranked_pictures
from itmlab.figures.ranked import GREENS, greenness

HOSTILE = "<img src=x onerror=alert(1)> $x$ " + "word " * 4000


def ranking(relevance=(2.0, 0.0, 1.0), annotated=(False, True, False), verdict=(1, 0, -1)) -> Ranking:
    given = [None if values is None else np.array(values) for values in (annotated, verdict)]
    return Ranking(np.array([2, 0, 1]), np.array(relevance), 4.0, *given, {"R@3": 100.0, "SR@3": 40.0, "NCS@3": 61.2})


def words(figure) -> list[str]:
    return [annotation.text for annotation in figure.layout.annotations]


def frames(figure) -> list[str]:
    return [shape.line.color for shape in figure.layout.shapes if (shape.line.width or 0) > 2]


def luminance(shade: str) -> float:
    return sum(w * int(shade[at : at + 2], 16) for w, at in ((0.2126, 1), (0.7152, 3), (0.0722, 5)))


def test_the_greener_the_more_similar_and_darker_too():
    shades = [greenness(ranking((share, 0, 0)), 0) for share in np.linspace(0, 4, 9)]
    assert shades[0] == GREENS[0] and shades[-1] == GREENS[-1]
    brightness = [luminance(shade) for shade in shades]
    assert all(a > b for a, b in pairwise(brightness)), "told apart without seeing green"


@pytest.mark.parametrize("relevance", [(5.0, 0, 0), (-1.0, 0, 0)])
def test_a_relevance_outside_the_scale_takes_its_end(relevance):
    assert greenness(ranking(relevance), 0) in (GREENS[0], GREENS[-1])


def test_where_nothing_is_relevant_nothing_is_green():
    nothing = Ranking(np.array([0]), np.array([0.0]), 0.0, None, None, {})
    assert greenness(nothing, 0) == GREENS[0]


def test_two_methods_stand_one_above_the_other_with_their_scores(pictures):
    figure = ranked_pictures("a dog", pictures, {"one": ranking(), "two <i>": ranking()}, title="best")
    tops = [image.y for image in figure.layout.images]
    assert len(tops) == 6 and max(tops[:3]) < min(tops[3:])
    headings = [text for text in words(figure) if "NCS@3 61 %" in text]
    assert len(headings) == 2 and all("R@3 100 % · SR@3 40 %" in text for text in headings)
    assert "two &lt;i&gt;" in headings[1]
    assert frames(figure)[:3] == [greenness(ranking(), place) for place in range(3)]


def test_ground_truth_has_a_star_and_the_world_its_say(pictures):
    said = words(ranked_pictures("a dog", pictures, {"one": ranking()}, title="best"))
    assert "<b>2 ★</b>" in said and "<b>1</b>" in said
    assert any("✓ true" in text for text in said) and any("★ ground truth" in text for text in said)
    bare = words(ranked_pictures("a dog", pictures, {"one": ranking(annotated=None, verdict=None)}, title="best"))
    assert not any("★" in text or "✓" in text for text in bare)


def test_more_than_a_row_of_pictures_goes_on_below(pictures):
    six = Ranking(np.arange(6), np.linspace(1, 0, 6), 1.0, None, None, {})
    figure = ranked_pictures("a dog", pictures, {"one": six}, title="best", columns=5)
    tops = [image.y for image in figure.layout.images]
    assert len(set(tops[:5])) == 1 and tops[5] > tops[0] + figure.layout.images[0].sizey


def test_captions_of_a_picture_are_rows_beside_it(pictures):
    captions = ["a red square", "two dogs", "grass"]
    figure = ranked_captions(
        pictures[0],
        captions,
        {"one": ranking(), "two": ranking()},
        title="best",
        own_captions=["mine"],
        relevance="SPICE",
    )
    said = words(figure)
    assert said.count("grass") == 2 and "mine" in said and any(text.startswith("SPICE 2.00") for text in said)
    assert len(figure.layout.images) == 1
    rows = [annotation.y for annotation in figure.layout.annotations if annotation.text == "grass"]
    assert rows[1] > rows[0]


def test_hostile_and_endless_captions_stay_words(pictures):
    hostile = [HOSTILE] * 6
    shown = (
        ranked_pictures(HOSTILE, pictures, {HOSTILE: ranking()}, title=HOSTILE, captions=hostile),
        ranked_captions(pictures[0], hostile, {HOSTILE: ranking()}, title="t", own_captions=hostile),
    )
    for figure in shown:
        texts = [*words(figure), figure.layout.title.text]
        assert not any("<img" in text or "$" in text for text in texts)
        assert all(len(text) < 400 for text in words(figure)), "cut"
        assert figure.layout.height < 1500
