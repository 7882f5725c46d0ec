"""SAM's margin against Eq. 7 anchor by anchor, and what it does to the triplet hinge."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from itmlab.errors import ItmlabError
from itmlab.losses import adaptive_margin, sampled_triplet

relevance = st.floats(0, 10, width=32)
pairs = st.lists(st.tuples(relevance, relevance), min_size=1, max_size=8)


@given(pairs, st.sampled_from([3.0, 5.0, 10.0]), st.sampled_from([1.0, 0.3]))
def test_it_is_the_difference_over_the_temperature_and_at_most_the_ceiling(given_pairs, temperature, ceiling):
    positive, negative = torch.tensor(given_pairs).T
    margins = adaptive_margin(positive, negative, temperature, ceiling)
    for margin, (match, other) in zip(margins.tolist(), given_pairs, strict=True):
        assert margin == pytest.approx(min((match - other) / temperature, ceiling), abs=1e-5)


def test_a_negative_that_describes_the_image_better_has_a_margin_below_zero():
    margins = adaptive_margin(torch.tensor([1.0, 2.0]), torch.tensor([4.0, 2.0]), temperature=3.0)
    assert margins.tolist() == [-1.0, 0.0]


def test_the_more_alike_the_negative_the_smaller_the_margin():
    margins = adaptive_margin(torch.full((5,), 3.0), torch.tensor([0.0, 0.5, 1.0, 2.0, 3.0]), temperature=10.0)
    assert margins.tolist() == sorted(margins.tolist(), reverse=True)


def test_each_anchor_has_its_own_margin_in_the_hinge():
    """An anchor's loss does not change when the others' margins do."""
    scores = torch.tensor([0.5, 0.4, 0.9]), torch.tensor([0.6, 0.1, 0.2])
    margins = adaptive_margin(torch.tensor([3.0, 2.0, 4.0]), torch.tensor([0.0, 1.0, 0.5]), temperature=5.0)
    together = sampled_triplet(*scores, torch.ones(3).bool(), margins)
    alone = [max(0.0, margins[i] + scores[1][i] - scores[0][i]) for i in range(3)]
    assert together.item() == pytest.approx(sum(alone).item() / 3)
    assert alone[0] > 0 and alone[1] == 0 and alone[2] == 0


def test_what_does_not_fit_is_one_line():
    with pytest.raises(ItmlabError, match=r"two relevances an anchor; got \(2,\) and \(3,\)"):
        adaptive_margin(torch.ones(2), torch.ones(3), 10.0)
    for temperature in (0.0, -1.0, float("nan"), float("inf")):
        with pytest.raises(ItmlabError, match="temperature of an adaptive margin"):
            adaptive_margin(torch.ones(2), torch.ones(2), temperature)
