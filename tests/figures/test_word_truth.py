"""Words said not to fit and verdicts on sentences, as bars."""

import pytest
import torch

from itmlab.explain.word_truth import WordTruth
from itmlab.figures import word_truth
from itmlab.metrics.share import share


def of(count: int, total: int):
    return share(torch.arange(total) < count)


TRUTH = WordTruth(
    mismatched={
        "kept": of(1, 10),
        "replaced, true": of(0, 0),
        "replaced, undecided": of(2, 4),
        "replaced, false": of(9, 10),
    },
    sentences={"caption": {1: 4, 0: 0, -1: 0}, "made wrong": {1: 1, 0: 2, -1: 1}, "corrected": {1: 3, 0: 1, -1: 0}},
    restored=of(2, 4),
    true={"all": of(3, 4)},
)


def test_bars_are_the_shares_with_the_number_of_words():
    words = word_truth(TRUTH, title="t").data[0]
    assert list(words.x) == [10.0, 0, 50.0, 90.0] and "10 words" in words.y[0]
    assert words.error_x.array[0] == pytest.approx(TRUTH.mismatched["kept"].upper - 10) and words.error_x.array[1] == 0


def test_verdicts_of_each_stage_add_up_to_a_hundred():
    figure = word_truth(TRUTH, title="t")
    by_name = {bar.name: list(bar.x) for bar in figure.data[1:]}
    assert by_name == {"✓ true": [100, 25, 75], "✗ false": [0, 50, 25], "? undecided": [0, 25, 0]}
    assert list(figure.data[1].y) == ["caption", "made wrong", "corrected"]


def test_of_no_words_no_percentage_is_written():
    notes = [note.text for note in word_truth(TRUTH, title="t").layout.annotations]
    assert [note for note in notes if "%" in note] == ["<b>10 %</b>", "<b>50 %</b>", "<b>90 %</b>"]


def test_the_control_is_a_pale_bar_below_each_that_does_not_touch_it():
    control = {name: of(1, 4) for name in TRUTH.mismatched}
    figure = word_truth(TRUTH, title="t", control=control)
    own, pale = figure.data[0], figure.data[-1]
    assert list(pale.x) == [25.0] * 4 and list(pale.y) == list(own.y) and pale.marker.opacity < own.marker.opacity
    assert own.offset + own.width < pale.offset and list(own.x) == list(word_truth(TRUTH, title="t").data[0].x)
    assert own.base == pale.base == 0, "side by side, though the verdicts are stacked"
    assert [note.text for note in figure.layout.annotations].count("25 %") == 4
