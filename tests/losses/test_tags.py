"""TAGS-DC's matching losses against loops over Eqs. 3, 4, 5 and 7, what stands in for them, and Eq. 10."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from itmlab.errors import ItmlabError
from itmlab.losses import (
    LossWeights,
    matching_binary,
    matching_contrast,
    retrieved_matching,
    synthetic_matching,
    weighted_sum,
)


def sigmoid(value: float) -> float:
    return 1 / (1 + math.exp(-value))


def triplet(positive: float, negative: float, margin: float) -> float:
    """Eq. 4 with Eq. 3 inside it."""
    return max(margin - sigmoid(positive) + sigmoid(negative), 0)


def one_direction(positives: list, negatives: list, allowed: list, margin: float) -> float:
    """Per anchor the mean over its negatives (Eq. 7), mean over the anchors that have one."""
    means = []
    for positive, row, mask in zip(positives, negatives, allowed, strict=True):
        hinges = [triplet(positive, negative, margin) for negative, may in zip(row, mask, strict=True) if may]
        if hinges:
            means.append(sum(hinges) / len(hinges))
    return sum(means) / len(means) if means else 0.0


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    anchors=st.integers(1, 5),
    captions=st.integers(0, 6),
    images=st.integers(0, 6),
    share=st.floats(0, 1),
    margin=st.floats(0, 1),
)
def test_they_are_the_loops(seed, anchors, captions, images, share, margin):
    source = torch.Generator().manual_seed(seed)

    def drawn(*shape):
        return torch.randn(shape, dtype=torch.float64, generator=source) * 2

    positive, by_caption, by_image = drawn(anchors), drawn(anchors, captions), drawn(anchors, images)
    may_caption = torch.rand(anchors, captions, generator=source) < share
    may_image = torch.rand(anchors, images, generator=source) < share
    from_image = one_direction(positive.tolist(), by_caption.tolist(), may_caption.tolist(), margin)
    from_caption = one_direction(positive.tolist(), by_image.tolist(), may_image.tolist(), margin)
    retrieved = retrieved_matching(positive, by_caption, by_image, may_caption, may_image, margin)
    assert retrieved.item() == pytest.approx(from_image + from_caption)
    assert synthetic_matching(positive, by_caption, may_caption, margin).item() == pytest.approx(from_image)
    every = one_direction(positive.tolist(), by_caption.tolist(), [[True] * captions] * anchors, 0.2)
    assert synthetic_matching(positive, by_caption).item() == pytest.approx(every)


def test_the_margin_is_02_in_probability_not_in_logits():
    assert synthetic_matching(torch.tensor([30.0]), torch.tensor([[25.0]])).item() == pytest.approx(0.2, abs=1e-6)
    assert synthetic_matching(torch.tensor([1.0]), torch.tensor([[0.0]])).item() == 0


def test_what_is_not_allowed_is_not_read_nor_does_an_anchor_without_any_count():
    positive = torch.tensor([0.5, 0.1], requires_grad=True)
    negative = torch.tensor([[0.7, math.nan], [math.inf, math.nan]], requires_grad=True)
    allowed = torch.tensor([[True, False], [False, False]])
    value = synthetic_matching(positive, negative, allowed)
    value.backward()
    assert value.item() == pytest.approx(triplet(0.5, 0.7, 0.2))
    assert negative.grad.isfinite().all() and (negative.grad[~allowed] == 0).all() and positive.grad[1] == 0


@pytest.mark.parametrize("shape", [(0, 0), (2, 0), (0, 3)])
def test_without_any_negative_it_is_zero_and_has_a_gradient(shape):
    positive, negative = torch.rand(shape[0], requires_grad=True), torch.rand(shape, requires_grad=True)
    value = synthetic_matching(positive, negative)
    value.backward()
    assert value.item() == 0 and positive.grad is not None


def test_gradients_are_right_and_half_precision_makes_a_single_precision_loss():
    positive = torch.randn(3, dtype=torch.float64, requires_grad=True)
    negative = torch.randn(3, 4, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda p, n: synthetic_matching(p, n, margin=1.0), (positive, negative))
    assert synthetic_matching(positive.bfloat16(), negative.bfloat16()).dtype == torch.float32


def slow(kind, positives, negatives, allowed):
    losses = []
    for positive, row, allowed_row in zip(positives, negatives, allowed, strict=True):
        taken = [value for value, is_allowed in zip(row, allowed_row, strict=True) if is_allowed]
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
    result = LOSSES[kind](positives, negatives, allowed)
    expected = slow(kind, positives.tolist(), negatives.tolist(), allowed.tolist())
    assert result.item() == pytest.approx(expected, rel=1e-4, abs=1e-6)


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


NAMES = ("retrieved", "masked_language", "synthetic", "discrimination", "correction")
number = st.floats(0, 10)


@settings(max_examples=50, deadline=None)
@given(values=st.tuples(*[number] * 5), weights=st.tuples(*[st.sampled_from([0.0, 1e-3, 0.1, 1.0])] * 5))
def test_it_is_the_sum_of_the_losses_that_are_on(values, weights):
    if not any(weights):
        return
    losses = dict(zip(NAMES, map(torch.tensor, values), strict=True))
    expected = sum(weight * value for weight, value in zip(weights, values, strict=True))
    assert weighted_sum(losses, LossWeights(*weights)).item() == pytest.approx(expected, rel=1e-5)


def test_the_gradient_of_each_is_its_weight():
    losses = {name: torch.tensor(2.0, requires_grad=True) for name in NAMES}
    weighted_sum(losses, LossWeights(1.0, 0.1, 1e-3, 5e-4, 0.0)).backward()
    assert [losses[name].grad.item() for name in NAMES[:4]] == pytest.approx([1.0, 0.1, 1e-3, 5e-4])
    assert losses["correction"].grad is None


def test_a_weight_out_of_range_is_refused():
    for weight in (-1.0, math.nan, math.inf):
        with pytest.raises(ItmlabError, match="0 or above"):
            LossWeights(correction=weight)
