"""Figures of unannotated truth."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from itmlab.figures import true_images, truth_by_knob


def bounds(name: str) -> tuple[int, int]:
    low, _, high = name.split(":")[0].partition("–")
    return int(low), int(high or low)


@settings(deadline=None, max_examples=40)
@given(st.lists(st.integers(1, 500), min_size=1, max_size=60))
def test_every_caption_is_counted_in_the_step_its_number_falls_in(numbers: list[int]):
    bars = true_images(np.array(numbers), title="t").data[0]
    for name, share in zip(bars.x, bars.y, strict=True):
        low, high = bounds(name)
        assert np.isclose(share, 100 * sum(low <= number <= high for number in numbers) / len(numbers))
    assert np.isclose(sum(bars.y), 100)


def test_one_line_a_quantity_over_the_knob():
    figure = truth_by_knob([0, 1], {"a<b": [0.5, 2], "c": [1, 3]}, title="t")
    assert [line.name for line in figure.data] == ["a&lt;b", "c"]
    assert list(figure.data[1].y) == [1, 3]
