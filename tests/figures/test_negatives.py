"""An anchor's negatives, one by one."""

import numpy as np
import pytest

from itmlab.figures import negative_captions, negative_pictures
from itmlab.figures.negatives import percent


@pytest.mark.parametrize(
    ("probability", "shown"),
    [(0.834, "83 %"), (0.0617, "6.2 %"), (0.0023, "0.23 %"), (0.00001, "< 0.01 %"), (1.0, "100 %")],
)
def test_probabilities_keep_the_digits_that_tell_something(probability, shown):
    assert percent(probability) == shown


def test_each_caption_has_its_probability_weight_and_verdict(pictures):
    figure = negative_captions(
        pictures[0],
        ["own <one>"],
        ["a dog", "a <script>"],
        np.array([0.83, 0.002]),
        title="t",
        weights=np.array([0.43, 0.9]),
        verdicts=np.array([1, 0]),
        drawn=np.array([0, 3]),
    )
    texts = [annotation.text for annotation in figure.layout.annotations]
    for expected in ("own &lt;one&gt;", "a &lt;script&gt;", "<b>83 %</b>", "<b>✓ true</b>", "<b>✗ false</b>"):
        assert expected in texts
    assert "weight 0.90 · <b>drawn 3 ×</b>" in texts
    rims = [shape.line.width for shape in figure.layout.shapes if shape.layer == "below"]
    assert rims == [1, 2]


def test_without_a_world_there_are_no_verdicts(pictures):
    figure = negative_captions(pictures[0], [], ["a dog"], np.array([0.5]), title="t")
    assert not any("world" in annotation.text for annotation in figure.layout.annotations)
    assert len(negative_pictures("a dog", pictures[:2], np.array([0.5, 0.1]), title="t").layout.images) == 2


def test_pictures_are_framed_by_verdict(pictures):
    verdicts = np.array([1, 0, -1])
    figure = negative_pictures("a <dog>", pictures[:3], np.array([0.9, 0.2, 0.0]), title="t", verdicts=verdicts)
    assert [shape.line.color for shape in figure.layout.shapes] == ["#009E73", "#D55E00", "#8A94A0"]
    assert "anchor: “a &lt;dog&gt;”" in figure.layout.title.text
