"""Which negative to take among those there are: tensors in, indices out."""

from itmlab.samplers.base import Sampler
from itmlab.samplers.false_negatives import FalseNegativeEliminating
from itmlab.samplers.hardest import Hardest
from itmlab.samplers.memory import MomentumMemory, Pool
from itmlab.samplers.mined import hardest_negatives, mined_negatives, random_negatives
from itmlab.samplers.posterior import log_odds, monotone_range, posterior
from itmlab.samplers.random import Random
from itmlab.samplers.retrieved import Retrieved
from itmlab.samplers.semi_hard import SemiHard
from itmlab.samplers.softest import Softest
from itmlab.samplers.statistics import RunningMoments, Statistics
from itmlab.samplers.weights import PRESETS, Preset, sampling_weights

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
