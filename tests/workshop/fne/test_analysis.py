"""FNE's probabilities over a split, and how many of the negatives that samplers take are true."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from workshop.analysis.false_negatives import Study, curves, judge, negatives_taken, posterior_quality, study

from itmlab.samplers import FalseNegativeEliminating, Hardest, Softest, Statistics
from tests.plain_model import PlainModel
from tests.refusals import refused
from tests.workshop.small_world import small_set
from tests.workshop.synthetic import synthetic_study

STATISTICS = Statistics(0.7, 0.08, 0.4, 0.1)


def test_curves_are_the_papers_equations():
    created = curves(STATISTICS, 0.72, prior=1e-3, threshold=0.02, sharpness=2.0)
    for index in range(0, 480, 37):
        s = created.similarity[index]
        match = math.exp(-((s - 0.7) ** 2) / (2 * 0.08**2)) / (0.08 * math.sqrt(2 * math.pi))
        mismatch = math.exp(-((s - 0.4) ** 2) / (2 * 0.1**2)) / (0.1 * math.sqrt(2 * math.pi))
        raw = 1e-3 * match / (1e-3 * match + 0.999 * mismatch)
        posterior = created.monotone[index]
        weight = math.exp(-posterior) if posterior >= 0.02 else math.exp(-2.0 * (s - 0.72) ** 2)
        assert np.allclose(
            (created.match[index], created.mismatch[index], created.raw[index], created.weight[index]),
            (match, mismatch, raw, weight),
            rtol=1e-5,
            atol=1e-12,
        )
    assert (np.diff(created.monotone) >= 0).all()


class Scripted(PlainModel):
    """A model that scores pairs as it was told."""

    encodes_apart = False

    def __init__(self, scores: torch.Tensor):
        super().__init__()
        self.scores = scores
        self.row = 0

    def prepare_images(self, pictures):
        self.row += len(pictures)
        return torch.arange(self.row - len(pictures), self.row)

    def prepare_captions(self, captions):
        start = getattr(self, "column", 0)
        self.column = start + len(captions)
        return torch.arange(start, self.column)

    def similarity(self, images, captions):
        return self.scores[images][:, captions]


def test_statistics_are_those_of_an_epoch_of_batches():
    wanted = synthetic_study(48)
    data = small_set(48)
    result = study(Scripted(wanted.scores), data, batch_size=16, seed=3)
    assert torch.equal(result.scores, wanted.scores) and torch.equal(result.truth, wanted.truth)
    generator = torch.Generator().manual_seed(3)
    order = torch.randperm(48, generator=generator)
    captions = [
        own_values[torch.randint(len(own_values), (), generator=generator)] for own_values in data.captions_of_image
    ]
    positives, negatives = [], []
    for start in range(0, 48, 16):
        images = order[start : start + 16].tolist()
        block = [[float(wanted.scores[i, captions[j]]) for j in images] for i in images]
        for i in range(16):
            row = [block[i][j] for j in range(16) if j != i]
            column = [block[j][i] for j in range(16) if j != i]
            if block[i][i] > max(row) and block[i][i] > max(column):
                positives.append(block[i][i])
                negatives += [max(row), max(column)]
    statistics = result.sampler.statistics
    assert np.allclose(sorted(result.positive_scores), sorted(positives))
    assert np.allclose(sorted(result.negative_scores), sorted(negatives))
    assert np.isclose(statistics.positive_mean, np.mean(positives))
    assert np.isclose(statistics.negative_mean, np.mean(negatives))
    assert np.isclose(statistics.negative_std, np.std(negatives))


def test_a_model_without_a_good_positive_is_refused():
    data = small_set(8)
    refused("no pair is the best", study, Scripted(torch.zeros(8, 16)), data)


@pytest.mark.parametrize("direction", ["image", "caption"])
def test_an_anchors_negatives_are_all_but_its_positives_best_first(direction):
    studied = synthetic_study(24)
    judged = judge(studied, 5, direction, draws=40)
    scores, positives = (m[5] if direction == "image" else m[:, 5] for m in (studied.scores, studied.positives))
    assert sorted(judged.index.tolist()) == [at for at in range(len(scores)) if not positives[at]]
    assert (np.diff(judged.score) <= 0).all() and (np.diff(judged.posterior) <= 1e-7).all()
    assert judged.drawn.sum() == 40
    truth = studied.truth[5] if direction == "image" else studied.truth[:, 5]
    assert judged.truth_label.tolist() == [int(truth[at]) for at in judged.index]
    assert judged.positive_score == float(scores[positives][0])


def made_up(truth) -> Study:
    """Three pictures with a caption each; the best-scoring other caption of each is the next one."""
    scores = torch.tensor([[0.9, 0.5, 0.1], [0.1, 0.9, 0.5], [0.5, 0.1, 0.9]])
    sampler = FalseNegativeEliminating(minimum_positives=1)
    sampler.observe(scores, torch.eye(3, dtype=torch.bool))
    data = SimpleNamespace(name="made up")
    return Study(data, scores, torch.eye(3, dtype=torch.bool), truth, sampler, scores.diagonal().numpy(), None)


def test_the_shares_are_those_counted_by_hand() -> None:
    truth = torch.tensor([[1, 1, 0], [0, 1, -1], [0, 0, 1]], dtype=torch.int8)
    shares = negatives_taken(made_up(truth), {"hardest": Hardest(), "softest": Softest()})
    # Hardest takes captions 1, 2, 0: true, undecided, false. Softest takes 2, 0, 1: all false.
    value, lower, upper = shares["hardest"]
    assert value == pytest.approx(50) and 0 < lower < 50 < upper < 100
    assert shares["softest"][0] == 0


def test_what_cannot_be_counted_is_said() -> None:
    refused("ground truth", negatives_taken, made_up(None), {"hardest": Hardest()})
    undecided = torch.full((3, 3), -1, dtype=torch.int8)
    refused("decided", negatives_taken, made_up(undecided), {"hardest": Hardest()})


def test_posterior_and_similarity_are_measured_as_rankings_and_as_probabilities():
    studied = synthetic_study(24)
    quality = posterior_quality(studied, prior=0.2, bins=4)
    known = ~studied.positives & (studied.truth >= 0)
    true, inputs = studied.truth[known] == 1, studied.posterior(prior=0.2)[known].double()
    for name, values in (("posterior", inputs), ("similarity", studied.scores[known])):
        pairs = values[true][:, None] - values[~true]
        area = (pairs > 0).double().mean() + (pairs == 0).double().mean() / 2
        assert quality[name]["auc"] == pytest.approx(float(area), abs=1e-4)
    assert quality["posterior"]["brier"] == pytest.approx(float(((inputs - true.double()) ** 2).mean()), abs=1e-6)
    parts = np.array_split(inputs.argsort(stable=True).numpy(), 4)
    gaps = [len(part) * abs(inputs[part].mean() - true[part].double().mean()) for part in parts]
    assert quality["posterior"]["calibration"] == pytest.approx(float(sum(gaps) / len(true)), abs=1e-6)
    assert 0 < quality["posterior"]["precision"] <= 1
    blind = Study(**{**vars(studied), "truth": None})
    refused("ground truth", posterior_quality, blind)
    refused("not annotated are alike", posterior_quality, Study(**{**vars(studied), "truth": studied.truth * 0}))
