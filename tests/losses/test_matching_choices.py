"""Yes-or-no matching and choosing among candidates, against slow loops; what is not allowed is not read."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from itmlab.losses.matching_choices import matching_binary, matching_contrast


def slow(kind, positives, negatives, allowed):
    losses = []
    for positive, row, there in zip(positives, negatives, allowed, strict=True):
        taken = [value for value, one in zip(row, there, strict=True) if one]
        if not taken:
            continue
        if kind == "binary":
            wrong = sum(math.log1p(math.exp(value)) for value in taken) / len(taken)
            losses.append((math.log1p(math.exp(-positive)) + wrong) / 2)
        else:
            losses.append(math.log(sum(math.exp(value) for value in [positive, *taken])) - positive)
    return sum(losses) / max(len(losses), 1)


LOSSES = {"binary": matching_binary, "contrast": matching_contrast}


@pytest.mark.parametrize("kind", ["binary", "contrast"])
@given(seed=st.integers(0, 10**6), anchors=st.integers(1, 5), width=st.integers(1, 4))
def test_it_is_the_mean_over_anchors_that_have_negatives(kind, seed, anchors, width):
    generator = torch.Generator().manual_seed(seed)
    positives = 3 * torch.randn(anchors, generator=generator)
    negatives = 3 * torch.randn(anchors, width, generator=generator)
    allowed = torch.rand(anchors, width, generator=generator) < 0.6
    found = LOSSES[kind](positives, negatives, allowed)
    expected = slow(kind, positives.tolist(), negatives.tolist(), allowed.tolist())
    assert found.item() == pytest.approx(expected, rel=1e-4, abs=1e-6)


@pytest.mark.parametrize("kind", ["binary", "contrast"])
def test_what_is_not_allowed_is_not_read(kind):
    positives = torch.zeros(2, requires_grad=True)
    negatives = torch.tensor([[0.5, math.nan], [math.inf, math.nan]], requires_grad=True)
    allowed = torch.tensor([[True, False], [False, False]])
    loss = LOSSES[kind](positives, negatives, allowed)
    loss.backward()
    assert loss.isfinite() and positives.grad.isfinite().all() and positives.grad[1] == 0
    assert negatives.grad[~allowed].tolist() == [0, 0, 0] and negatives.grad[0, 0] > 0
    assert LOSSES[kind](positives, negatives, torch.zeros_like(allowed)).item() == 0


@pytest.mark.parametrize("kind", ["binary", "contrast"])
def test_low_precision_is_not_coarser(kind):
    positives, negatives = torch.tensor([4.0]).bfloat16(), torch.tensor([[-6.0]]).bfloat16()
    assert LOSSES[kind](positives, negatives, torch.ones(1, 1, dtype=torch.bool)).dtype == torch.float32
