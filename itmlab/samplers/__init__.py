"""Which negative to take among those there are: tensors in, indices out."""

from .base import Sampler
from .basic import Hardest, Random, SemiHard, Softest
from .fne import (
    PRESETS,
    FalseNegativeEliminating,
    Preset,
    RunningMoments,
    Statistics,
    log_odds,
    monotone_range,
    posterior,
    sampling_weights,
)
from .queue import MomentumMemory, Pool
from .retrieved import Retrieved, hardest_negatives, mined_negatives, random_negatives

__all__ = [
    "PRESETS",
    "FalseNegativeEliminating",
    "Hardest",
    "MomentumMemory",
    "Pool",
    "Preset",
    "Random",
    "Retrieved",
    "RunningMoments",
    "Sampler",
    "SemiHard",
    "Softest",
    "Statistics",
    "hardest_negatives",
    "log_odds",
    "mined_negatives",
    "monotone_range",
    "posterior",
    "random_negatives",
    "sampling_weights",
]
