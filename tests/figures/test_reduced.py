"""Reduced training data: every training a point, gains with intervals, and what the paper prints."""

import pytest

from itmlab.figures import reduced_data
from itmlab.figures.reduced import PAPER_GAINS

ROWS = [
    {"share": share, "recipe": recipe, "seed": seed, "RSum": 100 * share + 10 * seed, "Nsum": 50.0 + seed}
    for share in (0.1, 1.0)
    for recipe in ("hardest", "hardest + SAM")
    for seed in range(3)
]
DIFFERENCES = [
    {
        "share": share,
        "recipe": "hardest + SAM",
        "baseline": "hardest",
        "measure": measure,
        "difference": -4.0,
        "lower": -9.0,
        "upper": 2.0,
    }
    for share in (0.1, 1.0)
    for measure in ("RSum", "Nsum")
]


def test_every_seed_is_a_point_and_their_mean_a_line():
    figure = reduced_data(ROWS, DIFFERENCES, title="t")
    line = next(trace for trace in figure.data if trace.name == "hardest" and trace.mode == "lines+markers")
    assert list(line.y) == [20.0, 110.0]
    points = [trace for trace in figure.data if trace.mode == "markers"]
    assert [len(trace.y) for trace in points] == [6] * 4
    drawn = {
        trace.name: trace.line.dash
        for trace in figure.data
        if trace.mode == "lines+markers" and "paper" not in trace.name
    }
    assert drawn == {"hardest": "dot", "hardest + SAM": "solid"}


def test_gains_carry_their_intervals():
    figure = reduced_data(ROWS, DIFFERENCES, title="t")
    gains = next(trace for trace in figure.data if trace.error_y.array is not None)
    assert list(gains.y) == [-4, -4] and list(gains.error_y.array) == [6, 6] and gains.text[0].strip() == "−4"


@pytest.mark.parametrize("paper", [PAPER_GAINS, None])
def test_the_papers_gains_stand_below_where_wanted(paper):
    figure = reduced_data(ROWS, DIFFERENCES, title="t", paper=paper)
    printed = [trace for trace in figure.data if "(paper)" in (trace.name or "")]
    assert len(printed) == (4 if paper else 0)


def test_the_papers_gains_are_those_of_its_tables():
    """SAM, Table 2 (10 %, 25 %) and Table 3 (100 %), RSum: with the margin, and without."""
    printed = {
        "CVSE": {0.1: (303.2, 138.7), 0.25: (383.8, 294.1), 1.0: (478.9, 471.6)},
        "SGR": {0.1: (324.6, 4.2), 0.25: (410.0, 140.6), 1.0: (495.3, 488.4)},
    }
    for model, by_share in printed.items():
        for share, (with_margin, without) in by_share.items():
            assert PAPER_GAINS[model][share][0] == pytest.approx(with_margin - without, abs=0.01)


def test_names_are_words_only():
    hostile = [{**row, "recipe": "<script>"} for row in ROWS]
    figure = reduced_data(hostile, [], title="t", paper=None)
    assert all("<script>" not in (trace.name or "") for trace in figure.data)
