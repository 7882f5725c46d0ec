"""Densities, posterior and weight over one axis."""

import numpy as np
import pytest

from itmlab.explain import curves
from itmlab.figures import false_negative_probability
from itmlab.figures.posterior import SHOWN
from itmlab.samplers import Statistics

STATISTICS = Statistics(0.7, 0.08, 0.4, 0.1)


def drawn(**options):
    generator = np.random.default_rng(0)
    made = curves(STATISTICS, 0.72, **options)
    return made, lambda **more: false_negative_probability(
        made, generator.normal(0.7, 0.08, 500), generator.normal(0.4, 0.1, 800), title="t", **more
    )


def test_regions_meet_where_the_posterior_passes_the_threshold_and_one_half():
    made, figure = drawn(prior=1e-3, threshold=0.01)
    easy, hard, false = figure().layout.shapes[:3]
    assert easy.x1 == hard.x0 and hard.x1 == false.x0
    assert made.monotone[made.similarity < hard.x0].max() < 0.01 <= made.monotone[made.similarity >= hard.x0].min()
    assert made.monotone[made.similarity < false.x0].max() < 0.5 <= made.monotone[made.similarity >= false.x0].min()


@pytest.mark.parametrize("options", [{"prior": 1e-6}, {"prior": 0.3}, {"threshold": 0.56}, {"preset": "released"}])
def test_the_number_of_traces_and_shapes_never_changes(options):
    """So a widget can update the figure in place."""
    _, usual = drawn()
    _, other = drawn(**options)
    few = {"scores": np.array([0.5]), "weights": np.array([1.0]), "verdicts": np.array([1]), "drawn": [0]}
    figures = usual(), other(**few)
    assert len({len(figure.data) for figure in figures}) == 1
    assert len({len(figure.layout.shapes) for figure in figures}) == 1
    assert len({len(figure.layout.annotations) for figure in figures}) == 1


def test_candidates_are_coloured_by_verdict_and_capped():
    _, figure = drawn()
    scores = np.linspace(-1, 1, 3 * SHOWN)
    verdicts = np.tile([1, 0, -1], SHOWN)
    made = figure(scores=scores, weights=np.ones_like(scores), verdicts=verdicts, drawn=[7, 7, 0])
    points = {trace.name: trace for trace in made.data if trace.type == "scatter" and trace.mode == "markers"}
    assert sum(len(points[name].x) for name in ("true", "false", "undecided")) == SHOWN
    assert min(min(points[name].x) for name in ("true", "false")) >= np.sort(scores)[-SHOWN]
    assert list(points["drawn"].x) == [scores[0], scores[7]]


def test_histograms_are_densities():
    _, figure = drawn()
    bars = [trace for trace in figure().data if trace.type == "bar"]
    for bar in bars:
        assert abs(sum(bar.y) * bar.width - 1) < 0.02  # all of it lies inside the span but for a tail
