"""Shares of replaced, kept and all words, what a lazy model gets, and the paper's numbers."""

import pytest
import torch

from itmlab.figures import word_accuracy
from itmlab.metrics import word_correction_accuracy
from itmlab.metrics.discrimination import WordAccuracy
from itmlab.metrics.share import share

NONE = share(torch.zeros(0).bool())


def accuracy(replaced: list[bool], kept: list[bool]) -> WordAccuracy:
    return WordAccuracy(*(share(torch.tensor(row, dtype=torch.bool)) for row in (replaced + kept, replaced, kept)))


ALL = accuracy([True, False], [True, True, True, False])
ROWS = {"all words": ALL, "<b>elsewhere</b>": WordAccuracy(all=ALL.kept, replaced=NONE, kept=ALL.kept)}


def test_points_stand_at_the_shares_with_their_intervals():
    figure = word_accuracy({"word discrimination": ROWS, "word correction": ROWS}, title="t")
    by_name = {trace.name: trace for trace in figure.data[:4]}
    assert list(by_name["replaced words"].x) == [50.0] and list(by_name["kept words"].x) == [75.0, 75.0]
    assert list(by_name["all words"].x) == pytest.approx([400 / 6, 75.0])
    bars = by_name["all words"].error_x
    assert 400 / 6 + bars.array[0] == pytest.approx(ALL.all.upper)
    assert 400 / 6 - bars.arrayminus[0] == pytest.approx(ALL.all.lower)


def test_the_grey_line_is_what_calling_every_word_kept_would_reach():
    sentences = torch.tensor([[5, 6, 7], [5, 5, 5]])
    original = torch.tensor([[5, 6, 6], [5, 5, 6]])
    copied = word_correction_accuracy(sentences, sentences, original, torch.ones(2, 3).bool())
    figure = word_accuracy({"word correction": {"all words": copied}}, title="t")
    assert copied.all.percent == pytest.approx(figure.data[3].x[0]) and figure.data[3].name.startswith("all words, if")


def test_the_papers_numbers_are_dashed_unless_unwanted():
    def lines(**options) -> list[float]:
        figure = word_accuracy({"word discrimination": ROWS, "word correction": ROWS}, title="t", **options)
        return [shape.x0 for shape in figure.layout.shapes if shape.line.dash == "dash"]

    assert lines() == [66.5, 87.3] and lines(paper=None) == [] and lines(paper={"word correction": 9.0}) == [9.0]


def test_names_are_escaped():
    figure = word_accuracy({"<i>task</i>": ROWS}, title="t")
    assert figure.layout.yaxis.ticktext[1] == "&lt;b&gt;elsewhere&lt;/b&gt;"
    assert "&lt;i&gt;task&lt;/i&gt;" in [note.text for note in figure.layout.annotations]
