"""Pointing bars."""

import numpy as np

from itmlab.figures import pointing_bars


def test_shares_are_shown_in_percent_against_chance():
    measures = {"a": {"accuracy": (0.4, 0.3, 0.5), "mass": (0.2, 0.1, 0.25)}}
    figure = pointing_bars(measures, 0.11, title="t")
    accuracy, mass = figure.data
    assert list(accuracy.y) == [40] and list(mass.y) == [20]
    assert np.allclose(mass.error_y.array, [5]) and np.allclose(mass.error_y.arrayminus, [10])
    assert [shape.y0 for shape in figure.layout.shapes] == [11, 11]
