"""The reliability curve."""

import math

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from itmlab.figures import calibration
from itmlab.figures.calibration import wilson


@settings(deadline=None, max_examples=40)
@given(st.integers(1, 400), st.data())
def test_wilsons_interval_holds_the_shares_that_the_count_does_not_contradict(count: int, data):
    """Its ends are where the score test is just met: |observed − p| = z·sqrt(p(1−p)/n)."""
    hits = data.draw(st.integers(0, count))
    lower, upper = (float(end) for end in wilson(np.array(hits), np.array(count)))
    for end in (lower, upper):
        assert -1e-12 <= end <= 1 + 1e-12
        end = min(max(end, 0), 1)
        assert math.isclose(abs(hits / count - end), 1.959964 * math.sqrt(end * (1 - end) / count), abs_tol=1e-7)


def test_a_calibrated_posterior_lies_on_the_diagonal_and_every_pair_is_counted():
    generator = np.random.default_rng(0)
    posterior = generator.uniform(0.02, 0.98, 200_000)
    truth = generator.random(200_000) < posterior
    figure = calibration(posterior, truth, title="t")
    measured = figure.data[1]
    assert np.allclose(measured.customdata[:, 0], measured.customdata[:, 1], atol=0.02)
    assert sum(figure.data[2].y) == 200_000


def test_an_overconfident_posterior_lies_below():
    truth = np.random.default_rng(0).random(10_000) < 0.1
    figure = calibration(np.linspace(0.5, 0.99, 10_000), truth, title="t")
    assert (figure.data[1].customdata[:, 1] < figure.data[1].customdata[:, 0]).all()


def test_certain_posteriors_can_be_drawn():
    figure = calibration(np.array([0.0, 0.0, 1.0, 1.0]), np.array([False, False, True, True]), title="t")
    assert np.isfinite(np.array(figure.data[1].y, dtype=float)).all() and sum(figure.data[2].y) == 4
