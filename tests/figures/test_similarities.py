"""Similarities of negatives and positives as a figure."""

import numpy as np
import pytest

from itmlab.figures import similarities

random = np.random.default_rng(0)


def test_each_kind_adds_up_to_all_of_its_pairs_in_every_panel():
    negatives = {"before": random.normal(0, 0.1, 500), "after": random.normal(0, 0.3, 500)}
    positives = {"before": random.normal(0, 0.1, 40), "after": random.normal(0.5, 0.1, 40)}
    figure = similarities(negatives, positives, title="t")
    assert [trace.name for trace in figure.data] == ["negatives", "positives"] * 2
    assert [sum(trace.y) for trace in figure.data] == pytest.approx([100] * 4)
    assert len({tuple(trace.x) for trace in figure.data}) == 1
    assert [bool(trace.showlegend) for trace in figure.data] == [True, True, False, False]


@pytest.mark.parametrize("values", [np.zeros(0), np.ones(3)])
def test_no_pairs_or_equal_ones_are_a_figure_too(values):
    figure = similarities({"<b>": values}, {"<b>": values}, title="t")
    assert "<b>" not in figure.layout.annotations[0].text
