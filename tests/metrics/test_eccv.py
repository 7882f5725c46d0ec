"""mAP@R and R-Precision against their equations, query by query."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from itmlab.errors import ItmlabError
from itmlab.metrics.eccv import map_at_r, r_precision


def by_query(similarity, positives) -> tuple[float, float]:
    """Both, from a ranking in which a negative stands before a positive of the same score."""
    maps, precisions = [], []
    for row, mask in zip(similarity.tolist(), positives.tolist(), strict=True):
        order = sorted(range(len(row)), key=lambda index: (-row[index], mask[index]))
        hits = [mask[index] for index in order[: sum(mask)]]
        precisions.append(sum(hits) / sum(mask))
        at = [sum(hits[: place + 1]) / (place + 1) if hits[place] else 0 for place in range(sum(mask))]
        maps.append(sum(at) / sum(mask))
    return 100 * sum(maps) / len(maps), 100 * sum(precisions) / len(precisions)


@settings(max_examples=200, deadline=None)
@given(data=st.data())
def test_it_is_the_equations(data):
    source = torch.Generator().manual_seed(data.draw(st.integers(0, 10**6)))
    shape = data.draw(st.integers(1, 6)), data.draw(st.integers(1, 12))
    levels = data.draw(st.sampled_from([1, 3, 1000]))
    similarity = torch.randint(0, levels, shape, generator=source) / levels
    positives = torch.rand(shape, generator=source) < data.draw(st.floats(0, 1))
    positives[range(shape[0]), torch.randint(0, shape[1], shape[:1], generator=source)] = True
    expected = by_query(similarity, positives)
    assert map_at_r(similarity, positives) == pytest.approx(expected[0])
    assert r_precision(similarity, positives) == pytest.approx(expected[1])
    assert map_at_r(similarity.T.contiguous().T, positives) == pytest.approx(expected[0])
    assert map_at_r(similarity, positives) <= r_precision(similarity, positives) + 1e-9


def test_by_hand():
    similarity = torch.tensor([[0.9, 0.8, 0.7, 0.6]])
    positives = torch.tensor([[True, False, True, True]])
    # places 1 to 3 hold a positive, a negative, a positive: precision 1 and 2/3 at the positives
    assert map_at_r(similarity, positives) == pytest.approx(100 * (1 + 2 / 3) / 3)
    assert r_precision(similarity, positives) == pytest.approx(100 * 2 / 3)


def test_a_perfect_ranking_has_all_and_a_model_that_scores_all_alike_nothing():
    positives = torch.rand(20, 50, generator=torch.Generator().manual_seed(0)) < 0.2
    positives[:, 0] = True
    assert map_at_r(positives.float(), positives) == r_precision(positives.float(), positives) == 100
    assert map_at_r(torch.zeros(20, 50), positives) == r_precision(torch.zeros(20, 50), positives) == 0


def test_at_random_it_is_the_share_of_positives():
    source = torch.Generator().manual_seed(0)
    similarity, positives = torch.rand(400, 100, generator=source), torch.arange(100)[None].expand(400, -1) < 20
    assert r_precision(similarity, positives) == pytest.approx(20, abs=1.5)
    assert 0 < map_at_r(similarity, positives) < r_precision(similarity, positives) / 2


def test_what_cannot_be_answered_is_said():
    with pytest.raises(ItmlabError, match="1 of 2 have no positive"):
        map_at_r(torch.rand(2, 3), torch.tensor([[True, False, False], [False, False, False]]))
    with pytest.raises(ItmlabError, match="NaN between query 0 and candidate 1"):
        r_precision(torch.tensor([[0.1, math.nan]]), torch.tensor([[True, False]]))
    with pytest.raises(ItmlabError, match=r"\(2, 3\) and \(3, 2\)"):
        map_at_r(torch.rand(2, 3), torch.rand(3, 2) > 0)
