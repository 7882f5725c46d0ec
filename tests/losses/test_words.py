"""NLL at labelled positions, and TAGS-DC's Eqs. 1, 8 and 9, against loops, and what must not matter to them."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from itmlab.losses import (
    UNLABELLED,
    correction_labels,
    counted_tokens,
    discrimination_labels,
    token_likelihood,
    word_correction,
    word_discrimination,
)


def negative_log_likelihood(options: list, label: int) -> float:
    return math.log(sum(math.exp(option) for option in options)) - options[label]


def by_loop(logits: list, labels: list, weights: list | None = None) -> float:
    """Σ w·(-log of exp(z of the label) / Σ exp(z)) / Σ w, one position at a time."""
    total = count = 0.0
    for row, row_labels in zip(logits, labels, strict=True):
        for options, label in zip(row, row_labels, strict=True):
            if label == -100:
                continue
            weight = 1.0 if weights is None else weights[label]
            total += weight * negative_log_likelihood(options, label)
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
    assert token_likelihood(logits, labels).item() == pytest.approx(expected)
    assert token_likelihood(logits[labels != UNLABELLED], labels).item() == pytest.approx(expected)
    weighted = by_loop(logits.tolist(), labels.tolist(), weights.tolist())
    assert token_likelihood(logits, labels, weights).item() == pytest.approx(weighted)


@pytest.mark.parametrize("shape", [(2, 3, 4), (0, 3, 4), (0, 4)])
def test_without_a_labelled_position_it_is_zero_and_has_a_gradient(shape):
    logits = torch.rand(shape, requires_grad=True)
    labels = torch.full(shape[:2] if len(shape) == 3 else (2, 3), UNLABELLED)
    value = token_likelihood(logits, labels)
    value.backward()
    assert value.item() == 0 and (logits.grad == 0).all()


PAD, CLS, SEP, VOCABULARY = 0, 1, 2, 9


@st.composite
def sentences(draw):
    """Captions of several lengths in [CLS] … [SEP] and padding, and the same with some tokens replaced."""
    source = torch.Generator().manual_seed(draw(st.integers(0, 10**6)))
    lengths = draw(st.lists(st.integers(0, 6), min_size=1, max_size=5))
    original = torch.full((len(lengths), max(lengths) + 2 + draw(st.integers(0, 2))), PAD)
    for row, length in zip(original, lengths, strict=True):
        words = torch.randint(3, VOCABULARY, (length,), generator=source)
        row[: length + 2] = torch.tensor([CLS, *words.tolist(), SEP])
    word = original > SEP
    changed = (torch.rand(original.shape, generator=source) < draw(st.floats(0, 1))) & word
    synthetic = torch.where(changed, torch.randint(3, VOCABULARY, original.shape, generator=source), original)
    return synthetic, original, original != PAD, source


def discrimination_by_loop(logits, synthetic, original, replaced_weight, kept_weight) -> float:
    """Eq. 8: G = 1 where the tokens are equal, over the words alone."""
    total = count = 0.0
    for row, new_tokens, old_tokens in zip(logits, synthetic, original, strict=True):
        for options, token, word in zip(row, new_tokens, old_tokens, strict=True):
            if word in (PAD, CLS, SEP):
                continue
            weight = kept_weight if token == word else replaced_weight
            total += weight * negative_log_likelihood(options, int(token == word))
            count += weight
    return total / count if count else 0.0


def correction_by_loop(logits, synthetic, original, positions) -> float:
    """Eq. 9: the caption's token at each word, or at each replaced one."""
    losses = [
        negative_log_likelihood(options, word)
        for row, new_tokens, old_tokens in zip(logits, synthetic, original, strict=True)
        for options, token, word in zip(row, new_tokens, old_tokens, strict=True)
        if word not in (PAD, CLS, SEP) and (positions == "all" or token != word)
    ]
    return sum(losses) / len(losses) if losses else 0.0


@settings(max_examples=60, deadline=None)
@given(drawn=sentences(), weights=st.sampled_from([(1.0, 1.0), (1.0, 0.11), (0.3, 2.0)]))
def test_they_are_the_loops(drawn, weights):
    synthetic, original, attended, source = drawn
    counted = counted_tokens(synthetic, original, attended, [PAD, CLS, SEP])
    lists = synthetic.tolist(), original.tolist()
    logits = torch.randn(*original.shape, 2, dtype=torch.float64, generator=source)
    value = word_discrimination(
        logits, synthetic, original, counted, replaced_weight=weights[0], kept_weight=weights[1]
    )
    assert value.item() == pytest.approx(discrimination_by_loop(logits.tolist(), *lists, *weights))
    logits = torch.randn(*original.shape, VOCABULARY, dtype=torch.float64, generator=source)
    for positions in ("all", "replaced"):
        value = word_correction(logits, synthetic, original, counted, positions=positions)
        assert value.item() == pytest.approx(correction_by_loop(logits.tolist(), *lists, positions))
        asked = correction_labels(synthetic, original, counted, positions) != UNLABELLED
        chosen = word_correction(logits[asked], synthetic, original, counted, positions=positions)
        assert chosen.item() == pytest.approx(value.item())


@settings(max_examples=30, deadline=None)
@given(drawn=sentences())
def test_special_tokens_and_padding_never_count(drawn):
    synthetic, original, attended, source = drawn
    counted = counted_tokens(synthetic, original, attended, [PAD, CLS, SEP])
    assert torch.equal(counted, original > SEP)
    for options, loss in ((2, word_discrimination), (VOCABULARY, word_correction)):
        logits = torch.randn(*original.shape, options, generator=source, requires_grad=True)
        with_nan = logits + torch.where(counted, 0.0, math.nan)[:, :, None]
        value = loss(with_nan, synthetic, original, counted)
        value.backward()
        assert torch.equal(value, loss(logits, synthetic, original, counted))
        assert (logits.grad[~counted] == 0).all()


def test_labels_as_the_paper_writes_them():
    synthetic, original = torch.tensor([[CLS, 4, 7, 6, SEP]]), torch.tensor([[CLS, 4, 5, 6, SEP]])
    counted = counted_tokens(synthetic, original, torch.ones(1, 5), [PAD, CLS, SEP])
    assert discrimination_labels(synthetic, original, counted).tolist() == [[-100, 1, 0, 1, -100]]
    assert correction_labels(synthetic, original, counted).tolist() == [[-100, 4, 5, 6, -100]]
    assert correction_labels(synthetic, original, counted, "replaced").tolist() == [[-100, -100, 5, -100, -100]]
    masked = torch.tensor([[False, True, False, False, True]])  # [SEP] never; the replaced word whoever put it there
    assert correction_labels(synthetic, original, counted, "masked", masked).tolist() == [[-100, 4, 5, -100, -100]]
