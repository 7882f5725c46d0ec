"""Losses of score matrices: each against a loop written from its paper's equation, and what all of them share."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from itmlab.errors import ItmlabError
from itmlab.losses import (
    DebiasedInfoNCE,
    HardNegativeNCE,
    InfoCMR,
    InfoNCE,
    RelabellingInfoNCE,
    SigmoidLoss,
    TripletLoss,
    adaptive_margin,
    gaussian_noise,
)
from itmlab.samplers import Statistics, posterior
from tests.refusals import refused

exp, log = math.exp, math.log


def sum_of_hinges(match: float, negatives: list[float]) -> float:
    return sum(max(0, 0.3 - match + negative) for negative in negatives)


def largest_hinge(match: float, negatives: list[float]) -> float:
    return max(max(0, 0.3 - match + negative) for negative in negatives)


def info_nce(match: float, negatives: list[float]) -> float:
    return -log(exp(match / 0.2) / (exp(match / 0.2) + sum(exp(negative / 0.2) for negative in negatives)))


def debiased(match: float, negatives: list[float]) -> float:
    """Chuang et al. (2020), Eqs. 7 and 8: g is at least its theoretical minimum exp(-1/τ)."""
    mean = sum(exp(negative / 0.2) for negative in negatives) / len(negatives)
    corrected = max((mean - 0.1 * exp(match / 0.2)) / (1 - 0.1), exp(-1 / 0.2))
    return -log(exp(match / 0.2) / (exp(match / 0.2) + len(negatives) * corrected))


def hard_negative_nce(match: float, negatives: list[float]) -> float:
    """Radenovic et al. (2023): weights N·exp(β s/τ) / Σ exp(β s/τ), and α on the match in the denominator."""
    total = sum(exp(0.5 * negative / 0.2) for negative in negatives)
    weighted = sum(len(negatives) * exp(0.5 * negative / 0.2) / total * exp(negative / 0.2) for negative in negatives)
    return -log(exp(match / 0.2) / (0.9 * exp(match / 0.2) + weighted))


def sigmoid_loss(match: float, negatives: list[float]) -> float:
    """Zhai et al. (2023): -Σ log σ(z (t s + b)) with z = 1 for the match and -1 for the others."""
    return log(1 + exp(-(5 * match - 2))) + sum(log(1 + exp(5 * negative - 2)) for negative in negatives)


LOSSES = {
    "sum of hinges": (TripletLoss(0.3, "sum"), sum_of_hinges),
    "largest hinge": (TripletLoss(0.3), largest_hinge),
    "InfoNCE": (InfoNCE(0.2), info_nce),
    "InfoCMR without noise": (InfoCMR(0.2, noise=0), info_nce),
    "debiased": (DebiasedInfoNCE(0.2, prior=0.1), debiased),
    "HN-NCE": (HardNegativeNCE(0.2, alpha=0.9, beta=0.5), hard_negative_nce),
    "sigmoid": (SigmoidLoss(scale=5, bias=-2), sigmoid_loss),
    "relabelling, before it has statistics": (RelabellingInfoNCE(0.2), info_nce),
}
every_loss = pytest.mark.parametrize("loss", [loss for loss, _ in LOSSES.values()], ids=list(LOSSES))


def batch(seed: int, anchors: int = 4, candidates: int = 5, dtype: torch.dtype = torch.float64):
    generator = torch.Generator().manual_seed(seed)
    scores = (2 * torch.rand(anchors, candidates, generator=generator, dtype=torch.float64) - 1).to(dtype)
    positives = torch.rand(anchors, candidates, generator=generator) < 0.3
    matches = (2 * torch.rand(anchors, generator=generator, dtype=torch.float64) - 1).to(dtype)
    return scores, positives, matches


@pytest.mark.parametrize("name", LOSSES)
@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**6), anchors=st.integers(1, 4), candidates=st.integers(0, 5))
def test_it_is_the_equation(name, seed, anchors, candidates):
    loss, equation = LOSSES[name]
    scores, positives, matches = batch(seed, anchors, candidates)
    values = []
    for row, barred, match in zip(scores.tolist(), positives.tolist(), matches.tolist(), strict=True):
        negatives = [score for score, is_positive in zip(row, barred, strict=True) if not is_positive]
        if negatives:
            values.append(equation(match, negatives))
    expected = sum(values) / len(values) if values else 0.0
    assert loss(scores, positives, matches).item() == pytest.approx(expected, rel=1e-6, abs=1e-9)


@every_loss
def test_positives_and_padding_do_not_matter_whatever_they_hold(loss):
    scores, positives, matches = batch(3)
    expected = loss(scores, positives, matches)
    padded = torch.cat([scores.masked_fill(positives, math.nan), torch.full((4, 2), math.inf)], dim=1)
    barred = torch.cat([positives, torch.ones(4, 2).bool()], dim=1)
    padded.requires_grad_()
    value = loss(padded, barred, matches)
    torch.testing.assert_close(value, expected)
    (gradient,) = torch.autograd.grad(value, padded)
    assert gradient.isfinite().all() and (gradient[barred] == 0).all()


@every_loss
def test_the_order_of_the_batch_does_not_matter(loss):
    scores, positives, matches = batch(4)
    rows, columns = torch.tensor([2, 0, 3, 1]), torch.tensor([4, 1, 0, 3, 2])
    shuffled = loss(scores[rows][:, columns], positives[rows][:, columns], matches[rows])
    torch.testing.assert_close(shuffled, loss(scores, positives, matches))


@every_loss
def test_without_a_negative_it_is_zero_and_has_a_gradient(loss):
    scores, matches = torch.rand(3, 2, requires_grad=True), torch.rand(3, requires_grad=True)
    for barred in (torch.ones(3, 2).bool(), torch.ones(3, 0).bool()):
        value = loss(scores[:, : barred.shape[1]], barred, matches)
        gradients = torch.autograd.grad(value, [scores, matches], allow_unused=True)
        assert value == 0 and all(gradient is None or gradient.isfinite().all() for gradient in gradients)


@every_loss
def test_half_precision_is_computed_in_single(loss):
    scores, positives, matches = batch(5, dtype=torch.bfloat16)
    value = loss(scores, positives, matches)
    assert value.dtype == torch.float32
    torch.testing.assert_close(value, loss(scores.float(), positives, matches.float()))


@every_loss
def test_a_nan_among_the_negatives_is_not_hidden(loss):
    scores, positives, matches = batch(6)
    scores[0, 0], positives[0, 0] = math.nan, False
    assert loss(scores, positives, matches).isnan()


@every_loss
def test_shapes_that_do_not_fit_are_refused(loss):
    refused("shape", loss, torch.zeros(2, 3), torch.zeros(2, 2).bool(), torch.zeros(2))
    refused("shape", loss, torch.zeros(2, 3), torch.zeros(2, 3).bool(), torch.zeros(3))


@pytest.mark.parametrize(
    ("kind", "parameters"),
    [
        (TripletLoss, {"margin": -0.1}),
        (TripletLoss, {"reduce": "mean"}),
        (InfoNCE, {"temperature": 0.0}),
        (InfoCMR, {"noise": -1}),
        (DebiasedInfoNCE, {"prior": 1.0}),
        (HardNegativeNCE, {"alpha": 0.0}),
        (HardNegativeNCE, {"beta": -1.0}),
        (SigmoidLoss, {"scale": 0.0}),
        (RelabellingInfoNCE, {"threshold": 0.0}),
    ],
)
def test_parameters_out_of_range_are_refused(kind, parameters):
    with pytest.raises(ItmlabError):
        kind(**parameters)


def test_the_noise_of_info_cmr_is_uniform_on_the_sphere_and_repeatable():
    features = torch.zeros(2, 3)
    noise = InfoCMR(noise=4000).shared_negatives(features, torch.Generator().manual_seed(0))
    assert torch.equal(noise, gaussian_noise(4000, features, generator=torch.Generator().manual_seed(0)))
    torch.testing.assert_close(noise.norm(dim=1), torch.ones(4000))
    assert noise.mean(dim=0).abs().max() < 0.05
    torch.testing.assert_close(noise.T @ noise / 4000, torch.eye(3) / 3, atol=0.02, rtol=0)
    assert InfoCMR(noise=0).shared_negatives(features, torch.Generator()) is None


def test_relabelling_adds_probable_matches_to_the_numerator():
    """Statistics from 300 trusted pairs; then one candidate is far above the match's mean."""
    loss = RelabellingInfoNCE(0.2, prior=0.1, threshold=0.5, minimum_positives=200)
    generator = torch.Generator().manual_seed(0)
    scores = 0.2 + 0.05 * torch.randn(300, 300, generator=generator)
    scores.fill_diagonal_(0)
    scores += torch.eye(300) * (0.8 + 0.05 * torch.randn(300, generator=generator))
    loss.observe(scores, torch.eye(300).bool())
    row, match = torch.tensor([[0.85, 0.1]]), torch.tensor([0.7])
    chance = posterior(row, loss.estimate.statistics, prior=0.1)[0]
    assert isinstance(loss.estimate.statistics, Statistics) and chance[0] > 0.5 > chance[1]
    expected = -log((exp(0.7 / 0.2) + exp(0.85 / 0.2)) / (exp(0.7 / 0.2) + exp(0.85 / 0.2) + exp(0.1 / 0.2)))
    assert loss(row, torch.zeros(1, 2).bool(), match).item() == pytest.approx(expected, rel=1e-4)
    other = RelabellingInfoNCE(0.2, prior=0.1)
    other.load_state_dict(loss.state_dict())
    assert other.estimate.statistics == loss.estimate.statistics
    loss.start_epoch(1)
    assert loss(row, torch.zeros(1, 2).bool(), match).item() == pytest.approx(info_nce(0.7, [0.85, 0.1]), rel=1e-4)


relevance = st.floats(0, 10, width=32)


@given(
    st.lists(st.tuples(relevance, relevance), min_size=1, max_size=8),
    st.sampled_from([3.0, 10.0]),
    st.sampled_from([1.0, 0.3]),
)
def test_the_adaptive_margin_is_the_difference_over_the_temperature_and_at_most_the_ceiling(
    pairs, temperature, ceiling
):
    """SAM, Eq. 7; a negative that describes the image better has a margin below 0."""
    positive, negative = torch.tensor(pairs).T
    margins = adaptive_margin(positive, negative, temperature, ceiling)
    for margin, (match, other) in zip(margins.tolist(), pairs, strict=True):
        assert margin == pytest.approx(min((match - other) / temperature, ceiling), abs=1e-5)
