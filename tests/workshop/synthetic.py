"""A study of invented scores, so that explorers can be tried without a trained model."""

import torch
from workshop.analysis.false_negatives import Study

from itmlab.samplers import FalseNegativeEliminating
from itmlab.samplers.fne import trusted_pairs
from tests.workshop.small_world import small_set


def synthetic_study(count: int = 64) -> Study:
    """Squares whose true pairs score higher than false ones, and annotated pairs highest."""
    data = small_set(count)
    positives, truth = data.positives, data.world.truth()
    noise = torch.randn(positives.shape, generator=torch.Generator().manual_seed(0))
    scores = (0.2 + 0.2 * (truth == 1) + 0.3 * positives + 0.07 * noise).clamp(-1, 1)
    sampler = FalseNegativeEliminating(minimum_positives=1)
    diagonal = scores[:, ::2]
    sampler.observe(diagonal, torch.eye(count, dtype=torch.bool))
    trusted, own, of_sides = trusted_pairs(diagonal, torch.eye(count, dtype=torch.bool))
    matched, hardest = own[trusted], of_sides[:, trusted]
    return Study(data, scores, positives, truth, sampler, matched.numpy(), hardest.flatten().numpy())
