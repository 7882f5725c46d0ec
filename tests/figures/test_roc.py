"""The receiver operating characteristic."""

import re

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from itmlab.figures import roc


@settings(deadline=None, max_examples=40)
@given(st.lists(st.tuples(st.integers(0, 6), st.booleans()), min_size=2, max_size=40))
def test_the_area_is_the_chance_that_a_hidden_positive_outscores_a_true_negative(pairs):
    scores, truth = (np.array(column) for column in zip(*pairs, strict=True))
    figure = roc({"s": scores.astype(float)}, truth, title="t")
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
    figure = roc({"s": generator.random(50_000)}, truth, title="t", points=200)
    assert len(figure.data[1].x) <= 200
    assert f"{truth.sum():,} hidden positives" in figure.layout.title.text
