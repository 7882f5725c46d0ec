"""Where probabilities come from, an anchor's negatives one by one, and how much truth nobody annotated."""

import html
import itertools
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from itmlab.samplers import Statistics
from itmlab.studies.fne.analysis import GainByDensity, curves
from itmlab.studies.fne.figures import (
    SHOWN,
    TRUTH_PANELS,
    draw_by_truth,
    draw_false_negative_probability,
    draw_gain_by_density,
    draw_negative_captions,
    draw_negative_pictures,
    draw_true_images,
    draw_truth_by_knob,
    percent,
)
from itmlab.studies.kit.theme import text_width
from tests.studies.reading import words


@pytest.mark.parametrize(
    ("probability", "shown"),
    [(0.834, "83 %"), (0.0617, "6.2 %"), (0.0023, "0.23 %"), (0.00001, "< 0.01 %"), (1.0, "100 %")],
)
def test_probabilities_keep_the_digits_that_tell_something(probability, shown):
    assert percent(probability) == shown


def test_each_caption_has_its_probability_weight_and_truth_label(pictures):
    figure = draw_negative_captions(
        pictures[0],
        ["own <one>"],
        ["a dog", "a <script>"],
        np.array([0.83, 0.002]),
        title="t",
        weights=np.array([0.43, 0.9]),
        truth_labels=np.array([1, 0]),
        drawn=np.array([0, 3]),
    )
    texts = words(figure)
    for expected in ("own &lt;one&gt;", "a &lt;script&gt;", "<b>83 %</b>", "<b>✓ true</b>", "<b>✗ false</b>"):
        assert expected in texts
    assert "weight 0.90 · <b>drawn 3 ×</b>" in texts
    rims = [shape.line.width for shape in figure.layout.shapes if shape.layer == "below"]
    assert rims == [1, 2]


def test_without_a_world_there_are_no_truth_labels(pictures):
    figure = draw_negative_captions(pictures[0], [], ["a dog"], np.array([0.5]), title="t")
    assert not any("world" in annotation.text for annotation in figure.layout.annotations)
    assert len(draw_negative_pictures("a dog", pictures[:2], np.array([0.5, 0.1]), title="t").layout.images) == 2


@pytest.mark.parametrize("world", [False, True])
def test_long_captions_end_before_the_bars_and_rows_before_the_next(pictures, world):
    long = ["A woman in an orange coat squats on a rock wall while another stands next to her .", "W" * 70, "a dog"] * 3
    labels = np.ones(9, dtype=int) if world else None
    figure = draw_negative_captions(pictures[0], long[:2], long, np.full(9, 0.5), title="t", truth_labels=labels)
    bars = min(shape.x0 for shape in figure.layout.shapes if shape.layer != "below")
    rows = [shape for shape in figure.layout.shapes if shape.layer == "below"]
    left = rows[0].x0 + 10
    captions = [one for one in figure.layout.annotations if one.x == left and one.y > rows[0].y0]
    for caption, row in zip(captions, rows, strict=True):
        lines = html.unescape(caption.text).split("<br>")
        assert all(left + text_width(line, 13) < bars and line != "." for line in lines) and "…" not in caption.text
        assert 18 * len(lines) <= row.y1 - row.y0
    assert all(above.y1 < below.y0 for above, below in itertools.pairwise(rows))
    assert rows[-1].y1 < max(figure.layout.yaxis.range)


def test_pictures_are_framed_by_truth_label(pictures):
    truth_labels = np.array([1, 0, -1])
    figure = draw_negative_pictures(
        "a <dog>", pictures[:3], np.array([0.9, 0.2, 0.0]), title="t", truth_labels=truth_labels
    )
    assert [shape.line.color for shape in figure.layout.shapes] == ["#009E73", "#D55E00", "#8A94A0"]
    assert "anchor: “a &lt;dog&gt;”" in figure.layout.title.text


STATISTICS = Statistics(0.7, 0.08, 0.4, 0.1)


def drawn(**options):
    generator = np.random.default_rng(0)
    made = curves(STATISTICS, 0.72, **options)
    return made, lambda **more: draw_false_negative_probability(
        made, generator.normal(0.7, 0.08, 500), generator.normal(0.4, 0.1, 800), title="t", **more
    )


def test_regions_meet_where_the_posterior_passes_the_threshold_and_one_half():
    made, figure = drawn(prior=1e-3, threshold=0.01)
    easy, hard, false = figure().layout.shapes[:3]
    assert easy.x1 == hard.x0 and hard.x1 == false.x0
    assert made.monotone[made.similarity < hard.x0].max() < 0.01 <= made.monotone[made.similarity >= hard.x0].min()
    assert made.monotone[made.similarity < false.x0].max() < 0.5 <= made.monotone[made.similarity >= false.x0].min()


@pytest.mark.parametrize("options", [{"prior": 1e-6}, {"prior": 0.3}, {"threshold": 0.56}, {"preset": "released"}])
def test_the_number_of_traces_and_shapes_never_changes(options):
    """So a widget can update the figure in place."""
    _, usual = drawn()
    _, other = drawn(**options)
    few = {"scores": np.array([0.5]), "weights": np.array([1.0]), "truth_labels": np.array([1]), "drawn": [0]}
    figures = usual(), other(**few)
    assert len({len(figure.data) for figure in figures}) == 1
    assert len({len(figure.layout.shapes) for figure in figures}) == 1
    assert len({len(figure.layout.annotations) for figure in figures}) == 1


def test_candidates_are_coloured_by_truth_label_and_capped():
    _, figure = drawn()
    scores = np.linspace(-1, 1, 3 * SHOWN)
    truth_labels = np.tile([1, 0, -1], SHOWN)
    made = figure(scores=scores, weights=np.ones_like(scores), truth_labels=truth_labels, drawn=[7, 7, 0])
    points = {trace.name: trace for trace in made.data if trace.type == "scatter" and trace.mode == "markers"}
    assert sum(len(points[name].x) for name in ("true", "false", "undecided")) == SHOWN
    assert min(min(points[name].x) for name in ("true", "false")) >= np.sort(scores)[-SHOWN]
    assert list(points["drawn"].x) == [scores[0], scores[7]]


def test_histograms_are_densities():
    _, figure = drawn()
    bars = [trace for trace in figure().data if trace.type == "bar"]
    for bar in bars:
        assert abs(sum(bar.y) * bar.width - 1) < 0.02  # all of it lies inside the span but for a tail


@settings(deadline=None, max_examples=40)
@given(st.lists(st.integers(1, 500), min_size=1, max_size=60))
def test_every_caption_is_counted_in_the_step_its_number_falls_in(numbers: list[int]):
    bars = draw_true_images(np.array(numbers), title="t").data[0]
    for name, share in zip(bars.x, bars.y, strict=True):
        low, _, high = name.split(":")[0].partition("–")
        inside = sum(int(low) <= number <= int(high or low) for number in numbers)
        assert np.isclose(share, 100 * inside / len(numbers))
    assert np.isclose(sum(bars.y), 100)


def test_one_line_a_quantity_over_the_knob():
    figure = draw_truth_by_knob([0, 1], {"a<b": [0.5, 2], "c": [1, 3]}, title="t")
    assert [line.name for line in figure.data] == ["a&lt;b", "c"]
    assert list(figure.data[1].y) == [1, 3]


def test_a_row_a_recipe_has_its_recall_beside_what_the_truth_says():
    found = {
        name: {column: (value, value - 2, value + 3) for column in TRUTH_PANELS} for name, value in RECIPES.items()
    }
    comparison = SimpleNamespace(labels=list(RECIPES), intervals=found.get)
    figure = draw_by_truth(comparison, title="t")
    assert list(figure.layout.yaxis.ticktext) == ["triplet", "&lt;fne&gt;"] and len(TRUTH_PANELS) == 4
    points = [trace for trace in figure.data if trace.mode == "markers"]
    assert [(trace.x[0], trace.error_x.array[0], trace.error_x.arrayminus[0]) for trace in points] == [
        (value, 3, 2) for value in RECIPES.values() for _ in TRUTH_PANELS
    ]
    assert [trace.text[0] for trace in figure.data if trace.mode == "markers+text"] == ["40.0"] * 4 + ["50.5"] * 4


RECIPES = {"triplet": 40.0, "<fne>": 50.5}


def test_a_cell_of_the_map_has_gain_and_interval_and_is_bold_where_that_leaves_out_zero():
    gain = np.full((2, 3, 3), np.nan)
    gain[0, 0], gain[1, 2], gain[1, 0] = (4, 1, 7.04), (-2.5, -6, 1), (-8, -9, -7)
    found = GainByDensity(np.array([0.17, 2.5]), np.array([256, 2048, 8192]), gain)
    figure = draw_gain_by_density({"RSum": found, "<mAP>": found}, title="t")
    one, other = figure.data
    assert list(one.x) == ["0.17", "2.5"] and list(one.y) == ["256", "2,048", "8,192"]
    np.testing.assert_array_equal(np.array(one.z, dtype=float), gain[..., 0].T)
    assert (one.zmin, one.zmax) == (-8, 8), "zero is white, gain and loss alike"
    plain = [
        [cell.replace('<span style="font-size:10px">', "").replace("</span>", "") for cell in row] for row in one.text
    ]
    assert plain[0] == ["<b>+4.0</b><br>+1.0 … +7.0", "<b>−8.0</b><br>−9.0 … −7.0"]
    assert plain[1] == ["", ""] and plain[2] == ["", "−2.5<br>−6.0 … +1.0"]
    assert words(figure)[:2] == ["RSum", "&lt;mAP&gt;"] and (other.zmin, other.xaxis) == (-8, "x2")
    assert figure.layout.yaxis.title.text == "memory, pairs" and "memory, pairs %{y}" in one.hovertemplate
    rates = found._replace(setting=np.array([1e-4, 3e-4, 1e-3]))
    by_rate = draw_gain_by_density({"RSum": rates}, title="t", setting="learning rate")
    assert list(by_rate.data[0].y) == ["0.0001", "0.0003", "0.001"]
    assert by_rate.layout.yaxis.title.text == "learning rate"
    five = draw_gain_by_density({name: found for name in "abcde"}, title="t")
    assert "+1.0<br>+7.0" in five.data[0].text[0][0], "narrow cells have the ends under each other"
