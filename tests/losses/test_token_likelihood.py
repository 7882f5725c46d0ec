"""NLL at labelled positions against a loop over Eq. 1 of TAGS-DC, and what must not matter to it."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from itmlab.errors import ItmlabError
from itmlab.losses import UNLABELLED, masked_language, token_likelihood


def by_loop(logits: list, labels: list, weights: list | None = None) -> float:
    """Σ w·(-log of exp(z of the label) / Σ exp(z)) / Σ w, one position at a time."""
    total = count = 0.0
    for row, row_labels in zip(logits, labels, strict=True):
        for options, label in zip(row, row_labels, strict=True):
            if label == -100:
                continue
            weight = 1.0 if weights is None else weights[label]
            total -= weight * math.log(math.exp(options[label]) / sum(math.exp(option) for option in options))
            count += weight
    return total / count if count else 0.0


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    rows=st.integers(1, 4),
    pieces=st.integers(1, 7),
    options=st.integers(1, 6),
    share=st.floats(0, 1),
)
def test_it_is_the_loop_however_the_logits_come(seed, rows, pieces, options, share):
    source = torch.Generator().manual_seed(seed)
    logits = torch.randn(rows, pieces, options, dtype=torch.float64, generator=source) * 3
    labels = torch.randint(options, (rows, pieces), generator=source)
    labels[torch.rand(rows, pieces, generator=source) < share] = UNLABELLED
    weights = torch.rand(options, dtype=torch.float64, generator=source) + 0.01
    expected = by_loop(logits.tolist(), labels.tolist())
    assert masked_language(logits, labels).item() == pytest.approx(expected)
    assert masked_language(logits[labels != UNLABELLED], labels).item() == pytest.approx(expected)
    weighted = by_loop(logits.tolist(), labels.tolist(), weights.tolist())
    assert token_likelihood(logits, labels, weights).item() == pytest.approx(weighted)


def test_an_unlabelled_position_is_not_read_even_if_it_is_not_finite():
    logits = torch.zeros(1, 3, 4, requires_grad=True)
    spoilt = logits + torch.tensor([0.0, math.nan, math.inf])[None, :, None]
    value = masked_language(spoilt, torch.tensor([[2, UNLABELLED, UNLABELLED]]))
    value.backward()
    assert value.item() == pytest.approx(math.log(4)) and logits.grad.isfinite().all()


@pytest.mark.parametrize("shape", [(2, 3, 4), (0, 3, 4), (0, 4)])
def test_without_a_labelled_position_it_is_zero_and_has_a_gradient(shape):
    logits = torch.rand(shape, requires_grad=True)
    labels = torch.full(shape[:2] if len(shape) == 3 else (2, 3), UNLABELLED)
    value = masked_language(logits, labels)
    value.backward()
    assert value.item() == 0 and (logits.grad == 0).all()


def test_gradients_are_right_and_half_precision_makes_a_single_precision_loss():
    labels = torch.tensor([[1, UNLABELLED, 0], [UNLABELLED, 2, 2]])
    logits = torch.rand(2, 3, 3, dtype=torch.float64, requires_grad=True)
    weights = torch.tensor([0.5, 1.0, 0.1])
    assert torch.autograd.gradcheck(lambda x: token_likelihood(x, labels, weights), (logits,))
    assert masked_language(logits.detach().bfloat16(), labels).dtype == torch.float32


def test_logits_of_other_positions_are_refused():
    labels = torch.tensor([[1, UNLABELLED], [0, 1]])
    for shape in [(2, 3, 4), (2, 4), (4, 4), (2, 2)]:
        with pytest.raises(ItmlabError, match="3 labelled positions do not fit"):
            masked_language(torch.zeros(shape), labels)
    with pytest.raises(ItmlabError, match="do not fit"):
        masked_language(torch.zeros(3, 4), torch.tensor([1, 0, 1]))
