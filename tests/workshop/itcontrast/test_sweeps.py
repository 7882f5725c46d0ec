"""A whole batch: sweeps against loops, and InfoCMR's terms, whose shares are the loss and its gradient."""

import numpy as np
import pytest
import torch
from workshop.analysis.synthesis import (
    ROUNDING,
    TERMS,
    memory_sweep,
    shares_by_temperature,
    true_prototypes,
)

from itmlab.losses import InfoNCE, gaussian_noise
from itmlab.synthesis import SynHNC
from itmlab.synthesis.synhnc import kmeans, squared_distances
from tests.refusals import refused
from tests.synthesis.memory_by_loops import kernel_weights, synthetic
from tests.workshop.synthesis_batches import small_batch


def scores_of(batch, synthesis):
    """What the loss is given, drawn as the explanation draws."""
    generator = torch.Generator().manual_seed(0)
    created = synthesis(batch.anchors, batch.candidates, batch.positives, generator=generator)
    random = gaussian_noise(128, batch.anchors, generator=generator)
    return {
        "scores": batch.scores,
        "positives": batch.positives,
        "positive_scores": batch.positive_scores,
        "synthetic_scores": created.scores(batch.anchors),
        "synthetic_allowed": created.allowed,
        "noise_scores": batch.anchors @ random.T,
    }


def info_cmr(given, temperature):
    """InfoCMR, for which synthetic negatives and noise are further columns of the scores."""
    scores = torch.cat([given["scores"], given["synthetic_scores"], given["noise_scores"]], dim=1)
    no_bar = torch.zeros_like(given["noise_scores"], dtype=torch.bool)
    barred = torch.cat([given["positives"], ~given["synthetic_allowed"], no_bar], dim=1)
    return InfoNCE(temperature)(scores, barred, given["positive_scores"])


def by_loops(batch, clusters, sigma, weights):
    """Raw points, memberships and cosines of all anchors."""
    squared = squared_distances(batch.candidates, batch.candidates)
    membership = kmeans(squared, ~batch.positives, clusters, generator=torch.Generator().manual_seed(0)).numpy()
    queries, candidates = batch.anchors.numpy().astype(float), batch.candidates.numpy().astype(float)
    points = synthetic(queries, candidates, membership, clusters, sigma, weights, 1e-3)
    cosines = np.einsum("akd,ad->ak", points, queries) / np.linalg.norm(points, axis=-1)
    return points, membership, cosines


@pytest.mark.parametrize("weights", ["least_squares", "identity"])
@pytest.mark.parametrize(("parameter", "values"), [("sigma", [0.1, 0.5, 2.0]), ("clusters", [2, 4])])
def test_it_is_what_loops_count(parameter, values, weights):
    batch = small_batch()
    swept = memory_sweep(batch, parameter, values, weights=[weights], sigma=0.5)
    curve = swept.curves[weights]
    for at, value in enumerate(values):
        settings = {"sigma": 0.5, "clusters": 8, parameter: value}
        points, membership, cosines = by_loops(batch, settings["clusters"], settings["sigma"], weights)
        nearest = cosines.max(1)
        assert curve.hardness[at] == pytest.approx(nearest.mean(), abs=1e-3)
        np.testing.assert_allclose(curve.quartiles[:, at], np.quantile(nearest, [0.25, 0.75]), atol=1e-3)
        assert curve.length[at] == pytest.approx(np.linalg.norm(points, axis=-1).mean(), abs=1e-3)
        entropies = []
        for anchor, row in enumerate(membership):
            for cluster in range(settings["clusters"]):
                mine = batch.candidates.numpy()[row == cluster].T
                shares = kernel_weights(batch.anchors[anchor].numpy(), mine, settings["sigma"])
                entropies.append(-(shares * np.log(np.maximum(shares, 1e-30))).sum())
        means = np.reshape(entropies, (len(batch.anchors), -1)).mean(1)
        assert curve.effective[at] == pytest.approx(np.exp(means).mean(), rel=1e-3)
        above = 100 * (nearest > batch.hardest().numpy() + ROUNDING).mean()
        assert curve.above_hardest[at] == pytest.approx(above, abs=0.01)
    assert swept.hardest == pytest.approx(float(batch.hardest().mean()))
    assert swept.match == pytest.approx(float(batch.positive_scores.mean()))


def test_synthetic_negatives_of_false_negatives_are_counted():
    """Candidate colours repeat every four, so three of fifteen negatives of each anchor are true."""
    batch = small_batch()
    shares = true_prototypes(batch, clusters=1, sigma=0.005)
    hardest = batch.scores.masked_fill(batch.positives, -2).argmax(1)
    truth_labels = batch.truth[torch.arange(16), hardest]
    expected = 100 * float((truth_labels == 1).sum()) / float((truth_labels >= 0).sum())
    for value, low, high in shares.values():  # one cluster and a narrow kernel: the hardest negative, three times
        assert value == pytest.approx(expected) and low <= value <= high
    many = true_prototypes(batch, clusters=4, sigma=0.3)
    assert set(many) == set(shares) and all(0 <= value <= 100 for value, _, _ in many.values())


@pytest.mark.parametrize("temperature", [0.05, 0.5])
def test_shares_of_the_denominator_are_the_gradient_of_the_loss(temperature):
    batch, synthesis = small_batch(), SynHNC(3)
    inputs = scores_of(batch, synthesis)
    for name in ("scores", "synthetic_scores", "noise_scores"):
        inputs[name] = inputs[name].clone().requires_grad_()
    info_cmr(inputs, temperature).backward()
    shares = {kind: of[0] for kind, of in shares_by_temperature(batch, [temperature], synthesis).items()}
    for kind, name in zip(TERMS[1:], ("scores", "synthetic_scores", "noise_scores"), strict=True):
        assert shares[kind] == pytest.approx(100 * temperature * float(inputs[name].grad.sum()), abs=1e-2)
    assert list(shares) == list(TERMS) and sum(shares.values()) == pytest.approx(100)


def test_empty_clusters_and_data_without_a_world():
    batch = small_batch(pairs=4)
    curve = memory_sweep(batch, "clusters", [8], weights=["identity"]).curves["identity"]
    assert np.isfinite([curve.hardness[0], curve.length[0], curve.effective[0]]).all()
    refused("ground truth", true_prototypes, small_batch(world=False))
