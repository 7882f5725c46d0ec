"""Difficulty over the steps of training as a figure."""

import numpy as np
import pytest

from itmlab.explain import DifficultyHistory
from itmlab.figures import difficulty

STEPS = np.arange(10, 100, 10)
SHARP = DifficultyHistory(STEPS, np.tile([0, 0, 6, 2, 0, 0, 0, 0], (9, 1)))
WIDE = DifficultyHistory(STEPS, np.tile([0, 5, 5, 5, 5, 5, 0, 0], (9, 1)))


def heatmaps(figure):
    return [trace for trace in figure.data if trace.type == "heatmap"]


def test_every_column_adds_up_to_all_negatives_and_panels_share_a_scale():
    sharp, wide = heatmaps(difficulty({"static": SHARP, "dynamic": WIDE}, title="t"))
    for heatmap in (sharp, wide):
        assert np.asarray(heatmap.z).sum(axis=0) == pytest.approx(np.full(9, 100))
        assert heatmap.zmin == 0 and heatmap.zmax == pytest.approx(75)
    assert list(sharp.x) == STEPS.tolist() and np.asarray(sharp.z)[2, 0] == pytest.approx(75)


def test_the_median_is_drawn_in_every_panel_and_named_once():
    figure = difficulty({"static": SHARP, "<b>dynamic</b>": WIDE}, title="t")
    solid = [trace for trace in figure.data if trace.type == "scatter" and trace.line.dash == "solid"]
    assert [bool(trace.showlegend) for trace in solid] == [True, False]
    assert list(solid[0].y) == pytest.approx(SHARP.quantile(0.5).tolist())
    assert not any("<b>" in note.text for note in figure.layout.annotations)


def test_the_axis_reaches_over_all_that_holds_anything_and_over_zero():
    low, high = difficulty({"static": SHARP}, title="t").layout.yaxis.range
    assert low == pytest.approx(-0.52) and high > 0


def test_a_single_stray_negative_does_not_stretch_the_axis():
    stray = SHARP.counts * 1000
    stray[0, 0] = 1
    low, _ = difficulty({"static": DifficultyHistory(STEPS, stray)}, title="t").layout.yaxis.range
    assert low == pytest.approx(-0.52)


def test_long_runs_are_drawn_in_few_columns():
    steps = np.arange(5000)
    (heatmap,) = heatmaps(difficulty({"one": DifficultyHistory(steps, np.ones((5000, 8), dtype=int))}, title="t"))
    assert len(heatmap.x) <= 60


@pytest.mark.parametrize("histories", [{}, {"none": DifficultyHistory(STEPS, np.zeros((9, 8), dtype=int))}])
def test_nothing_recorded_is_a_figure_too(histories):
    assert difficulty(histories, title="t").layout.height
