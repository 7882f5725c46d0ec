"""Training curves."""

import numpy as np

from itmlab.figures import training_curves


def test_the_line_is_the_mean_and_the_band_goes_from_lowest_to_highest():
    loss, recall = np.array([[3.0, 2, 1], [5, 2, 0]]), np.array([[1.0, 2, 3], [3, 4, 5]])
    figure = training_curves({"fne": loss}, {"fne": recall}, title="t")
    band, line = figure.data[0], figure.data[1]
    assert list(line.y) == [4, 2, 0.5] and list(line.x) == [1, 2, 3]
    assert list(band.y) == [5, 2, 1, 0, 2, 3]


def test_one_seed_has_no_band_and_may_be_a_plain_row():
    figure = training_curves({"a": np.array([2.0, 1])}, {"a": np.array([5.0, 6])}, title="t")
    assert len(figure.data) == 2


def test_recipes_may_run_for_different_numbers_of_epochs_and_are_named_once():
    curves = {"a": np.ones((1, 3)), "b<": np.ones((1, 5))}
    figure = training_curves(curves, curves, title="t")
    assert [trace.name for trace in figure.data if trace.showlegend] == ["a", "b&lt;"]
    assert [len(trace.x) for trace in figure.data] == [3, 5, 3, 5]
