"""Rows, bars and curves by name: what is drawn are the numbers given, with their intervals."""

import math
import re

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from itmlab.metrics.statistics import wilson
from itmlab.studies.kit.bars import (
    ORACLE_LINES,
    draw_calibration,
    draw_curves,
    draw_false_negative_shares,
    draw_gains,
    draw_oracles,
    draw_recall_bars,
    draw_roc,
    draw_training_curves,
)
from tests.studies.reading import words


@settings(deadline=None, max_examples=40)
@given(st.integers(1, 400), st.data())
def test_wilsons_interval_holds_the_shares_that_the_count_does_not_contradict(count: int, data):
    """Its ends are where the score test is just met: |observed − p| = z·sqrt(p(1−p)/n)."""
    hits = data.draw(st.integers(0, count))
    lower, upper = (float(end) for end in wilson(hits / count, count))
    for end in (lower, upper):
        assert -1e-12 <= end <= 1 + 1e-12
        end = min(max(end, 0), 1)
        assert math.isclose(abs(hits / count - end), 1.959964 * math.sqrt(end * (1 - end) / count), abs_tol=1e-7)


def test_a_calibrated_posterior_lies_on_the_diagonal_and_every_pair_is_counted():
    generator = np.random.default_rng(0)
    posterior = generator.uniform(0.02, 0.98, 200_000)
    truth = generator.random(200_000) < posterior
    figure = draw_calibration(posterior, truth, title="t")
    measured = figure.data[1]
    assert np.allclose(measured.customdata[:, 0], measured.customdata[:, 1], atol=0.02)
    assert sum(figure.data[2].y) == 200_000


def test_an_overconfident_posterior_lies_below():
    truth = np.random.default_rng(0).random(10_000) < 0.1
    figure = draw_calibration(np.linspace(0.5, 0.99, 10_000), truth, title="t")
    assert (figure.data[1].customdata[:, 1] < figure.data[1].customdata[:, 0]).all()


def test_certain_posteriors_can_be_drawn():
    figure = draw_calibration(np.array([0.0, 0.0, 1.0, 1.0]), np.array([False, False, True, True]), title="t")
    assert np.isfinite(np.array(figure.data[1].y, dtype=float)).all() and sum(figure.data[2].y) == 4


VALUES = np.array([[40.0, 37, 44], [60, 58, 63], [70, np.nan, np.nan]])


def test_whiskers_reach_the_ends_of_the_interval():
    figure = draw_recall_bars({"fne": {"i2t": VALUES, "t2i": VALUES}}, title="t")
    bar = figure.data[0]
    assert list(bar.y) == [40, 60, 70]
    assert list(np.array(bar.y) + bar.error_y.array)[:2] == [44, 63]
    assert list(np.array(bar.y) - bar.error_y.arrayminus)[:2] == [37, 58]


def test_the_papers_numbers_stand_over_their_recipe():
    paper = {"fne": {"i2t": [84.7, 97.1, 99.1], "t2i": [68.1, 90.0, 94.0]}}
    recalls = {name: {"i2t": VALUES, "t2i": VALUES} for name in ("triplet", "fne")}
    figure = draw_recall_bars(recalls, title="t", paper=paper)
    marks = [trace for trace in figure.data if trace.type == "scatter"]
    assert [mark.offsetgroup for mark in marks] == ["fne", "fne"]
    assert list(marks[0].y) == [84.7, 97.1, 99.1] and sum(bool(mark.showlegend) for mark in marks) == 1


def test_an_oracles_recall_is_a_line_across_the_bars_of_its_cut_off_and_direction():
    oracle = {
        kind: {"i2t": {1: 23.1 + more, 5: 68, 10: 87}, "t2i": {1: 62.2, 5: 88, 20: 99}, "rsum": 424}
        for kind, more in (("truth", 0), ("specific", 74.3))
    }
    figure = draw_recall_bars({"fne": {"i2t": VALUES, "t2i": VALUES}}, title="t", oracle=oracle)
    lines = [(shape.xref, (shape.x0 + shape.x1) / 2, shape.y0, shape.y1) for shape in figure.layout.shapes]
    of_truth = [("x", 0, 23.1, 23.1), ("x", 1, 68, 68), ("x", 2, 87, 87), ("x2", 0, 62.2, 62.2), ("x2", 1, 88, 88)]
    assert lines[:5] == of_truth and lines[5] == ("x", 0, 97.4, 97.4), "no line where there is no bar: R@20"
    assert [shape.name for shape in figure.layout.shapes if shape.showlegend] == [
        name for name, _ in ORACLE_LINES.values()
    ]
    assert {"23", "97", "62"} <= set(words(figure))
    plain = draw_recall_bars({"fne": {"i2t": VALUES, "t2i": VALUES}}, title="t")
    assert not plain.layout.shapes and draw_oracles(plain, oracle).layout.shapes == figure.layout.shapes


@settings(deadline=None, max_examples=40)
@given(st.lists(st.tuples(st.integers(0, 6), st.booleans()), min_size=2, max_size=40))
def test_the_area_is_the_chance_that_a_hidden_positive_outscores_a_true_negative(pairs):
    scores, truth = (np.array(column) for column in zip(*pairs, strict=True))
    figure = draw_roc({"s": scores.astype(float)}, truth, title="t")
    if truth.all() or not truth.any():
        assert len(figure.data) == 1  # only the diagonal
        return
    wins = [(p > n) + 0.5 * (p == n) for p in scores[truth] for n in scores[~truth]]
    area = float(re.search(r"area ([\d.]+)", figure.data[1].name)[1])
    assert abs(area - np.mean(wins)) < 6e-4
    curve = figure.data[1]
    assert (curve.x[0], curve.y[0], curve.x[-1], curve.y[-1]) == (0, 0, 1, 1)


def test_points_are_capped_and_counts_are_said():
    generator = np.random.default_rng(0)
    truth = generator.random(50_000) < 0.1
    figure = draw_roc({"s": generator.random(50_000)}, truth, title="t", points=200)
    assert len(figure.data[1].x) <= 200
    assert f"{truth.sum():,} hidden positives" in figure.layout.title.text


def test_bars_and_whiskers_are_the_numbers_given() -> None:
    shares = {"<b>hardest</b>": (40.0, 35.0, 46.0), "random": (1.0, 0.5, 2.5)}
    figure = draw_false_negative_shares(shares, title="shares")
    (bar,) = figure.data
    assert list(bar.x) == [40.0, 1.0]
    assert list(bar.error_x.array) == [6.0, 1.5] and list(bar.error_x.arrayminus) == [5.0, 0.5]
    assert all("<b>" not in name for name in bar.y)
    assert [note.text for note in figure.layout.annotations if note.text] == ["40.0 %", "1.0 %"]


def test_the_line_is_the_mean_and_the_band_goes_from_lowest_to_highest():
    loss, recall = np.array([[3.0, 2, 1], [5, 2, 0]]), np.array([[1.0, 2, 3], [3, 4, 5]])
    figure = draw_training_curves({"fne": loss}, {"fne": recall}, title="t")
    band, line = figure.data[0], figure.data[1]
    assert list(line.y) == [4, 2, 0.5] and list(line.x) == [1, 2, 3]
    assert list(band.y) == [5, 2, 1, 0, 2, 3]


def test_one_seed_has_no_band_and_may_be_a_plain_row():
    figure = draw_training_curves({"a": np.array([2.0, 1])}, {"a": np.array([5.0, 6])}, title="t")
    assert len(figure.data) == 2


def test_recipes_may_run_for_different_numbers_of_epochs_and_are_named_once():
    curves = {"a": np.ones((1, 3)), "b<": np.ones((1, 5))}
    figure = draw_training_curves(curves, curves, title="t")
    assert [trace.name for trace in figure.data if trace.showlegend] == ["a", "b&lt;"]
    assert [len(trace.x) for trace in figure.data] == [3, 5, 3, 5]


def test_gains_are_drawn_by_heading_and_coloured_by_what_their_interval_decides():
    gains = {
        "1e-4": {"helps": {"RSum": (2.0, 1.0, 3.0)}, "nothing": {"RSum": (0.5, -1.0, 2.0)}},
        "1e-3": {"hurts": {"RSum": (-9.0, -12.0, -6.0)}, "not compared": {}},
    }
    figure = draw_gains(gains, {"RSum": "sum of recalls"}, title="t", printed={"hurts": {"RSum": 40.0}})
    assert [re.sub("<.*?>", "", name) for name in figure.layout.yaxis.ticktext] == [
        *("1e-4", "helps", "nothing", "1e-3", "hurts", "not compared")
    ]
    dots = {trace.x[0]: trace for trace in figure.data if trace.mode == "markers"}
    assert set(dots) == {2.0, 0.5, -9.0, 40.0} and dots[40.0].marker.symbol == "diamond"
    shades = [dots[value].marker.color for value in (2.0, 0.5, -9.0)]
    assert len(set(shades)) == 3 and dots[-9.0].error_x.arrayminus[0] == 3.0
    low, high = figure.layout.xaxis.range
    assert low < -12 and high > 40  # a paper's number is in sight too


def test_curves_run_over_what_is_given_with_one_colour_a_name_and_some_drawn_wide():
    panels = {"area": {"posterior": np.ones((2, 3)), "similarity": np.ones(3)}, "taken": {"similarity": np.zeros(3)}}
    figure = draw_curves(panels, [20, 40, 80], title="t", axis="step", wide=["posterior"])
    band, *lines = figure.data
    assert list(band.x) == [20, 40, 80, 80, 40, 20] and all(list(line.x) == [20, 40, 80] for line in lines)
    assert [line.name for line in lines] == ["posterior", "similarity", "similarity"]
    assert [line.showlegend for line in lines] == [True, True, False]
    assert lines[0].line.width > lines[1].line.width and lines[1].line.color == lines[2].line.color
    assert figure.layout.xaxis.title.text == "step" and "after step" in lines[0].hovertemplate
