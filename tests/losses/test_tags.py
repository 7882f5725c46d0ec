"""TAGS-DC's matching losses against loops over Eqs. 3, 4, 5 and 7, and Eq. 10."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from itmlab.errors import ItmlabError
from itmlab.losses import LossWeights, retrieved_matching, synthetic_matching, weighted_sum


def sigmoid(value: float) -> float:
    return 1 / (1 + math.exp(-value))


def triplet(positive: float, negatives: list[float], margin: float) -> float:
    """Eq. 4 with Eq. 3 inside it, mean over the negatives (Eq. 7)."""
    return sum(max(margin - sigmoid(positive) + sigmoid(value), 0) for value in negatives) / len(negatives)


def one_direction(positives: list, negatives: list, allowed: list, margin: float = 0.2) -> float:
    """Mean over the anchors that have a negative."""
    values = []
    for positive, row, mask in zip(positives, negatives, allowed, strict=True):
        taken = [value for value, may in zip(row, mask, strict=True) if may]
        values += [triplet(positive, taken, margin)] if taken else []
    return sum(values) / max(len(values), 1)


@settings(max_examples=40, deadline=None)
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


def test_the_margin_is_02_in_probability_not_in_logits():
    one = torch.ones(1, 1).bool()
    assert synthetic_matching(torch.tensor([30.0]), torch.tensor([[25.0]]), one).item() == pytest.approx(0.2, abs=1e-6)
    assert synthetic_matching(torch.tensor([1.0]), torch.tensor([[0.0]]), one).item() == 0


def test_what_is_not_allowed_is_not_read_nor_does_an_anchor_without_any_count():
    positive = torch.tensor([0.5, 0.1], requires_grad=True)
    negative = torch.tensor([[0.7, math.nan], [math.inf, math.nan]], requires_grad=True)
    allowed = torch.tensor([[True, False], [False, False]])
    value = synthetic_matching(positive, negative, allowed)
    value.backward()
    assert value.item() == pytest.approx(triplet(0.5, [0.7], 0.2))
    assert (negative.grad[~allowed] == 0).all() and negative.grad[0, 0] > 0 and positive.grad[1] == 0


@pytest.mark.parametrize("shape", [(0, 0), (2, 0), (0, 3)])
def test_without_any_negative_it_is_zero_and_has_a_gradient(shape):
    positive, negative = torch.rand(shape[0], requires_grad=True), torch.rand(shape, requires_grad=True)
    value = synthetic_matching(positive, negative, torch.ones(shape).bool())
    value.backward()
    assert value.item() == 0 and positive.grad is not None


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


def test_a_weight_out_of_range_is_refused():
    for weight in (-1.0, math.nan, math.inf):
        with pytest.raises(ItmlabError, match="correction"):
            LossWeights(correction=weight)
