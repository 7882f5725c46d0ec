"""Discrimination of sentences and of words against loops, and what a lazy model gets."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from workshop.analysis.accuracies import (
    discrimination,
    true_negative_rate,
    word_correction_accuracy,
    word_discrimination_accuracy,
)

from itmlab.errors import ItmlabError
from itmlab.metrics import share

score = st.sampled_from([-1.0, 0.0, 0.25, 3.0])


@settings(max_examples=50, deadline=None)
@given(pairs=st.lists(st.tuples(score, score), min_size=1, max_size=30))
def test_a_pair_counts_when_the_sentence_scores_higher_and_a_tie_does_not(pairs):
    positive, negative = torch.tensor(pairs).unbind(1)
    found = discrimination(positive, negative)
    assert found.count == sum(a > b for a, b in pairs) and found.of == len(pairs)
    assert found.percent == pytest.approx(100 * found.count / len(pairs))


def test_the_interval_goes_by_the_images():
    positive, images = torch.tensor([1.0, 1.0, 0.0, 0.0]), torch.tensor([0, 0, 1, 1])
    assert discrimination(positive, torch.full((4,), 0.5), images) == share(positive > 0.5, images)


def test_scores_that_do_not_fit_are_refused():
    with pytest.raises(ItmlabError, match="one negative"):
        discrimination(torch.zeros(3), torch.zeros(2))
    with pytest.raises(ItmlabError, match="1 of 2 pairs have a score that is NaN"):
        discrimination(torch.tensor([0.0, math.nan]), torch.zeros(2))


@st.composite
def answers(draw):
    source = torch.Generator().manual_seed(draw(st.integers(0, 10**6)))
    shape = draw(st.integers(1, 5)), draw(st.integers(1, 7))
    original = torch.randint(3, 6, shape, generator=source)
    synthetic = torch.randint(3, 6, shape, generator=source)
    predicted = torch.randint(3, 6, shape, generator=source)
    counted = torch.rand(shape, generator=source) < 0.7
    return torch.rand(shape, generator=source), predicted, synthetic, original, counted


def by_loop(right, synthetic, original, counted, which) -> tuple[int, int]:
    """Right answers and answers, over the words `which` (all, replaced, kept) holds."""
    found = [
        bool(answer)
        for answers_, made, said, counts in zip(right, synthetic, original, counted, strict=True)
        for answer, token, word, count in zip(answers_, made, said, counts, strict=True)
        if count and (which == "all" or (token != word) == (which == "replaced"))
    ]
    return sum(found), len(found)


@settings(max_examples=60, deadline=None)
@given(drawn=answers(), threshold=st.sampled_from([0.5, 0.2]))
def test_words_are_counted_as_the_loop_counts_them(drawn, threshold):
    kept, predicted, synthetic, original, counted = drawn
    found = word_discrimination_accuracy(kept, synthetic, original, counted, threshold=threshold)
    right = [
        [(k >= threshold) == (s == o) for k, s, o in zip(*rows, strict=True)]
        for rows in zip(kept.tolist(), synthetic.tolist(), original.tolist(), strict=True)
    ]
    correction = word_correction_accuracy(predicted, synthetic, original, counted)
    for which in ("all", "replaced", "kept"):
        of_words = getattr(found, which)
        assert (of_words.count, of_words.of) == by_loop(right, synthetic, original, counted, which)
        of_words = getattr(correction, which)
        assert (of_words.count, of_words.of) == by_loop(predicted == original, synthetic, original, counted, which)


def test_a_model_that_finds_no_fault_is_right_about_most_words_and_seen_through():
    original = torch.full((20, 10), 5)
    synthetic = original.clone()
    synthetic[:, 4] = 6
    counted = torch.ones(20, 10).bool()
    lazy = word_discrimination_accuracy(torch.ones(20, 10), synthetic, original, counted)
    assert (lazy.all.percent, lazy.replaced.percent, lazy.kept.percent, lazy.balanced) == (90, 0, 100, 50)
    copied = word_correction_accuracy(synthetic, synthetic, original, counted)
    assert (copied.all.percent, copied.replaced.percent, copied.balanced) == (90, 0, 50)


def test_the_interval_of_words_goes_by_sentences_or_by_images():
    original = torch.full((20, 10), 5)
    right = (torch.arange(20) % 4 > 0)[:, None].expand(20, 10)
    predicted, counted = torch.where(right, 5, 6), torch.ones(20, 10).bool()
    by_sentence = word_correction_accuracy(predicted, original, original, counted).all
    by_image = word_correction_accuracy(predicted, original, original, counted, images=torch.arange(20) % 4).all
    assert by_sentence == share(right.flatten(), torch.arange(20).repeat_interleave(10))
    assert by_image == share(right.flatten(), (torch.arange(20) % 4).repeat_interleave(10))
    assert by_image.upper - by_image.lower > by_sentence.upper - by_sentence.lower


def test_what_does_not_stand_under_each_other_is_refused():
    tokens, counted = torch.zeros(2, 3).long(), torch.ones(2, 3).bool()
    with pytest.raises(ItmlabError, match="shape"):
        word_correction_accuracy(tokens, tokens, tokens, counted[:, :2])
    with pytest.raises(ItmlabError, match="2 sentences, but images"):
        word_correction_accuracy(tokens, tokens, tokens, counted, images=torch.zeros(3))


@settings(max_examples=60, deadline=None)
@given(labels=st.lists(st.sampled_from([True, False, None]), max_size=30))
def test_undecided_sentences_are_in_neither_count(labels):
    found = true_negative_rate(labels)
    assert (found.share.count, found.undecided) == (labels.count(False), labels.count(None))
    assert found.share.of == len(labels) - found.undecided
    if found.share.of:
        assert found.share.percent == pytest.approx(100 * labels.count(False) / found.share.of)
        assert found.share.lower <= found.share.percent <= found.share.upper
    else:
        assert math.isnan(found.share.percent)


def test_the_interval_goes_by_the_pictures_of_the_decided():
    labels = [False, False, None, True, True, False]
    plain, grouped = true_negative_rate(labels), true_negative_rate(labels, [0, 0, 7, 1, 1, 2])
    assert plain.share.percent == grouped.share.percent == 60 and grouped.share.lower < plain.share.lower
    assert str(plain) == f"{plain.share} decided; 1 undecided"


def test_what_is_no_verdict_is_refused():
    with pytest.raises(ItmlabError, match="'no'"):
        true_negative_rate([True, "no"])
    with pytest.raises(ItmlabError, match="2 labels, but 1 images"):
        true_negative_rate([True, False], [0])


# What a difference says of a claim.
