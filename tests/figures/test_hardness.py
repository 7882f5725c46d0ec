import numpy as np

from itmlab.figures import hardness
from itmlab.figures.theme import BLUE, PALETTE

SCORES = {"matches": np.array([0.5, 0.7]), "<b>odd</b>": np.linspace(-0.5, 0.2, 50), "none": np.zeros(0)}


def test_a_row_a_kind_from_the_top_with_its_mean_marked():
    figure = hardness(SCORES, title="Hardness")
    shapes, means = figure.data[::2], figure.data[1::2]
    assert [min(trace.y) for trace in shapes] == [2, 1, 0]
    np.testing.assert_allclose([max(trace.y) for trace in shapes], [2.82, 1.82, 0])
    np.testing.assert_allclose([trace.x[0] for trace in means[:2]], [0.6, -0.15])
    assert means[2].x[0] is None


def test_known_kinds_have_their_colours_and_others_those_of_the_palette():
    lines = [trace.line.color for trace in hardness(SCORES, title="Hardness").data[::2]]
    assert lines == [BLUE, *PALETTE[1:3]]


def test_names_counts_and_means_are_written_and_nothing_is_markup():
    notes = [note.text for note in hardness(SCORES, title="Hardness").layout.annotations]
    assert "<b>&lt;b&gt;odd&lt;/b&gt;</b>" in notes and "2, mean 0.60" in notes and "50, mean −0.15" in notes
    assert "0, none" in notes


def test_a_mean_that_rounds_to_nothing_has_no_sign():
    notes = [note.text for note in hardness({"noise": np.array([-1e-4])}, title="Hardness").layout.annotations]
    assert "1, mean 0.00" in notes
    assert hardness({}, title="nothing").data == ()
