"""The probability that an unannotated candidate matches, from its score alone (FNE, Eq. 6 to 9)."""

import math

from jaxtyping import Float
from torch import Tensor

from itmlab.errors import ItmlabError
from itmlab.samplers.statistics import Statistics

SMALLEST_DEVIATION = 1e-6  # scores that are all equal have none; finer than single precision can tell apart near 1
FAR = 1e15  # stands for an infinite score: its square is still finite in single precision


def log_odds(
    scores: Float[Tensor, "*any"], statistics: Statistics, *, prior: float = 1e-4, monotone: bool = True
) -> Float[Tensor, "*any"]:
    """log P/(1-P) of the posterior below; bf16 and fp16 scores are computed in single precision."""
    if not 0 < prior < 1:
        raise ItmlabError(f"the prior of a match must lie between 0 and 1, not {prior}")
    positive, negative = _deviations(statistics)
    lowest, highest = monotone_range(statistics) if monotone else (-math.inf, math.inf)
    precise = scores if scores.dtype.itemsize >= 4 else scores.float()
    # a quadratic about μ⁻, constant + linear·t + square·t², the difference of the two normals' exponents
    gap = statistics.positive_mean - statistics.negative_mean
    constant = math.log(prior) - math.log1p(-prior) + math.log(negative / positive) - gap * gap / (2 * positive**2)
    linear = gap / positive**2
    square = (1 / negative**2 - 1 / positive**2) / 2
    offset = precise.clamp(max(lowest, -FAR), min(highest, FAR)).sub_(statistics.negative_mean)
    return (offset * square).add_(linear).mul_(offset).add_(constant)


def posterior(
    scores: Float[Tensor, "*any"], statistics: Statistics, *, prior: float = 1e-4, monotone: bool = True
) -> Float[Tensor, "*any"]:
    """P(match | s) = p·N(s; μ⁺, σ⁺) / (p·N(s; μ⁺, σ⁺) + (1-p)·N(s; μ⁻, σ⁻)), Eq. 9, in log space.

    Two normals of different deviations make it turn back in a tail: with σ⁺ < σ⁻ it falls again for scores far above
    μ⁺, with σ⁺ > σ⁻ it rises again for scores far below μ⁻. With `monotone` it holds its value beyond the turning
    point (`monotone_range`), and so never falls as the score rises; `monotone=False` is the paper's.
    """
    return log_odds(scores, statistics, prior=prior, monotone=monotone).sigmoid_()


def monotone_range(statistics: Statistics) -> tuple[float, float]:
    """The scores between which the posterior does not fall, (-inf, inf) where it never does.

    The log odds are a parabola whose turning point is where (s-μ⁻)/σ⁻² = (s-μ⁺)/σ⁺². With μ⁺ > μ⁻ it lies above μ⁺
    when σ⁺ < σ⁻, where the rise ends, and below μ⁻ when σ⁺ > σ⁻, where it begins.
    """
    positive, negative = _deviations(statistics)
    gap = statistics.positive_mean - statistics.negative_mean
    if positive == negative:  # a straight line; falling only when matches score lower than non-matches
        return (-math.inf, math.inf) if gap >= 0 else (statistics.negative_mean, statistics.negative_mean)
    # written as distances from the mean beyond which it lies, so that nothing cancels when the deviations are close
    if positive < negative:
        beyond = gap * positive**2 / ((negative - positive) * (negative + positive))
        return -math.inf, statistics.positive_mean + beyond
    beyond = gap * negative**2 / ((positive - negative) * (positive + negative))
    return statistics.negative_mean - beyond, math.inf


def _deviations(statistics: Statistics) -> tuple[float, float]:
    return (
        max(statistics.positive_deviation, SMALLEST_DEVIATION),
        max(statistics.negative_deviation, SMALLEST_DEVIATION),
    )
