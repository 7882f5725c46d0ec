"""A batch around an anchor as a figure."""

import numpy as np
import pytest
import torch

from itmlab.explain import Surroundings
from itmlab.figures import surroundings

random = np.random.default_rng(0)


def batch(synthetic: int = 3, *, world: bool = True) -> Surroundings:
    """Ten candidates, numbered from 100 and scored 0.0, 0.1, … 0.9: the last two positives, all above 0.45 hard."""
    positives = torch.arange(10) >= 8
    scores = torch.arange(10) / 10
    return Surroundings(
        anchor=0,
        direction="image",
        index=torch.arange(100, 110),
        positives=positives,
        hard=~positives & (scores > 0.45),
        true=(torch.arange(10) == 6) if world else None,
        scores=scores,
        synthetic_scores=torch.linspace(0.2, 0.7, synthetic),
        threshold=0.45,
        anchor_place=np.zeros((1, 2)),
        places=random.normal(size=(10, 2)),
        synthetic_places=random.normal(size=(synthetic, 2)),
    )


def named(figure, name):
    return next(trace for trace in figure.data if (trace.name or "").startswith(name))


def test_the_map_tells_the_kinds_apart():
    figure = surroundings(batch(), title="t")
    numbers = {kind: named(figure, kind).customdata.tolist() for kind in ("positives", "hard", "easy")}
    assert numbers == {"positives": [108, 109], "hard": [105, 106, 107], "easy": [100, 101, 102, 103, 104]}
    assert named(figure, "hard").name == "hard negatives (3)"
    assert len(named(figure, "synthesised").x) == 3 and len(named(figure, "anchor").x) == 1


def test_true_negatives_have_a_rim_of_their_own():
    figure = surroundings(batch(), title="t")
    rims = named(figure, "hard").marker.line.color
    assert rims[1] not in (rims[0], rims[2]) and rims[0] == rims[2]
    assert named(figure, "true, not annotated").marker.line.color == rims[1]
    unknown = surroundings(batch(world=False), title="t")
    assert not any("true" in (trace.name or "") for trace in unknown.data)


def test_the_histogram_counts_every_negative_and_no_bin_is_both_hard_and_easy():
    figure = surroundings(batch(), title="t")
    easy, hard = (trace for trace in figure.data if trace.type == "bar")
    assert sum(easy.y) == 5 and sum(hard.y) == 3
    assert not any(one and other for one, other in zip(easy.y, hard.y, strict=True))
    edges = np.asarray(easy.x) - 0.025
    assert np.isclose(edges, 0.45).any()


def test_positives_and_synthesised_ones_stand_below_at_their_similarity():
    figure = surroundings(batch(), title="t")
    below = [list(trace.x) for trace in figure.data if trace.type == "scatter" and trace.yaxis == "y3"]
    assert below[0] == pytest.approx([0.2, 0.45, 0.7]) and below[1] == pytest.approx([0.8, 0.9])
    assert list(figure.layout.yaxis3.ticktext) == ["synthesised", "positives"]


def test_without_synthesised_ones_nothing_speaks_of_them():
    figure = surroundings(batch(0), title="t")
    assert not any("synthesised" in (trace.name or "") for trace in figure.data)
    assert list(figure.layout.yaxis3.ticktext) == ["positives"]


def test_ids_are_shown_and_take_no_effect():
    ids = [f"<a>{number}" for number in range(110)]
    assert named(surroundings(batch(), title="t", ids=ids), "positives").text[0] == "&lt;a&gt;108: 0.80"
