"""What FNE's choice of negatives costs: beside a step of `tiny`, and beside a loop over anchors.

B = 32 anchors, a memory of K = 8192, D = 768. Nothing here depends on how fast the machine is: only ratios of times
taken in turns within one run are printed and compared.
"""

from collections.abc import Callable

import pytest
import torch
from scipy.stats import chisquare
from torch.nn.functional import normalize

from itmlab.losses import TripletLoss
from itmlab.samplers import FalseNegativeEliminating, Hardest, MomentumQueue
from tests.benchmarks.timing import best_of

pytestmark = pytest.mark.usefixtures("one_thread")
ANCHORS, LENGTH, DIMENSION = 32, 8192, 768


class Choice:
    """One step's features, a full memory, and both samplers' choice of negatives for both directions."""

    def __init__(self) -> None:
        self.generator = torch.Generator().manual_seed(0)
        theme = normalize(torch.randn(DIMENSION, generator=self.generator), dim=0)
        ids = torch.randint(0, 6000, (LENGTH,), generator=self.generator)
        self.image_ids = torch.arange(ANCHORS)
        self.memory = MomentumQueue(LENGTH, DIMENSION)
        self.memory.enqueue(self._features(LENGTH, theme), self._features(LENGTH, theme), ids, ids)
        self.images = self._features(ANCHORS, theme)
        self.captions = normalize(self.images + 0.7 * self._features(ANCHORS, theme), dim=1)
        pool = self.memory.pool(self.images, self.captions, self.image_ids, self.image_ids)
        self.positives = self.image_ids[:, None] == pool.image_ids
        self.positive_scores = (self.images * self.captions).sum(1)
        self.scores = [self.images @ pool.caption_features.T, self.captions @ pool.image_features.T]
        self.batch = self.images @ self.captions.T
        self.hardest, self.fne = Hardest(), FalseNegativeEliminating()
        for _ in range(10):
            self.fne.observe(self.batch, torch.eye(ANCHORS).bool())
        assert self.fne.ready

    def _features(self, number: int, theme: torch.Tensor) -> torch.Tensor:
        noise = normalize(torch.randn(number, DIMENSION, generator=self.generator), dim=1)
        return normalize(theme * torch.rand(number, 1, generator=self.generator) + noise, dim=1)

    def by_hardest(self) -> list[torch.Tensor]:
        return [self._choose(self.hardest, scores) for scores in self.scores]

    def by_fne(self) -> list[torch.Tensor]:
        self.fne.observe(self.batch, torch.eye(ANCHORS).bool())
        return [self._choose(self.fne, scores) for scores in self.scores]

    def _choose(self, sampler, scores: torch.Tensor) -> torch.Tensor:
        return sampler(scores, self.positives, self.positive_scores, generator=self.generator)

    def row_by_row(self) -> list[list[int]]:
        """The same choice as public code makes it: a loop over anchors, a weighted draw in each."""
        known = self.fne.statistics
        positive = torch.distributions.Normal(known.positive_mean, known.positive_std)
        negative = torch.distributions.Normal(known.negative_mean, known.negative_std)
        chosen = []
        for scores in self.scores:
            chosen.append([])
            for row, mask, positive_score in zip(scores, self.positives, self.positive_scores, strict=True):
                match, mismatch = 1e-4 * positive.log_prob(row).exp(), (1 - 1e-4) * negative.log_prob(row).exp()
                probability = match / (match + mismatch)
                weights = torch.where(
                    probability < 0.01, torch.exp(-0.5 * (row - positive_score) ** 2), torch.exp(-probability)
                )
                weights[mask] = 0
                chosen[-1].append(torch.multinomial(weights, 1, generator=self.generator).item())
        return chosen


@pytest.fixture(scope="module")
def choice() -> Choice:
    return Choice()


def training_step(memory_length: int) -> Callable[[], None]:
    """One step of `tiny` at B = 32 with momentum encoders and plain hardest negatives from a full memory."""
    from itmlab.models import DualEncoderConfig, build_model
    from itmlab.models.dual_encoder import Momentum

    captions = [f"a small brown dog number {number} runs past a red bicycle in the park" for number in range(ANCHORS)]
    model = build_model(DualEncoderConfig.tiny(), captions, seed=0)
    momentum, dimension = Momentum(model), model.config.dimension
    source = torch.Generator().manual_seed(0)
    pixels = torch.rand(ANCHORS, 3, model.config.image_size, model.config.image_size, generator=source)
    tokens, image_ids = model.prepare_captions(captions), torch.arange(ANCHORS)
    memory = MomentumQueue(memory_length, dimension)
    stored = normalize(torch.randn(memory_length, dimension, generator=source), dim=1)
    stored_ids = torch.arange(memory_length) + ANCHORS
    memory.enqueue(stored, stored.flip(0), stored_ids, stored_ids)
    optimiser, sampler = torch.optim.Adam(model.parameters(), lr=1e-4), Hardest()

    def step() -> None:
        images, texts = model.encode_images(pixels).pooled, model.encode_captions(tokens).pooled
        slow = momentum.encode_images(pixels).pooled, momentum.encode_captions(tokens).pooled
        pool = memory.pool(*slow, image_ids, image_ids)
        positives, positive_scores = image_ids[:, None] == pool.image_ids, (images * texts).sum(1)
        loss = torch.zeros(())
        for anchors, candidates in ((images, pool.caption_features), (texts, pool.image_features)):
            scores = (anchors @ candidates.T).detach()
            chosen = sampler(scores, positives, positive_scores.detach(), generator=source)
            negative_scores = (anchors * candidates[chosen]).sum(1)
            loss = loss + TripletLoss()(negative_scores[:, None], (chosen < 0)[:, None], positive_scores)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        momentum.update(model)
        memory.enqueue(*slow, image_ids, image_ids)

    return step


def test_fne_adds_at_most_a_twentieth_of_a_tiny_step(choice, benchmark, capsys):
    step = training_step(LENGTH)
    step()
    choice.by_fne()
    hardest, fne, full_step = best_of(20, choice.by_hardest, choice.by_fne, step)
    share = (fne - hardest) / full_step
    benchmark.extra_info["share_of_a_tiny_step"] = share
    benchmark.pedantic(choice.by_fne, rounds=10, warmup_rounds=1)
    with capsys.disabled():
        print(
            f"\nchoosing for B = {ANCHORS} from K = {LENGTH}: hardest {hardest * 1e3:.2f} ms, FNE {fne * 1e3:.2f} ms, "
            f"a tiny step {full_step * 1e3:.0f} ms: FNE adds {share:.1%} of a step"
        )
    assert share <= 0.05


def test_choosing_is_ten_times_a_loop_over_anchors(choice, benchmark, capsys):
    choice.by_fne()
    fne, loop = best_of(10, choice.by_fne, choice.row_by_row)
    benchmark.extra_info["times_a_loop"] = loop / fne
    benchmark.pedantic(choice.by_fne, rounds=10, warmup_rounds=1)
    with capsys.disabled():
        print(f"\nFNE's choice: {loop / fne:.1f} times a loop over anchors ({loop * 1e3:.1f} ms)")
    assert loop / fne >= 10


def test_choosing_all_at_once_has_the_distribution_of_the_loop(choice):
    """Shares of candidates by how well they score, 10 bins of the pool's scores, the two ways of choosing."""
    edges = torch.cat(choice.scores).flatten().quantile(torch.linspace(0.1, 0.9, 9), interpolation="nearest")
    counts = torch.zeros(2, 10, dtype=torch.float64)
    for _ in range(40):
        for way, chosen in enumerate((choice.by_fne(), [torch.tensor(row) for row in choice.row_by_row()])):
            for scores, index in zip(choice.scores, chosen, strict=True):
                taken = scores.gather(1, index[:, None]).squeeze(1)
                counts[way] += torch.bincount(torch.bucketize(taken, edges), minlength=10)
    together = counts.sum(0) / counts.sum()
    expected = together * counts.sum(1, keepdim=True)
    fit = chisquare(counts.flatten().numpy(), expected.flatten().numpy(), ddof=10)  # 20 cells, 9 + 1 estimated
    assert fit.pvalue > 1e-3
