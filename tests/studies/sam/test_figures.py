"""Ranked results in their greens, measures side by side, curves over m, and relevance against the truth."""

from itertools import pairwise

import numpy as np
import pytest

from itmlab.studies.sam.figures import (
    GREENS,
    draw_measures_by_model,
    draw_ranked_captions,
    draw_ranked_pictures,
    draw_relevance_by_truth,
    draw_semantic_recall_by_m,
    draw_truth_among_relevant,
    greenness,
)
from itmlab.studies.sam.rankings import Ranking
from tests.studies.kit.test_theme import luminance
from tests.studies.reading import words

MEASURES = {
    "one": {"R@5": (30.0, 25.0, 36.0), "NCS@5": (50.0, 48.0, 52.0)},
    "<b>two</b>": {"R@5": (20.0, 19.0, 21.0), "NCS@5": (60.0, 58.0, 62.0)},
}


def test_the_place_by_each_measure_stands_over_the_point():
    notes = draw_measures_by_model(MEASURES, title="t").layout.annotations
    places = {(note.xref, note.y): note.text[3] for note in notes if note.text.startswith("<b>")}
    hostile = "&lt;b&gt;two&lt;/b&gt;"
    assert places == {("x", "one"): "1", ("x", hostile): "2", ("x2", "one"): "2", ("x2", hostile): "1"}


def test_whiskers_end_where_the_interval_does():
    first = draw_measures_by_model(MEASURES, title="t").data[0]
    assert first.x[0] == 30 and first.error_x.array[0] == 6 and first.error_x.arrayminus[0] == 5


def test_many_measures_take_two_rows():
    many = {"one": {f"measure {at}": (float(at), at - 1.0, at + 1.0) for at in range(9)}}
    figure = draw_measures_by_model(many, title="t")
    assert len({trace.yaxis for trace in figure.data}) == 9
    assert len({axis.domain for axis in (figure.layout[f"yaxis{at or ''}"] for at in ("", 2, 9))}) == 2


HOSTILE = "<img src=x onerror=alert(1)> $x$ " + "word " * 4000


def ranking(relevance=(2.0, 0.0, 1.0), annotated=(False, True, False), truth_label=(1, 0, -1)) -> Ranking:
    given = [None if values is None else np.array(values) for values in (annotated, truth_label)]
    return Ranking(np.array([2, 0, 1]), np.array(relevance), 4.0, *given, {"R@3": 100.0, "SR@3": 40.0, "NCS@3": 61.2})


def frames(figure) -> list[str]:
    return [shape.line.color for shape in figure.layout.shapes if (shape.line.width or 0) > 2]


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
    figure = draw_ranked_pictures("a dog", pictures, {"one": ranking(), "two <i>": ranking()}, title="best")
    tops = [image.y for image in figure.layout.images]
    assert len(tops) == 6 and max(tops[:3]) < min(tops[3:])
    headings = [text for text in words(figure) if "NCS@3 61 %" in text]
    assert len(headings) == 2 and all("R@3 100 % · SR@3 40 %" in text for text in headings)
    assert "two &lt;i&gt;" in headings[1]
    assert frames(figure)[:3] == [greenness(ranking(), place) for place in range(3)]


def test_ground_truth_has_a_star_and_the_world_its_say(pictures):
    said = words(draw_ranked_pictures("a dog", pictures, {"one": ranking()}, title="best"))
    assert "<b>2 ★</b>" in said and "<b>1</b>" in said
    assert any("✓ true" in text for text in said) and any("★ ground truth" in text for text in said)
    bare = words(
        draw_ranked_pictures("a dog", pictures, {"one": ranking(annotated=None, truth_label=None)}, title="best")
    )
    assert not any("★" in text or "✓" in text for text in bare)


def test_more_than_a_row_of_pictures_goes_on_below(pictures):
    six = Ranking(np.arange(6), np.linspace(1, 0, 6), 1.0, None, None, {})
    figure = draw_ranked_pictures("a dog", pictures, {"one": six}, title="best")
    tops = [image.y for image in figure.layout.images]
    assert len(set(tops[:5])) == 1 and tops[5] > tops[0] + figure.layout.images[0].sizey


def test_captions_of_a_picture_are_rows_beside_it(pictures):
    captions = ["a red square", "two dogs", "grass"]
    figure = draw_ranked_captions(
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
        draw_ranked_pictures(HOSTILE, pictures, {HOSTILE: ranking()}, title=HOSTILE, captions=hostile),
        draw_ranked_captions(pictures[0], hostile, {HOSTILE: ranking()}, title="t", own_captions=hostile),
    )
    for figure in shown:
        texts = [*words(figure), figure.layout.title.text]
        assert not any("<img" in text or "$" in text for text in texts)
        assert all(len(text) < 400 for text in words(figure)), "cut"
        assert figure.layout.height < 1500


RELEVANT = [1, 5, 20]


def recalls(directions=("t2i", "i2t"), senses=("any", "share")):
    return {
        model: {direction: {sense: np.array([30.0, 20.0, 10.0]) + at for sense in senses} for direction in directions}
        for at, model in enumerate(["<b>one</b>", "two"])
    }


@pytest.mark.parametrize(("directions", "panels"), [(("t2i", "i2t"), 4), (("t2i",), 2)])
def test_every_model_has_a_line_in_every_panel(directions, panels):
    figure = draw_semantic_recall_by_m(RELEVANT, recalls(directions), k=5, title="t")
    lines = [trace for trace in figure.data if trace.name == "two"]
    assert len(lines) == panels and all(list(line.y) == [31, 21, 11] and list(line.x) == RELEVANT for line in lines)
    assert sum(line.showlegend for line in lines) == 1
    assert not any("<b>" in (trace.name or "") for trace in figure.data)


def test_what_k_places_can_hold_at_most_is_drawn_for_shares_only():
    figure = draw_semantic_recall_by_m(RELEVANT, recalls(("t2i",)), k=5, title="t")
    (ceiling,) = (trace for trace in figure.data if trace.line.dash == "dot")
    assert list(ceiling.y) == [100, 100, 25]
    assert ceiling.name == "the most that 5 places can hold"
    alone = draw_semantic_recall_by_m(RELEVANT, recalls(("t2i",), ("any",)), k=5, title="t")
    assert not any(trace.line.dash == "dot" for trace in alone.data)


random = np.random.default_rng(0)
TRUTH_LABELS = random.choice([1, 0, -1], 4000, p=[0.2, 0.75, 0.05])
RELEVANCE = np.abs(random.normal(0, 1, 4000)) + (TRUTH_LABELS == 1)


def in_row(figure, axis):
    return [trace for trace in figure.data if trace.yaxis == axis]


def test_each_truth_label_is_a_distribution_of_its_own():
    figure = draw_relevance_by_truth({"CIDEr": RELEVANCE}, TRUTH_LABELS, title="t")
    upper = in_row(figure, "y")
    assert [trace.name for trace in upper] == ["✓ true", "✗ false", "? undecided"]
    assert [sum(trace.y) for trace in upper] == pytest.approx([100, 100, 100])
    assert f"{(TRUTH_LABELS == 1).sum():,} ✓ true" in figure.layout.title.text


def test_the_share_of_true_ones_is_counted_among_the_decided():
    figure = draw_relevance_by_truth({"CIDEr": RELEVANCE}, TRUTH_LABELS, title="t")
    (lower,) = in_row(figure, "y2")
    true, decided = lower.customdata[:, 1], lower.customdata[:, 2]
    assert lower.y == pytest.approx(100 * true / decided) and (decided >= 10).all()
    assert decided.sum() <= (TRUTH_LABELS >= 0).sum()


def test_two_metrics_stand_beside_each_other_and_share_a_legend():
    figure = draw_relevance_by_truth({"CIDEr": RELEVANCE, "<i>SPICE</i>": RELEVANCE / 9}, TRUTH_LABELS, title="t")
    assert sum(bool(trace.showlegend) for trace in figure.data) == 3
    assert not any("<i>" in (note.text or "") for note in figure.layout.annotations)


def test_pairs_without_anything_in_common_are_a_figure_too():
    draw_relevance_by_truth({"CIDEr": np.zeros(50)}, np.zeros(50, dtype=int), title="t")


def test_rankings_are_compared_with_a_perfect_one():
    shares = {"CIDEr": {"t2i": np.array([20.0, 10.0])}, "model": {"t2i": np.array([5.0, 4.0])}}
    figure = draw_truth_among_relevant([1, 10], shares, {"t2i": np.array([60.0, 30.0])}, title="t")
    lines = {trace.name: list(trace.y) for trace in figure.data}
    assert lines == {"all true ones first": [60, 30], "CIDEr": [20, 10], "model": [5, 4]}
