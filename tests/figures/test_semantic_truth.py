"""φ against the truth: distributions and shares are those of the pairs given."""

import numpy as np
import pytest

from itmlab.figures import relevance_by_truth, truth_among_relevant

random = np.random.default_rng(0)
VERDICTS = random.choice([1, 0, -1], 4000, p=[0.2, 0.75, 0.05])
RELEVANCE = np.abs(random.normal(0, 1, 4000)) + (VERDICTS == 1)


def by_row(figure, axis):
    return [trace for trace in figure.data if trace.yaxis == axis]


def test_each_verdict_is_a_distribution_of_its_own():
    figure = relevance_by_truth({"CIDEr": RELEVANCE}, VERDICTS, title="t")
    upper = by_row(figure, "y")
    assert [trace.name for trace in upper] == ["✓ true", "✗ false", "? undecided"]
    assert [sum(trace.y) for trace in upper] == pytest.approx([100, 100, 100])
    assert f"{(VERDICTS == 1).sum():,} ✓ true" in figure.layout.title.text


def test_the_share_of_true_ones_is_counted_among_the_decided():
    figure = relevance_by_truth({"CIDEr": RELEVANCE}, VERDICTS, title="t")
    (lower,) = by_row(figure, "y2")
    true, decided = lower.customdata[:, 1], lower.customdata[:, 2]
    assert lower.y == pytest.approx(100 * true / decided) and (decided >= 10).all()
    assert decided.sum() <= (VERDICTS >= 0).sum()


def test_two_metrics_stand_beside_each_other_and_share_a_legend():
    figure = relevance_by_truth({"CIDEr": RELEVANCE, "<i>SPICE</i>": RELEVANCE / 9}, VERDICTS, title="t")
    assert sum(bool(trace.showlegend) for trace in figure.data) == 3
    assert not any("<i>" in (note.text or "") for note in figure.layout.annotations)


def test_pairs_without_anything_in_common_are_a_figure_too():
    relevance_by_truth({"CIDEr": np.zeros(50)}, np.zeros(50, dtype=int), title="t")


def test_rankings_are_compared_with_a_perfect_one():
    shares = {"CIDEr": {"t2i": np.array([20.0, 10.0])}, "model": {"t2i": np.array([5.0, 4.0])}}
    figure = truth_among_relevant([1, 10], shares, {"t2i": np.array([60.0, 30.0])}, title="t")
    lines = {trace.name: list(trace.y) for trace in figure.data}
    assert lines == {"all true ones first": [60, 30], "CIDEr": [20, 10], "model": [5, 4]}
