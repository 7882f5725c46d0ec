"""InfoCMR's terms: their shares are the loss and its gradient."""

import numpy as np
import pytest
import torch

from itmlab.explain import shares_by_temperature, term_names, terms
from itmlab.explain.info_cmr import TERMS
from itmlab.losses import gaussian_noise, info_cmr
from itmlab.synthesis import SynHNC

from .synthesis_batches import small_batch


def scores_of(batch, synthesis, noise):
    """What the loss is given, drawn as the explanation draws."""
    generator = torch.Generator().manual_seed(0)
    made = synthesis(batch.anchors, batch.candidates, batch.positives, generator=generator)
    random = gaussian_noise(noise, batch.anchors, generator=generator)
    return {
        "scores": batch.scores,
        "positives": batch.positives,
        "positive_scores": batch.positive_scores,
        "synthetic_scores": made.scores(batch.anchors),
        "synthetic_allowed": made.allowed,
        "noise_scores": batch.anchors @ random.T,
    }


@pytest.mark.parametrize("temperature", [0.05, 0.5])
def test_the_share_of_the_match_is_the_loss_and_the_others_are_its_gradient(temperature):
    batch, synthesis = small_batch(), SynHNC(3)
    given = scores_of(batch, synthesis, 10)
    given["scores"] = given["scores"].clone().requires_grad_()
    given["synthetic_scores"] = given["synthetic_scores"].clone().requires_grad_()
    info_cmr(**given, temperature=temperature).backward()
    total = 0.0
    for anchor in range(16):
        found = terms(batch, anchor, synthesis, temperature=temperature, noise=10)
        assert len(found.share) == 1 + 15 + 3 + 10 and found.share.sum() == pytest.approx(1, abs=1e-5)
        assert (np.diff(found.share) <= 0).all()
        for kind, gradients in (("negatives of the batch", "scores"), ("synthetic negatives", "synthetic_scores")):
            for at in (row for row, name in enumerate(found.kind) if name == kind):
                gradient = given[gradients].grad[anchor, found.index[at]] * 16 * temperature
                assert found.share[at] == pytest.approx(float(gradient), abs=1e-5)
        total -= np.log(found.share[found.kind.index("match")]) / 16
    assert total == pytest.approx(info_cmr(**given, temperature=temperature).item(), rel=1e-4)


def test_each_term_is_said_in_words():
    batch = small_batch()
    found = terms(batch, 3, SynHNC(3), noise=5)
    said = dict(zip(zip(found.kind, found.index.tolist(), strict=True), term_names(batch, found), strict=True))
    assert said["match", 3] == batch.data.captions[6]
    assert said["negatives of the batch", 0] == batch.data.captions[0]
    assert said["synthetic negatives", 2] == "synthetic, cluster 3" and said["Gaussian noise", 4] == "noise vector 5"
    pictures = small_batch("caption")
    assert "image 3" in term_names(pictures, terms(pictures, 3, SynHNC(3)))


def test_over_temperature_shares_add_up_and_are_the_mean_of_the_anchors():
    batch, synthesis = small_batch(), SynHNC(3)
    shares = shares_by_temperature(batch, [0.05, 1.0], synthesis, noise=10)
    assert list(shares) == list(TERMS)
    np.testing.assert_allclose(sum(shares.values()), [100, 100], rtol=1e-5)
    for kind in TERMS:
        of_each = []
        for anchor in range(16):
            found = terms(batch, anchor, synthesis, noise=10)
            of_each.append(found.share[[name == kind for name in found.kind]].sum())
        assert shares[kind][0] == pytest.approx(100 * np.mean(of_each), abs=1e-2)


def test_what_is_not_there_is_no_term():
    batch = small_batch(pairs=4)
    found = terms(batch, 0, SynHNC(8), noise=0)
    assert found.kind.count("synthetic negatives") == 3 and found.kind.count("Gaussian noise") == 0
