"""Recall bars."""

import numpy as np

from itmlab.figures import recall_bars

VALUES = np.array([[40.0, 37, 44], [60, 58, 63], [70, np.nan, np.nan]])


def test_whiskers_reach_the_ends_of_the_interval():
    figure = recall_bars({"fne": {"i2t": VALUES, "t2i": VALUES}}, title="t")
    bar = figure.data[0]
    assert list(bar.y) == [40, 60, 70]
    assert list(np.array(bar.y) + bar.error_y.array)[:2] == [44, 63]
    assert list(np.array(bar.y) - bar.error_y.arrayminus)[:2] == [37, 58]


def test_the_papers_numbers_stand_over_their_recipe():
    paper = {"fne": {"i2t": [84.7, 97.1, 99.1], "t2i": [68.1, 90.0, 94.0]}}
    recalls = {name: {"i2t": VALUES, "t2i": VALUES} for name in ("triplet", "fne")}
    figure = recall_bars(recalls, title="t", paper=paper)
    marks = [trace for trace in figure.data if trace.type == "scatter"]
    assert [mark.offsetgroup for mark in marks] == ["fne", "fne"]
    assert list(marks[0].y) == [84.7, 97.1, 99.1] and sum(bool(mark.showlegend) for mark in marks) == 1
