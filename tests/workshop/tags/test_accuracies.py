"""Accuracies of words and shares of true negatives against loops, and what a lazy model gets."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from workshop.analysis.accuracies import true_negative_rate, word_accuracy

from itmlab.metrics import share


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 5), st.integers(1, 7), st.integers(0, 10**6))
def test_words_are_counted_as_the_loop_counts_them(rows, pieces, seed):
    correct, replaced, counted = torch.rand(3, rows, pieces, generator=torch.Generator().manual_seed(seed)) < 0.6
    accuracy = word_accuracy(correct, replaced, counted, torch.arange(rows))
    cells = list(zip(correct.flatten().tolist(), replaced.flatten().tolist(), counted.flatten().tolist(), strict=True))
    for name, wanted in (("all", (True, False)), ("replaced", (True,)), ("kept", (False,))):
        answers = [is_correct for is_correct, is_replaced, counts in cells if counts and is_replaced in wanted]
        assert (getattr(accuracy, name).count, getattr(accuracy, name).of) == (sum(answers), len(answers))


def test_a_model_that_finds_no_fault_is_right_about_most_words_and_seen_through():
    replaced = torch.zeros(20, 10, dtype=torch.bool)
    replaced[:, 4] = True
    lazy = word_accuracy(~replaced, replaced, torch.ones_like(replaced), torch.arange(20))
    assert (lazy.all.percent, lazy.replaced.percent, lazy.kept.percent, lazy.balanced) == (90, 0, 100, 50)


def test_intervals_go_by_images():
    correct, images = (torch.arange(20) % 4 > 0)[:, None].expand(20, 10), torch.arange(20) % 4
    accuracy = word_accuracy(correct, torch.zeros_like(correct), torch.ones_like(correct), images)
    assert accuracy.all == share(correct.flatten(), images.repeat_interleave(10))
    labels = [False, False, None, True, True, False]
    plain, grouped = (true_negative_rate(labels, torch.tensor(of)) for of in (range(6), [0, 0, 7, 1, 1, 2]))
    assert plain.share.percent == grouped.share.percent == 60 and grouped.share.lower < plain.share.lower


@settings(max_examples=40, deadline=None)
@given(labels=st.lists(st.sampled_from([True, False, None]), max_size=30))
def test_undecided_sentences_are_in_neither_count(labels):
    rate = true_negative_rate(labels, torch.arange(len(labels)))
    assert (rate.share.count, rate.undecided) == (labels.count(False), labels.count(None))
    assert rate.share.of == len(labels) - rate.undecided
    expected = 100 * rate.share.count / rate.share.of if rate.share.of else math.nan
    assert rate.share.percent == pytest.approx(expected, nan_ok=True)
