"""A batch for synthesis whose features are known: a few groups of unit vectors, one caption a picture."""

import torch
from workshop.analysis.kernel_memory import SynthesisBatch

from tests.synthesis.test_synhnc import features
from tests.workshop.small_world import small_set


def small_batch(pairs=16, world=True) -> SynthesisBatch:
    """Sixteen squares; what the world says of them is that they match where their colours do."""
    data = small_set(pairs)
    images, captions = torch.arange(pairs), 2 * torch.arange(pairs)
    truth = data.world.truth()[images][:, captions] if world else None
    sides = [features(pairs, 8, seed=seed, dtype=torch.float32) for seed in (1, 0)]
    return SynthesisBatch(data, images, captions, *sides, torch.eye(pairs, dtype=torch.bool), truth)
