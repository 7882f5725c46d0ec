"""Shares with Wilson's interval, and what pairs of one image do to it."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from itmlab.errors import ItmlabError
from itmlab.metrics import share


@settings(max_examples=60, deadline=None)
@given(of=st.integers(1, 400), part=st.floats(0, 1))
def test_the_ends_solve_wilsons_equation(of, part):
    """|p - end| = z·√(end(1 - end) / n) at both ends."""
    count = round(of * part)
    found = share(torch.arange(of) < count)
    assert (found.count, found.of, found.percent) == (count, of, pytest.approx(100 * count / of))
    assert 0 <= found.lower <= found.percent <= found.upper <= 100
    for end in (found.lower / 100, found.upper / 100):
        distance = 1.959964 * math.sqrt(max(end * (1 - end), 0) / of)
        assert abs(count / of - end) == pytest.approx(distance, abs=1e-6)


def test_the_papers_judgement_of_two_hundred_sentences():
    found = share(torch.arange(200) < 193)
    assert (found.percent, round(found.lower, 1), round(found.upper, 1)) == (96.5, 93.0, 98.3)
    assert str(found) == "96.5 % [93.0, 98.3] of 200"


def test_cases_alone_on_their_image_change_next_to_nothing():
    holds = torch.rand(500, generator=torch.Generator().manual_seed(0)) < 0.7
    alone, plain = share(holds, torch.arange(500)), share(holds)
    assert (alone.lower, alone.upper) == (pytest.approx(plain.lower, abs=0.05), pytest.approx(plain.upper, abs=0.05))


def test_ten_copies_of_each_image_are_worth_the_images():
    holds = torch.rand(100, generator=torch.Generator().manual_seed(0)) < 0.7
    copies = share(holds.repeat_interleave(10), torch.arange(100).repeat_interleave(10))
    once = share(holds)
    assert (copies.lower, copies.upper) == (pytest.approx(once.lower, abs=0.2), pytest.approx(once.upper, abs=0.2))


@pytest.mark.parametrize("value", [True, False])
def test_where_all_agree_the_interval_is_that_of_the_images(value):
    found = share(torch.full((60,), value), torch.arange(20).repeat_interleave(3))
    once = share(torch.full((20,), value))
    assert (found.lower, found.upper) == (once.lower, once.upper)
    assert found.lower < found.upper


def test_the_interval_covers_the_truth_though_cases_hang_together():
    """400 times 60 images of 10 cases with a rate each: near 95 % with the images, far from it without."""
    source, inside = torch.Generator().manual_seed(3), torch.zeros(2)
    images = torch.arange(60).repeat_interleave(10)
    for _ in range(400):
        rates = (torch.rand(60, generator=source) < 0.5).float() * 0.4 + 0.5  # 0.5 or 0.9, on average 0.7
        holds = torch.rand(600, generator=source) < rates.repeat_interleave(10)
        inside += torch.tensor([a.lower <= 70 <= a.upper for a in (share(holds, images), share(holds))])
    assert 0.92 <= inside[0] / 400 <= 0.98 and inside[1] / 400 < 0.9


def test_of_nothing_there_is_no_share():
    found = share(torch.zeros(0))
    assert math.isnan(found.percent) and found.of == 0 and str(found) == "none of 0"
    assert share(torch.ones(3), torch.zeros(3)).of == 3
    with pytest.raises(ItmlabError, match="as many images as cases"):
        share(torch.ones(3), torch.zeros(2))
