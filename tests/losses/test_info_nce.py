"""InfoNCE against the sum of exponentials that it is."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from itmlab.errors import ItmlabError
from itmlab.losses import info_nce


def by_loop(scores, positives, positive_scores, temperature, extra=None) -> float:
    """-log of the positive's share among itself and its negatives, mean over the anchors that have a negative."""
    losses = []
    for index, (row, mask, positive) in enumerate(zip(scores, positives, positive_scores, strict=True)):
        negatives = [score for score, own in zip(row, mask, strict=True) if not own] + (extra[index] if extra else [])
        if negatives:
            own = math.exp(positive / temperature)
            losses.append(-math.log(own / (own + sum(math.exp(score / temperature) for score in negatives))))
    return sum(losses) / len(losses) if losses else 0.0


@settings(max_examples=80, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    anchors=st.integers(1, 6),
    candidates=st.integers(1, 8),
    share=st.floats(0, 1),
    temperature=st.floats(0.03, 2),
    extra=st.integers(0, 4),
)
def test_it_is_the_loop(seed, anchors, candidates, share, temperature, extra):
    source = torch.Generator().manual_seed(seed)
    scores = torch.rand(anchors, candidates, dtype=torch.float64, generator=source) * 2 - 1
    positives = torch.rand(anchors, candidates, generator=source) < share
    positive_scores = torch.rand(anchors, dtype=torch.float64, generator=source)
    lists = [tensor.tolist() for tensor in (scores, positives, positive_scores)]
    assert info_nce(scores, positives, positive_scores, temperature).item() == pytest.approx(
        by_loop(*lists, temperature), abs=1e-12
    )
    further = torch.rand(anchors, extra, dtype=torch.float64, generator=source) * 2 - 1
    assert info_nce(scores, positives, positive_scores, temperature, further).item() == pytest.approx(
        by_loop(*lists, temperature, further.tolist()), abs=1e-12
    )


def test_with_one_positive_an_anchor_it_is_cross_entropy():
    scores = torch.rand(6, 6, generator=torch.Generator().manual_seed(0))
    expected = torch.nn.functional.cross_entropy(scores / 0.05, torch.arange(6))
    torch.testing.assert_close(info_nce(scores, torch.eye(6).bool(), scores.diagonal(), 0.05), expected)


def test_captions_of_the_same_image_are_in_no_denominator():
    scores = torch.rand(4, 4, generator=torch.Generator().manual_seed(0), requires_grad=True)
    ids = torch.tensor([3, 3, 8, 9])
    positives = ids[:, None] == ids
    value = info_nce(scores, positives, scores.diagonal().detach(), 0.05)
    raised = info_nce(scores + positives * 5, positives, scores.diagonal().detach(), 0.05)
    assert torch.equal(value, raised)
    value.backward()
    assert (scores.grad[positives] == 0).all() and (scores.grad[~positives] > 0).all()


@pytest.mark.parametrize("shape", [(1, 1), (3, 3), (0, 0), (2, 0)])
def test_without_any_negative_the_loss_is_exactly_zero_and_has_a_gradient(shape):
    scores, positive_scores = torch.rand(shape, requires_grad=True), torch.rand(shape[0], requires_grad=True)
    value = info_nce(scores, torch.ones(shape).bool(), positive_scores, 0.05)
    value.backward()
    assert value.item() == 0 and (positive_scores.grad == 0).all()


def test_an_anchor_without_negatives_in_the_batch_still_has_the_extra_ones():
    value = info_nce(torch.ones(1, 1), torch.ones(1, 1).bool(), torch.tensor([0.5]), 1.0, torch.tensor([[0.5]]))
    assert value.item() == pytest.approx(math.log(2))


def test_gradients_are_right_and_finite_at_the_extremes():
    scores = torch.rand(3, 4, dtype=torch.float64, requires_grad=True)
    positive_scores = torch.rand(3, dtype=torch.float64, requires_grad=True)
    extra = torch.rand(3, 2, dtype=torch.float64, requires_grad=True)
    temperature = torch.tensor(0.5, dtype=torch.float64, requires_grad=True)
    mask = torch.tensor([[1, 0, 0, 0], [1, 1, 1, 1], [0, 0, 1, 1]]).bool()
    inputs = (scores, positive_scores, temperature, extra)
    assert torch.autograd.gradcheck(lambda s, p, t, e: info_nce(s, mask, p, t, e), inputs)
    wild = torch.tensor([[1.0, -math.inf, 300.0], [math.nan, -300.0, -math.inf]], requires_grad=True)
    own = torch.tensor([1.0, 2.0], requires_grad=True)
    value = info_nce(wild, torch.tensor([[True, False, False], [True, False, False]]), own, 0.01)
    value.backward()
    assert value.isfinite() and wild.grad.isfinite().all() and own.grad.isfinite().all()


def test_half_precision_scores_make_a_single_precision_loss():
    scores = torch.rand(4, 4).bfloat16()
    value = info_nce(scores, torch.eye(4).bool(), scores.diagonal(), 0.05)
    assert value.dtype == torch.float32


def test_what_does_not_fit_is_said():
    with pytest.raises(ItmlabError, match="temperature"):
        info_nce(torch.zeros(2, 2), torch.eye(2).bool(), torch.zeros(2), 0.0)
    with pytest.raises(ItmlabError, match=r"\(anchor, extra\) with 2 anchors, not \(3, 1\)"):
        info_nce(torch.zeros(2, 2), torch.eye(2).bool(), torch.zeros(2), 1.0, torch.zeros(3, 1))
    with pytest.raises(ItmlabError, match="one positive score an anchor"):
        info_nce(torch.zeros(2, 2), torch.eye(2).bool(), torch.zeros(3))
