"""Distributions: what phrases captions have, and what share of the words maskings hide."""

import numpy as np
import pytest

from itmlab.figures import masked_shares, phrase_kinds


def test_a_bar_for_each_kind_of_each_set_of_captions():
    figure = phrase_kinds({"scenes": {"object": 2.0, "relation": 1.0}, "<b>": {"object": 3.0}}, title="t")
    assert [list(bar.y) for bar in figure.data] == [[2.0, 1.0], [3.0]]
    assert list(figure.data[0].x) == ["objects", "relations"] and "&lt;b&gt;" in figure.data[1].text[0]


def test_bars_are_percentages_of_the_maskings_and_lines_stand_at_the_means():
    shares = {"scenes": {"phrases": np.array([0.11, 0.12, 0.31, 1.0]), "words": np.array([0.2])}}
    figure = masked_shares(shares, {"scenes": {"phrases": 0.17, "words": 0.16}}, title="t")
    phrases, words = figure.data
    assert sum(phrases.y) == pytest.approx(100) and phrases.y[2] == 50 and words.y[4] == 100
    assert phrases.y[-1] == 25 and phrases.x[-1] == 62.5  # a share of 1, where all from 0.6 are
    assert sorted(shape.x0 for shape in figure.layout.shapes) == [16, 17]


def test_two_sets_stand_side_by_side_and_each_way_is_named_once():
    shares = {name: {"phrases": np.array([0.1]), "words": np.array([0.2])} for name in ("one", "two")}
    figure = masked_shares(shares, {name: {"phrases": 0.1, "words": 0.2} for name in shares}, title="t")
    assert [bar.showlegend for bar in figure.data] == [True, True, False, False]
