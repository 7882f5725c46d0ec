"""How often FNE draws a candidate: rarely what may be a match, and rarely what is plainly none (Eq. 11 to 13)."""

import math
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from itmlab.errors import ItmlabError
from itmlab.samplers.posterior import log_odds
from itmlab.samplers.statistics import Statistics


@dataclass(frozen=True)
class Preset:
    """Where the paper and its released code differ: weight exp(-steepness·P), its threshold λ, and the cut."""

    steepness: float
    threshold: float
    cut: bool  # weight 0 for scores below μ⁺ - margin


PRESETS = {"paper": Preset(1.0, 0.01, False), "released": Preset(0.5, 0.001, True)}


def sampling_weights(
    scores: Float[Tensor, "*anchor candidate"],
    positive_scores: Float[Tensor, "*anchor"],
    statistics: Statistics,
    *,
    prior: float = 1e-4,
    threshold: float | None = None,
    sharpness: float = 0.5,
    margin: float = 0.2,
    preset: str = "paper",
    monotone: bool = True,
) -> Float[Tensor, "*anchor candidate"]:
    """Eq. 13: exp(-P) for a candidate whose posterior P is at least the threshold λ, else exp(-a·(s - s⁺)²).

    `sharpness` is a. The threshold is the preset's unless given; `preset="released"` is the public code's variant
    (exp(-P/2), λ = 0.001, and 0 below μ⁺ - margin). Of positives, masks and rows of zeros this knows nothing.
    """
    chosen = PRESETS.get(preset)
    if chosen is None:
        raise ItmlabError(f"no preset {preset!r} of FNE's weights", remedy=f"choose one of {', '.join(PRESETS)}")
    threshold = chosen.threshold if threshold is None else threshold
    odds = log_odds(scores, statistics, prior=prior, monotone=monotone)
    suspect = odds >= _logit(threshold)
    easy = (scores.to(odds.dtype) - positive_scores.to(odds.dtype)[..., None]).square_().mul_(-sharpness)
    weights = torch.where(suspect, odds.sigmoid_().mul_(-chosen.steepness), easy).exp_()
    if chosen.cut:
        weights.masked_fill_(scores < statistics.positive_mean - margin, 0)
    return weights


def _logit(probability: float) -> float:
    if not 0 <= probability <= 1:
        raise ItmlabError(f"the threshold λ is a probability, not {probability}")
    if probability in (0, 1):
        return -math.inf if probability == 0 else math.inf
    return math.log(probability) - math.log1p(-probability)
