"""SynHNC for all anchors at once beside a loop over them, and beside a step of `tiny`, as ratios within one run."""

from collections.abc import Callable

import numpy as np
import pytest
import torch
from sklearn.cluster import KMeans
from threadpoolctl import threadpool_limits
from torch.nn.functional import normalize

import itmlab
from itmlab.losses import InfoNCE
from itmlab.models import build_model
from itmlab.synthesis import SynHNC
from tests.benchmarks.test_choosing import best_of
from tests.synthesis.memory_by_loops import kernel_weights, reconstruction_weights

ANCHORS, DIMENSION, CLUSTERS = 128, 256, 8
SIGMA, REGULARISATION = 0.1, 1e-3


class Synthesis:
    """One direction of a batch whose captions fall into a dozen themes."""

    def __init__(self, pairs: int = ANCHORS, dimension: int = DIMENSION) -> None:
        self.generator = torch.Generator().manual_seed(0)
        self.themes = normalize(torch.randn(12, dimension, generator=self.generator), dim=1)
        self.anchors, self.candidates = self._features(pairs), self._features(pairs)
        self.positives = torch.eye(pairs, dtype=torch.bool)
        self.module = SynHNC(CLUSTERS, SIGMA, regularisation=REGULARISATION)

    def _features(self, pairs: int) -> torch.Tensor:
        own = torch.randint(len(self.themes), (pairs,), generator=self.generator)
        noise = torch.randn(pairs, self.themes.shape[1], generator=self.generator)
        return normalize(self.themes[own] + 0.06 * noise, dim=1)

    def at_once(self) -> torch.Tensor:
        return self.module(self.anchors, self.candidates, self.positives, generator=self.generator).features

    def both_directions(self) -> None:
        self.at_once()
        self.module(self.candidates, self.anchors, self.positives.T, generator=self.generator)

    def anchor_by_anchor(self) -> np.ndarray:
        """scikit-learn's k-means and numpy's pseudo-inverse, as one would write it from the paper."""
        candidates, points = self.candidates.numpy(), []
        for anchor, mask in zip(self.anchors.numpy(), self.positives.numpy(), strict=True):
            negatives = candidates[~mask]
            labels = KMeans(CLUSTERS, n_init=1, max_iter=20, random_state=0).fit(negatives).labels_
            for cluster in range(CLUSTERS):
                prototypes = negatives[labels == cluster].T
                weights = reconstruction_weights(prototypes, SIGMA, "least_squares", REGULARISATION)
                points.append(weights @ kernel_weights(anchor, prototypes, SIGMA))
        return np.stack(points).reshape(ANCHORS, CLUSTERS, DIMENSION)


@pytest.fixture(scope="module")
def synthesis() -> Synthesis:
    return Synthesis()


def test_synthesis_is_twenty_times_a_loop_over_anchors(synthesis, benchmark, capsys):
    synthesis.at_once()
    with threadpool_limits(1):
        batched, loop = best_of(4, synthesis.at_once, synthesis.anchor_by_anchor)
    benchmark.extra_info["times_a_loop"] = loop / batched
    benchmark.pedantic(synthesis.at_once, rounds=10, warmup_rounds=1)
    with capsys.disabled():
        print(
            f"\nSynHNC at B = {ANCHORS}, D = {DIMENSION}, m = {CLUSTERS}: {batched * 1e3:.1f} ms a direction, "
            f"{loop / batched:.0f} times a loop over anchors ({loop * 1e3:.0f} ms)"
        )
    assert loop / batched >= 20


def tiny_step() -> Callable[[], None]:
    """One step of tiny InfoNCE from random weights: 64 pictures with 4 captions each, 256 pairs."""
    recipe = itmlab.recipe("info_nce", start="scratch")
    pictures, times = recipe.data.batch_size, recipe.data.captions_per_image
    captions = [f"a small brown dog number {at} runs past a red bicycle in the park" for at in range(pictures * times)]
    model = build_model(recipe.model, captions, seed=0)
    size = recipe.model.image_size
    pixels = torch.rand(pictures, 3, size, size, generator=torch.Generator().manual_seed(0))
    tokens, owners = model.prepare_captions(captions), torch.arange(pictures * times) // times
    optimiser = torch.optim.AdamW(model.parameters(), lr=1e-4)

    def step() -> None:
        images, texts = model.encode_images(pixels).pooled[owners], model.encode_captions(tokens).pooled
        scores, positives = images @ texts.T, owners[:, None] == owners
        loss = sum(InfoNCE()(side, positives, (images * texts).sum(1)) for side in (scores, scores.T))
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()

    return step


def of_its_pairs() -> Callable[[], None]:
    """Both directions of what such a step holds: each picture is one anchor, and one candidate of every caption."""
    recipe, generator = itmlab.recipe("info_nce", start="scratch"), torch.Generator().manual_seed(0)
    pictures, times = recipe.data.batch_size, recipe.data.captions_per_image
    images, captions = (
        normalize(torch.randn(number, recipe.model.dimension, generator=generator), dim=1)
        for number in (pictures, pictures * times)
    )
    positives = torch.arange(pictures)[:, None] == torch.arange(pictures * times) // times

    def both() -> None:
        SynHNC(CLUSTERS)(images, captions, positives, generator=generator)
        SynHNC(CLUSTERS)(captions, images, positives.T, generator=generator)

    return both


def test_synthesis_is_at_most_a_quarter_of_a_tiny_step(synthesis, benchmark, capsys):
    """Both directions, of B = 128 and D = 256 and of the step's own 256 pairs, as a share of the step with them."""
    step, own = tiny_step(), of_its_pairs()
    step()
    made, made_of_own, whole = best_of(5, synthesis.both_directions, own, step)
    shares = [seconds / (seconds + whole) for seconds in (made, made_of_own)]
    benchmark.extra_info["share_of_a_tiny_step"] = shares
    benchmark.pedantic(synthesis.both_directions, rounds=5, warmup_rounds=1)
    with capsys.disabled():
        print(
            f"\nSynHNC, both directions: {made * 1e3:.0f} ms at B = {ANCHORS}, D = {DIMENSION}, {shares[0]:.1%} of a "
            f"tiny step ({whole * 1e3:.0f} ms) with it; {made_of_own * 1e3:.0f} ms for the step's own pairs, "
            f"{shares[1]:.1%}"
        )
    assert max(shares) <= 0.25
