"""Eq. 10 against its sum written out, and losses that are switched off."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from itmlab.errors import ItmlabError
from itmlab.losses import PAPER_WEIGHTS, LossWeights, weighted_sum

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


def test_what_is_switched_off_may_be_missing_and_is_not_read():
    stage = LossWeights().without_words()
    assert stage.wanted == ("retrieved", "masked_language", "synthetic")
    losses = {name: torch.tensor(1.0, requires_grad=True) for name in stage.wanted}
    assert weighted_sum(losses, stage).item() == pytest.approx(1.101)
    assert weighted_sum(losses | {"correction": torch.tensor(math.nan)}, stage).item() == pytest.approx(1.101)
    assert LossWeights().matching_only().wanted == ("retrieved",)


def test_the_gradient_of_each_is_its_weight():
    losses = {name: torch.tensor(2.0, requires_grad=True) for name in NAMES}
    weighted_sum(losses, LossWeights(1.0, 0.1, 1e-3, 5e-4, 0.0)).backward()
    assert [losses[name].grad.item() for name in NAMES[:4]] == pytest.approx([1.0, 0.1, 1e-3, 5e-4])
    assert losses["correction"].grad is None


def test_the_papers_table():
    assert PAPER_WEIGHTS["flickr30k", "base"] == LossWeights()
    assert PAPER_WEIGHTS["coco", "base"].synthetic == 1e-4
    assert all(weights.discrimination == weights.correction for weights in PAPER_WEIGHTS.values())


def test_what_does_not_fit_is_said():
    with pytest.raises(ItmlabError, match="no value for the losses synthetic, correction"):
        given = ("retrieved", "masked_language", "discrimination")
        weighted_sum({name: torch.tensor(1.0) for name in given}, LossWeights())
    with pytest.raises(ItmlabError, match="no loss is called matching"):
        weighted_sum({"matching": torch.tensor(1.0)}, LossWeights())
    with pytest.raises(ItmlabError, match="all losses are switched off"):
        weighted_sum({}, LossWeights(0, 0, 0, 0, 0))
    for weight in (-1.0, math.nan, math.inf):
        with pytest.raises(ItmlabError, match="0 or above"):
            LossWeights(correction=weight)
