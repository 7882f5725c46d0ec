"""FNE, false negative elimination: negatives drawn by how unlikely they are to match (Li et al. 2023, Sec. 3.2).

From top to bottom: the posterior that an unannotated candidate matches, as Eq. 9 prints it and in the log space in
which it is computed; the weights by which candidates are drawn (Eq. 11 to 13, and those of the released code); the
statistics that both stand on; the sampler. What the paper leaves open, and the readings here: METHODS 1.
"""

import math
from dataclasses import dataclass
from typing import Literal

import torch
from jaxtyping import Bool, Float, Float64
from torch import Generator, Tensor

from ..errors import ItmlabError
from .base import Choice, Mask, PerAnchor, Sampler, Scores, best, draw, usable

# The probability that an unannotated candidate matches, from its score alone (Eq. 6 to 9).

Values = Float[Tensor, "*any"]  # scores, odds or probabilities of any shape


@dataclass(frozen=True)
class Statistics:
    """The normal distributions of match (positive) and non-match (negative) scores, μ⁺, σ⁺, μ⁻ and σ⁻ of Eq. 5."""

    positive_mean: float
    positive_std: float
    negative_mean: float
    negative_std: float


def posterior_as_printed(scores: Values, statistics: Statistics, *, prior: float = 1e-4) -> Values:
    """P(match | s) = p·N(s; μ⁺, σ⁺) / (p·N(s; μ⁺, σ⁺) + (1-p)·N(s; μ⁻, σ⁻)): Eq. 9, word for word.

    To be read, and to test `posterior` by: far from both means the two densities underflow, and this is 0/0.
    """
    match = prior * _normal(scores, statistics.positive_mean, statistics.positive_std)
    other = (1 - prior) * _normal(scores, statistics.negative_mean, statistics.negative_std)
    return match / (match + other)


def _normal(scores: Values, mean: float, std: float) -> Values:
    """N(s; μ, σ), Eq. 5."""
    return torch.exp(-((scores - mean) ** 2) / (2 * std**2)) / (std * math.sqrt(2 * math.pi))


def posterior(scores: Values, statistics: Statistics, *, prior: float = 1e-4, monotone: bool = True) -> Values:
    """Eq. 9 in log space, of scores of any shape; `prior` is p of Eq. 10, the share of matches among the unannotated.

    Two normals of different deviations make it turn back in a tail: with σ⁺ < σ⁻ it falls again for scores far above
    μ⁺, with σ⁺ > σ⁻ it rises again for scores far below μ⁻. With `monotone` it holds its value beyond the turning
    point (`monotone_range`), and so never falls as the score rises; `monotone=False` is the paper's (METHODS 1.2).
    ItmlabError: a prior outside (0, 1).

    >>> [round(each, 4) for each in posterior(torch.tensor([0.3, 0.6, 0.9]), Statistics(0.6, 0.1, 0.3, 0.1)).tolist()]
    [0.0, 0.0089, 0.9865]
    """
    return log_odds(scores, statistics, prior=prior, monotone=monotone).sigmoid_()


SMALLEST_DEVIATION = 1e-6  # scores that are all equal have none; finer than single precision can tell apart near 1
FAR = 1e15  # stands for an infinite score: its square is still finite in single precision


def log_odds(scores: Values, statistics: Statistics, *, prior: float = 1e-4, monotone: bool = True) -> Values:
    """log P/(1-P) of the posterior above, a parabola in s; bf16 and fp16 scores are computed in single precision."""
    if not 0 < prior < 1:
        raise ItmlabError(f"the prior of a match must lie between 0 and 1, not {prior}")
    positive, negative = _stds(statistics)
    lowest, highest = monotone_range(statistics) if monotone else (-math.inf, math.inf)
    precise = scores if scores.dtype.itemsize >= 4 else scores.float()
    # the difference of the two normals' exponents about μ⁻, constant + linear·t + square·t², t = s - μ⁻: no density is
    # ever computed, so nothing underflows, and the work is done in place on one copy of what may be a large matrix
    gap = statistics.positive_mean - statistics.negative_mean
    constant = math.log(prior) - math.log1p(-prior) + math.log(negative / positive) - gap * gap / (2 * positive**2)
    linear = gap / positive**2
    square = (1 / negative**2 - 1 / positive**2) / 2
    offset = precise.clamp(max(lowest, -FAR), min(highest, FAR)).sub_(statistics.negative_mean)
    return (offset * square).add_(linear).mul_(offset).add_(constant)


def monotone_range(statistics: Statistics) -> tuple[float, float]:
    """The scores between which the posterior does not fall, (-inf, inf) where it never does.

    The log odds are a parabola whose turning point is where (s-μ⁻)/σ⁻² = (s-μ⁺)/σ⁺². With μ⁺ > μ⁻ it lies above μ⁺
    when σ⁺ < σ⁻, where the rise ends, and below μ⁻ when σ⁺ > σ⁻, where it begins.

    >>> monotone_range(Statistics(0.5, 0.125, 0.25, 0.25))
    (-inf, 0.5833333333333334)
    """
    positive, negative = _stds(statistics)
    gap = statistics.positive_mean - statistics.negative_mean
    if positive == negative:  # a straight line; falling only when matches score lower than non-matches
        return (-math.inf, math.inf) if gap >= 0 else (statistics.negative_mean, statistics.negative_mean)
    # written as distances from the mean beyond which it lies, so that nothing cancels when the deviations are close
    if positive < negative:
        beyond = gap * positive**2 / ((negative - positive) * (negative + positive))
        return -math.inf, statistics.positive_mean + beyond
    beyond = gap * negative**2 / ((positive - negative) * (positive + negative))
    return statistics.negative_mean - beyond, math.inf


def _stds(statistics: Statistics) -> tuple[float, float]:
    positive, negative = statistics.positive_std, statistics.negative_std
    return max(positive, SMALLEST_DEVIATION), max(negative, SMALLEST_DEVIATION)


# How often a candidate is drawn: rarely what may be a match, and rarely what is plainly none (Eq. 11 to 13).


@dataclass(frozen=True)
class Preset:
    """Where the paper and its released code differ: weight exp(-steepness·P), its threshold λ, and the cut."""

    steepness: float
    threshold: float
    cut: bool  # weight 0 for scores at or below μ⁺ - margin


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
    (exp(-P/2), λ = 0.001, and 0 at or below μ⁺ - margin; METHODS 1.5). Of positives, masks and rows of zeros this knows
    nothing. ItmlabError: another preset, a prior or threshold that is no probability.

    >>> scores, statistics = torch.tensor([[0.2, 0.5, 0.9]]), Statistics(0.6, 0.1, 0.3, 0.1)
    >>> [round(each, 3) for each in sampling_weights(scores, torch.tensor([0.6]), statistics)[0].tolist()]
    [0.923, 0.995, 0.373]
    """
    chosen = PRESETS.get(preset)
    if chosen is None:
        raise ItmlabError(f"no preset {preset!r} of FNE's weights", remedy=f"choose one of {', '.join(PRESETS)}")
    threshold = chosen.threshold if threshold is None else threshold
    if not 0 <= threshold <= 1:
        raise ItmlabError(f"the threshold λ is a probability, not {threshold}")
    odds = log_odds(scores, statistics, prior=prior, monotone=monotone)
    suspect = (
        odds >= torch.tensor(threshold, dtype=torch.float64).logit().item()
    )  # as P ≥ λ, but where P is rounded to 1 the odds still tell scores apart
    easy = (scores.to(odds.dtype) - positive_scores.to(odds.dtype)[..., None]).square_().mul_(-sharpness)
    weights = torch.where(suspect, odds.sigmoid_().mul_(-chosen.steepness), easy).exp_()
    if chosen.cut:
        weights.masked_fill_(scores <= statistics.positive_mean - margin, 0)
    return weights


# The statistics: which scores of a batch count, and their running mean and deviation.


def trusted_scores(
    scores: Float[Tensor, "pair pair"], positives: Bool[Tensor, "pair pair"]
) -> tuple[Float[Tensor, "trusted"], Float[Tensor, "side trusted"]]:
    """The pairs of a batch that are mutually best, and the hardest negative of their row's and their column's side.

    Row i and column i are of pair i, which is mutually best when it scores above every non-match of both (last lines
    before Eq. 6); other captions of the same image are no non-matches. A pair whose row or column has no negative, and
    scores that are not finite, count for nothing.

    >>> trusted_scores(torch.tensor([[0.9, 0.2], [0.4, 0.3]]), torch.eye(2).bool())
    (tensor([0.9000]), tensor([[0.2000],
            [0.4000]]))
    """
    negatives, own = scores.masked_fill(positives, -math.inf), scores.diagonal()
    hardest = torch.stack([negatives.amax(dim=1), negatives.amax(dim=0)])
    trusted = positives.diagonal() & own.isfinite() & (hardest.isfinite() & (own > hardest)).all(dim=0)
    return own[trusted], hardest[:, trusted]


class RunningMoments:
    """Count, mean and deviation of all that was added, merged batch by batch without losing digits.

    The sum of squared differences is kept about the mean and merged pairwise (Chan, Golub & LeVeque 1983) in double
    precision: a sum of squares would cancel for scores whose deviation is small beside their mean.
    """

    def __init__(self) -> None:
        self.count, self.mean, self.squares = 0, 0.0, 0.0

    @property
    def std(self) -> float:
        """The population deviation, 0 before anything was added."""
        return math.sqrt(self.squares / self.count) if self.count else 0.0

    def add(self, values: Float[Tensor, "value"]) -> None:
        """Merges the values of one batch; there may be none."""
        if not (count := values.numel()):
            return
        values = values.detach().cpu().double()
        mean = values.mean().item()
        squares = (values - mean).square_().sum().item()
        together = self.count + count
        difference = mean - self.mean
        self.mean += difference * count / together
        self.squares += squares + difference * difference * self.count * count / together
        self.count = together

    def to_tensor(self) -> Float64[Tensor, "3"]:
        """The moments as a checkpoint holds them."""
        return torch.tensor([self.count, self.mean, self.squares], dtype=torch.float64)

    def from_tensor(self, moments: Float64[Tensor, "3"]) -> None:
        """Takes back what `to_tensor` gave."""
        count, self.mean, self.squares = moments.tolist()
        self.count = int(count)


TRIES = 16  # weights of the paper accept three of four candidates: one anchor in billions needs more


@dataclass
class FalseNegativeEliminating(Sampler):
    """Draws each anchor's negative with the weights of Eq. 13, from statistics that `observe` gathers over an epoch.

    Until `minimum_positives` trusted pairs have been seen in the epoch, and for an anchor all of whose weights are 0,
    it takes the hardest negative.

    Args:
        prior: p of Eq. 10.
        threshold: λ; None takes the preset's (0.01, released 0.001).
        sharpness: a of Eq. 12.
        margin: how far below μ⁺ candidates are still drawn; only `preset="released"` uses it. The authors' code takes
            the triplet loss's margin. A sampler owns its parameters, so give it the same number as the loss.
        preset: "paper" (the weights as printed) or "released" (the authors' code, METHODS 1.5).
        negatives: which negatives make μ⁻ and σ⁻: the "hardest" of each trusted pair's image and caption, as in the
            released code, or "all" of the batch.
        monotone: see `posterior`.
        minimum_positives: trusted pairs that an epoch must have shown before negatives are drawn.

    Raises:
        ItmlabError: a parameter out of its range.

    References:
        Li et al. (2023), FNE, Eqs. 5 to 13.

    >>> sampler, scores = FalseNegativeEliminating(minimum_positives=3), torch.eye(3) + 0.1
    >>> sampler.observe(scores, torch.eye(3).bool())
    >>> sampler.ready, round(sampler.statistics.positive_mean, 3)
    (True, 1.1)
    """

    prior: float = 1e-4
    threshold: float | None = None
    sharpness: float = 0.5
    margin: float = 0.2
    preset: Literal["paper", "released"] = "paper"
    negatives: Literal["hardest", "all"] = "hardest"
    monotone: bool = True
    minimum_positives: int = 200

    def __post_init__(self) -> None:
        if not 0 < self.prior < 1:
            raise ItmlabError(f"FNE's prior must lie between 0 and 1, not {self.prior}")
        if self.threshold is not None and not 0 <= self.threshold <= 1:
            raise ItmlabError(f"FNE's threshold λ must lie between 0 and 1, not {self.threshold}")
        if not self.sharpness >= 0:
            raise ItmlabError(f"FNE's sharpness must not be negative, but is {self.sharpness}")
        if self.preset not in PRESETS:
            raise ItmlabError(f"no preset {self.preset!r} of FNE", remedy=f"choose one of {', '.join(PRESETS)}")
        if self.negatives not in ("hardest", "all"):
            raise ItmlabError(f"no negatives {self.negatives!r} of FNE", remedy="choose one of hardest, all")
        if self.minimum_positives < 1:
            raise ItmlabError(f"FNE needs at least 1 positive before it samples, not {self.minimum_positives}")
        self.positive_moments = RunningMoments()
        self.negative_moments = RunningMoments()

    @property
    def ready(self) -> bool:
        """Whether enough trusted pairs have been seen in this epoch for the posterior to be used."""
        return self.positive_moments.count >= self.minimum_positives and self.negative_moments.count > 0

    @property
    def statistics(self) -> Statistics:
        """The means and deviations gathered so far in this epoch."""
        positive, negative = self.positive_moments, self.negative_moments
        return Statistics(positive.mean, positive.std, negative.mean, negative.std)

    def start_epoch(self, epoch: int) -> None:
        """Forgets the statistics: those of an earlier, weaker model would misplace the posterior."""
        self.positive_moments, self.negative_moments = RunningMoments(), RunningMoments()

    def observe(self, scores: Scores, positives: Mask) -> None:
        """Adds one batch's own scores, row i and column i of pair i, once for both directions.

        A pair counts once, however many captions of its image are in the batch.
        """
        if scores.numel() == 0:
            return
        scores, positives = scores.detach().cpu(), positives.cpu()  # small: a GPU is waited for here, and no more
        matched, hardest = trusted_scores(scores, positives)
        self.positive_moments.add(matched)
        for side in hardest if self.negatives == "hardest" else (scores[~positives & scores.isfinite()],):
            self.negative_moments.add(side)

    def choose(self, scores: Scores, positives: Mask, positive_scores: PerAnchor, *, generator: Generator) -> Choice:
        if not self.ready:
            return best(scores, usable(scores, positives))
        chosen = self._by_rejection(scores, positives, positive_scores, generator)
        rest = (chosen < 0).nonzero().squeeze(1)
        if len(rest):
            scores, positives = scores[rest], positives[rest]
            drawn = draw(self._weights(scores, positives, positive_scores[rest]), generator=generator)
            if (drawn < 0).any():
                drawn = torch.where(drawn < 0, best(scores, usable(scores, positives)), drawn)
            chosen[rest] = drawn
        return chosen

    def _by_rejection(
        self, scores: Scores, positives: Mask, positive_scores: PerAnchor, generator: Generator
    ) -> Choice:
        """The first of some random candidates that is kept with its weight as probability, -1 where none is.

        No weight is above 1 and most are near it, so a few tries nearly always do, and thousands of weights need not be
        computed. What is kept has the distribution of the weights whatever the number of tries, and so has a draw among
        all candidates for the anchors that are left: the two together have it exactly.
        """
        shape, device = (len(scores), TRIES), generator.device
        tries = torch.randint(scores.shape[1], shape, generator=generator, device=device).to(scores.device)
        luck = torch.rand(shape, generator=generator, device=device).to(scores.device)
        kept = luck < self._weights(scores.gather(1, tries), positives.gather(1, tries), positive_scores)
        first = kept.to(torch.uint8).argmax(dim=1, keepdim=True)
        return tries.gather(1, first).squeeze(1).masked_fill_(~kept.any(dim=1), -1)

    def _weights(self, scores: Scores, positives: Mask, positive_scores: PerAnchor) -> Scores:
        """Eq. 13 with 0 for what may not be drawn, and where a NaN made no weight."""
        weights = sampling_weights(
            scores,
            positive_scores,
            self.statistics,
            prior=self.prior,
            threshold=self.threshold,
            sharpness=self.sharpness,
            margin=self.margin,
            preset=self.preset,
            monotone=self.monotone,
        )
        return torch.where((weights > 0) & (scores > -math.inf) & ~positives, weights, 0)

    def state_dict(self) -> dict[str, Tensor]:
        return {"positive": self.positive_moments.to_tensor(), "negative": self.negative_moments.to_tensor()}

    def load_state_dict(self, state: dict[str, Tensor]) -> None:
        if set(state) != {"positive", "negative"} or any(value.shape != (3,) for value in state.values()):
            raise ItmlabError("this is no state of FNE's statistics", remedy="resume with the recipe that wrote it")
        self.positive_moments.from_tensor(state["positive"])
        self.negative_moments.from_tensor(state["negative"])
