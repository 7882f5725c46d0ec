"""Hinges against plain loops, of all negatives, the hardest or a sampled one; SAM's margin (Eq. 7) in them."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from itmlab.errors import ItmlabError
from itmlab.losses import adaptive_margin, max_of_hinges, sampled_triplet, sum_of_hinges

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


def by_loop(scores, positives, positive_scores, margins, over) -> float:
    """Per anchor `over` (sum or max) of the hinges of its negatives; mean over the anchors that have a negative."""
    totals = []
    for row, mask, positive, margin in zip(scores, positives, positive_scores, margins, strict=True):
        hinges = [max(0.0, margin - positive + score) for score, own in zip(row, mask, strict=True) if not own]
        if hinges:
            totals.append(over(hinges))
    return sum(totals) / len(totals) if totals else 0.0


@st.composite
def batches(draw):
    source = torch.Generator().manual_seed(draw(st.integers(0, 10**6)))
    shape = draw(st.integers(1, 6)), draw(st.integers(1, 8))
    scores = torch.rand(shape, generator=source, dtype=torch.float64) * 2 - 1
    positives = torch.rand(shape, generator=source) < draw(st.floats(0, 1))
    margins = torch.rand(shape[0], generator=source, dtype=torch.float64)
    return scores, positives, torch.rand(shape[0], generator=source, dtype=torch.float64), margins


@pytest.mark.parametrize(("loss", "over"), [(sum_of_hinges, sum), (max_of_hinges, max)])
@settings(max_examples=80, deadline=None)
@given(batch=batches())
def test_hinges_are_those_of_the_loop(loss, over, batch):
    scores, positives, positive_scores, margins = batch
    lists = [tensor.tolist() for tensor in (scores, positives, positive_scores)]
    assert loss(*batch[:3], 0.2).item() == pytest.approx(by_loop(*lists, [0.2] * len(scores), over))
    assert loss(*batch[:3], margins).item() == pytest.approx(by_loop(*lists, margins.tolist(), over))


@settings(max_examples=80, deadline=None)
@given(batch=batches())
def test_the_sampled_form_is_the_loop_over_what_was_sampled(batch):
    scores, positives, positive_scores, margins = batch
    chosen = [next((index for index, own in enumerate(mask) if not own), -1) for mask in positives.tolist()]
    negative_scores = scores[range(len(scores)), chosen]
    allowed = torch.tensor(chosen) >= 0
    hinges = [
        max(0.0, margin - positive + row[index])
        for row, index, positive, margin in zip(scores.tolist(), chosen, positive_scores, margins, strict=True)
        if index >= 0
    ]
    expected = float(sum(hinges)) / len(hinges) if hinges else 0.0
    assert sampled_triplet(positive_scores, negative_scores, allowed, margins).item() == pytest.approx(expected)


@settings(max_examples=30, deadline=None)
@given(batch=batches())
def test_the_sampled_form_of_the_hardest_is_max_of_hinges(batch):
    scores, positives, positive_scores, margins = batch
    hardest = scores.masked_fill(positives, -math.inf).amax(dim=1)
    sampled = sampled_triplet(positive_scores, hardest, ~positives.all(dim=1), margins)
    assert torch.equal(sampled, max_of_hinges(*batch))


@pytest.mark.parametrize("loss", [sum_of_hinges, max_of_hinges])
def test_gradients_are_right_and_do_not_touch_other_captions_of_the_image(loss):
    scores = torch.rand(4, 5, dtype=torch.float64, generator=torch.Generator().manual_seed(0), requires_grad=True)
    positive_scores = torch.rand(4, dtype=torch.float64, requires_grad=True)
    positives = torch.tensor([[1, 1, 0, 0, 0], [1, 1, 0, 0, 0], [0, 0, 1, 0, 0], [1, 1, 1, 1, 1]]).bool()
    assert torch.autograd.gradcheck(lambda s, p: loss(s, positives, p, 0.3), (scores, positive_scores))
    loss(scores, positives, positive_scores, 0.3).backward()
    assert (scores.grad[positives] == 0).all() and (scores.grad[:3][~positives[:3]] != 0).any()


@pytest.mark.parametrize("loss", [sum_of_hinges, max_of_hinges])
@pytest.mark.parametrize("shape", [(1, 1), (3, 3), (0, 0), (2, 0)])
def test_without_any_negative_the_loss_is_exactly_zero_and_has_a_gradient(loss, shape):
    scores = torch.ones(shape, requires_grad=True)
    positive_scores = torch.ones(shape[0], requires_grad=True)
    value = loss(scores, torch.ones(shape).bool(), positive_scores, 0.2)
    value.backward()
    assert value.item() == 0 and value.ndim == 0
    assert (positive_scores.grad == 0).all()


@pytest.mark.parametrize("unread", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("loss", [sum_of_hinges, max_of_hinges])
def test_what_the_mask_hides_is_not_read(loss, unread):
    scores = torch.tensor([[unread, 0.4, 0.1], [0.3, unread, unread]], requires_grad=True)
    positive_scores = torch.tensor([0.5, 0.2], requires_grad=True)
    value = loss(scores, scores.detach().isfinite().logical_not(), positive_scores, 0.2)
    value.backward()
    assert value.item() == pytest.approx((0.1 + 0.3) / 2)
    assert scores.grad.isfinite().all() and positive_scores.grad.isfinite().all()


@pytest.mark.parametrize("unread", [math.nan, math.inf, -math.inf])
def test_the_score_of_an_anchor_that_is_not_allowed_is_not_read(unread):
    positive_scores = torch.tensor([0.5, 0.2], requires_grad=True)
    negative_scores = torch.tensor([unread, 0.3], requires_grad=True)
    value = sampled_triplet(positive_scores, negative_scores, torch.tensor([False, True]), 0.2)
    value.backward()
    assert value.item() == pytest.approx(0.3)
    assert negative_scores.grad.tolist() == [0, 1] and positive_scores.grad.tolist() == [0, -1]


@pytest.mark.parametrize("loss", [sum_of_hinges, max_of_hinges])
def test_half_precision_scores_make_a_single_precision_loss(loss):
    scores = torch.rand(4, 4).bfloat16()
    value = loss(scores, torch.eye(4).bool(), scores.diagonal(), 0.2)
    assert value.dtype == torch.float32
    assert torch.equal(value, loss(scores.float(), torch.eye(4).bool(), scores.float().diagonal(), 0.2))


@pytest.mark.parametrize("loss", [sum_of_hinges, max_of_hinges])
def test_a_score_that_is_not_a_number_is_not_hidden(loss):
    scores = torch.tensor([[0.5, math.nan], [0.1, 0.5]])
    assert loss(scores, torch.eye(2).bool(), scores.diagonal(), 0.2).isnan()


def test_shapes_that_do_not_fit_are_said():
    with pytest.raises(ItmlabError, match=r"\(3, 4\)"):
        sum_of_hinges(torch.zeros(3, 4), torch.zeros(4, 3).bool(), torch.zeros(3))
    with pytest.raises(ItmlabError, match=r"\(3, 1\)"):
        sampled_triplet(torch.zeros(3), torch.zeros(3, 1), torch.ones(3).bool())
