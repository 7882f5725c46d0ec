"""Figure 1a: dots where their scores are, shares above and below the lines counted by hand."""

import numpy as np
import pytest
import torch

from itmlab.errors import ItmlabError
from itmlab.explain import Made
from itmlab.figures import Pairs, score_scatter
from itmlab.synthesis import Negative
from tests.explain.small_world import small_set


def panels(figure):
    return [note.text for note in figure.layout.annotations]


def test_a_dot_a_triple_and_shares_beside_the_lines():
    pairs = Pairs(np.array([0.5, 0.6, 0.7, 0.8]), np.array([0.5, 0.7, 0.66, 0.2]))
    figure = score_scatter({"batch <1>": pairs}, title="t")
    (dots,) = figure.data
    assert list(dots.x) == [0.5, 0.6, 0.7, 0.8] and list(dots.y) == [0.5, 0.7, 0.66, 0.2]
    assert panels(figure) == ["<b>batch &lt;1&gt;</b><br>50 % at least as high<br>25 % more than 0.05 below"]
    assert not dots.showlegend and figure.layout.xaxis.range == figure.layout.yaxis.range


def test_dots_have_the_colour_of_the_verdict_and_each_is_named_once():
    pairs = Pairs(np.full(3, 0.5), np.array([0.1, 0.2, 0.3]), np.array([0, 1, 0]))
    figure = score_scatter({"one": pairs, "two": pairs}, title="t")
    named = [(trace.name, trace.showlegend, list(trace.y)) for trace in figure.data]
    assert named == [
        ("false of the picture: a true negative", True, [0.1, 0.3]),
        ("true: a false negative", True, [0.2]),
        ("false of the picture: a true negative", False, [0.1, 0.3]),
        ("true: a false negative", False, [0.2]),
    ]
    assert len(figure.layout.shapes) == 4


def test_the_hardest_of_each_caption_that_has_negatives():
    data = small_set(2)
    rows = [[Negative("a", 0, 0, score=0.9, truth=True), Negative("b", 0, 0, score=0.1, truth=False)], []]
    made = Made(data, "vse_c", (0, 2), rows, torch.tensor([0.5, 0.6]), object())
    pairs = Pairs.of(made)
    assert pairs.positive.tolist() == [0.5] and np.allclose(pairs.negative, [0.9]) and pairs.verdicts.tolist() == [1]
    assert np.allclose(Pairs.of(made, logits=True).negative, [0.9])


def test_no_pair_is_one_line():
    with pytest.raises(ItmlabError, match="no pair to draw"):
        score_scatter({"none": Pairs(np.zeros(0), np.zeros(0))}, title="t")
