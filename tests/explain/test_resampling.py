"""Intervals over images: exact where they can be told, wider where cases of an image hang together."""

import numpy as np
import pytest

from itmlab.explain.resampling import interval


def test_one_value_everywhere_has_no_width():
    found = interval(np.full(20, 3.0), np.arange(20))
    assert (found.value, found.lower, found.upper) == (3, 3, 3)


def test_it_is_near_the_textbooks_interval_of_a_mean():
    values = np.random.default_rng(0).normal(size=400)
    found = interval(values, np.arange(400), times=2000)
    half = 1.96 * values.std(ddof=1) / 20
    assert found.value == pytest.approx(values.mean())
    assert found.upper - found.value == pytest.approx(half, rel=0.15)
    assert found.value - found.lower == pytest.approx(half, rel=0.15)


def test_copies_within_an_image_tell_nothing_new():
    values = np.random.default_rng(1).normal(size=50)
    single = interval(values, np.arange(50))
    copied = interval(np.repeat(values, 10), np.repeat(np.arange(50), 10))
    assert copied.upper - copied.lower == pytest.approx(single.upper - single.lower, rel=1e-6)


def test_any_statistic_in_any_order_of_cases_and_nothing_of_nothing():
    values, images = np.array([1.0, 9, 2, 8]), np.array([0, 1, 0, 1])
    found = interval(values, images, np.median)
    assert found.value == 5 and found.lower == 1.5 and found.upper == 8.5
    assert np.isnan(interval(np.zeros(0), np.zeros(0)).value)
