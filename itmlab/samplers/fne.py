"""FNE, false negative elimination: negatives drawn by how unlikely they are to match (Li et al. 2023, Sec. 3.2).

From top to bottom: the posterior that an unannotated candidate matches, as Eq. 9 prints it and in the log space in
which it is computed; the weights by which candidates are drawn (Eq. 11 to 13, and those of the released code); the
statistics that both stand on; the sampler. What the paper leaves open, and the readings here: METHODS 1.
"""

import math
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Annotated, Literal

import torch
from jaxtyping import Bool, Float, Float64
from torch import Generator, Tensor

from ..errors import ItmlabError
from ..fields import Count, Share, Weight
from .base import Choice, Mask, PerAnchor, Sampler, Scores, best, draw, usable

# The probability that an unannotated candidate matches, from its score alone (Eq. 6 to 9).

Values = Float[Tensor, "*any"]  # scores, odds or probabilities of any shape
Number = float | Float64[Tensor, ""]
SMALLEST_DEVIATION = 1e-6  # scores that are all equal have none; finer than single precision can tell apart near 1


@dataclass(frozen=True)
class Statistics:
    """The normal distributions of match (positive) and non-match (negative) scores: μ⁺, σ⁺, μ⁻ and σ⁻ of Eq. 5.

    The values are numbers, or tensors without a dimension where they stay on a GPU.
    """

    positive_mean: Number
    positive_std: Number
    negative_mean: Number
    negative_std: Number

    @cached_property
    def parabola(self) -> list[Float64[Tensor, ""]]:
        """log N(s; μ⁺, σ⁺) / N(s; μ⁻, σ⁻) as constant + linear·t + square·t² of t = s - μ⁻, and μ⁻.

        It is the difference of the two normals' exponents. No density is ever computed, so nothing underflows.
        """
        mean, std, other_mean, other_std = self.tensors
        gap = mean - other_mean
        square = (1 / other_std**2 - 1 / std**2) / 2
        return [(other_std / std).log() - gap * gap / (2 * std**2), gap / std**2, square, other_mean]

    @cached_property
    def tensors(self) -> list[Float64[Tensor, ""]]:
        """μ⁺, σ⁺, μ⁻ and σ⁻ in double precision, the deviations above 0. Those of a GPU stay there."""
        numbers = (getattr(self, field.name) for field in fields(self))
        mean, std, other_mean, other_std = (torch.as_tensor(number, dtype=torch.float64) for number in numbers)
        return [mean, std.clamp(min=SMALLEST_DEVIATION), other_mean, other_std.clamp(min=SMALLEST_DEVIATION)]

    @cached_property
    def rising(self) -> tuple[Float64[Tensor, ""], Float64[Tensor, ""]]:
        """The scores between which the posterior does not fall; infinite where it never does.

        The log odds are a parabola whose turning point is where (s-μ⁻)/σ⁻² = (s-μ⁺)/σ⁺². With μ⁺ > μ⁻ it lies above μ⁺
        when σ⁺ < σ⁻, where the rise ends, and below μ⁻ when σ⁺ > σ⁻, where it begins.

        >>> [limit.item() for limit in Statistics(0.5, 0.125, 0.25, 0.25).rising]
        [-inf, 0.5833333333333334]
        """
        mean, std, other_mean, other_std = self.tensors
        gap, difference = mean - other_mean, (other_std - std) * (other_std + std)  # σ⁻² - σ⁺²; nothing cancels
        lowest = torch.where(difference < 0, other_mean + gap * other_std**2 / difference, -math.inf)
        highest = torch.where(difference > 0, mean + gap * std**2 / difference, math.inf)
        falls = (difference == 0) & (gap < 0)  # a straight line, where matches score lower than non-matches
        return torch.where(falls, other_mean, lowest), torch.where(falls, other_mean, highest)


def posterior_as_printed(scores: Values, statistics: Statistics, *, prior: float = 1e-4) -> Values:
    """P(match | s) = p·N(s; μ⁺, σ⁺) / (p·N(s; μ⁺, σ⁺) + (1-p)·N(s; μ⁻, σ⁻)): Eq. 9, word for word.

    It is for reading, and for testing `posterior`: far from both means the two densities underflow, and this is 0/0.
    """
    match = prior * _normal(scores, statistics.positive_mean, statistics.positive_std)
    other = (1 - prior) * _normal(scores, statistics.negative_mean, statistics.negative_std)
    return match / (match + other)


def _normal(scores: Values, mean: float, std: float) -> Values:
    """N(s; μ, σ), Eq. 5."""
    return torch.exp(-((scores - mean) ** 2) / (2 * std**2)) / (std * math.sqrt(2 * math.pi))


def posterior(scores: Values, statistics: Statistics, *, prior: float = 1e-4, monotone: bool = True) -> Values:
    """Eq. 9, computed in log space: the probability that a candidate with this score matches.

    Two normals of different deviations make it turn back in a tail: with σ⁺ < σ⁻ it falls again for scores far above
    μ⁺, with σ⁺ > σ⁻ it rises again for scores far below μ⁻ (METHODS 1.2).

    Args:
        scores: scores of any shape.
        statistics: the distributions of the scores.
        prior: p of Eq. 10, the share of matches among the candidates that are not annotated.
        monotone: whether the posterior holds its value beyond the turning point (`Statistics.rising`), so that it never
            falls as the score rises. False is the paper's equation.

    Raises:
        ItmlabError: the prior is not between 0 and 1.

    References:
        Li et al. (2023), FNE, Eqs. 5 to 10.

    >>> probabilities = posterior(torch.tensor([0.3, 0.6, 0.9]), Statistics(0.6, 0.1, 0.3, 0.1))
    >>> [round(probability, 4) for probability in probabilities.tolist()]
    [0.0, 0.0089, 0.9865]
    """
    return log_odds(scores, statistics, prior=prior, monotone=monotone).sigmoid_()


FAR = 1e15  # stands for an infinite score: its square is still finite in single precision


def log_odds(scores: Values, statistics: Statistics, *, prior: float = 1e-4, monotone: bool = True) -> Values:
    """log P/(1-P) of the posterior above, a parabola in s; bf16 and fp16 scores are computed in single precision."""
    if not 0 < prior < 1:
        raise ItmlabError(f"the prior of a match must lie between 0 and 1, not {prior}")
    precise = scores if scores.dtype.itemsize >= 4 else scores.float()
    constant, linear, square, origin = (number.to(scores.device) for number in statistics.parabola)
    offset = precise.clamp(-FAR, FAR)
    if monotone:
        offset.clamp_(*(limit.to(scores.device) for limit in statistics.rising))
    # the work is done in place on one copy of the matrix, which may be large
    offset.sub_(origin)
    constant = constant + (math.log(prior) - math.log1p(-prior))
    return (offset * square).add_(linear).mul_(offset).add_(constant)


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
    """The weights by which candidates are drawn: exp(-P) where the posterior P is at least λ, else exp(-a·(s - s⁺)²).

    The weights know nothing of positives and masks.

    Args:
        scores: similarity of anchors with candidates.
        positive_scores: s⁺, similarity of each anchor with its match.
        statistics: the distributions of the scores.
        prior: p of Eq. 10.
        threshold: λ; None takes the preset's.
        sharpness: a of Eq. 12.
        margin: how far below μ⁺ the released code still draws candidates.
        preset: "paper", or "released" for the public code's variant: exp(-P/2), λ = 0.001, and weight 0 at or below
            μ⁺ - margin (METHODS 1.5).
        monotone: see `posterior`.

    Raises:
        ItmlabError: a prior that is not a probability.

    References:
        Li et al. (2023), FNE, Eqs. 11 to 13.

    >>> scores, statistics = torch.tensor([[0.2, 0.5, 0.9]]), Statistics(0.6, 0.1, 0.3, 0.1)
    >>> [round(weight, 3) for weight in sampling_weights(scores, torch.tensor([0.6]), statistics)[0].tolist()]
    [0.923, 0.995, 0.373]
    """
    chosen = PRESETS[preset]
    threshold = chosen.threshold if threshold is None else threshold
    odds = log_odds(scores, statistics, prior=prior, monotone=monotone)
    # as P ≥ λ, but where P is rounded to 1 the odds still tell scores apart
    suspect = odds >= torch.tensor(threshold, dtype=torch.float64).logit().item()
    easy = (scores.to(odds.dtype) - positive_scores.to(odds.dtype)[..., None]).square_().mul_(-sharpness)
    weights = torch.where(suspect, odds.sigmoid_().mul_(-chosen.steepness), easy).exp_()
    if chosen.cut:
        weights.masked_fill_(scores <= statistics.positive_mean - margin, 0)
    return weights


# The statistics: which scores of a batch count, and their running mean and deviation. Nothing here is read by the
# processor while a run trains on a GPU, as every look at a number would wait for all the work before it.


def trusted_pairs(
    scores: Float[Tensor, "pair pair"], positives: Bool[Tensor, "pair pair"]
) -> tuple[Bool[Tensor, "pair"], Float[Tensor, "pair"], Float[Tensor, "side pair"]]:
    """Return which pairs of a batch are mutually best, each pair's score, and the hardest negatives of its two sides.

    Row i and column i are of pair i. It is mutually best when it scores above every non-match of both (last lines
    before Eq. 6). Other captions of the same image do not count as non-matches. A pair is not trusted if its row or
    column has no negative, or if one of its scores is not finite.

    >>> trusted_pairs(torch.tensor([[0.9, 0.2], [0.4, 0.3]]), torch.eye(2).bool())[0]
    tensor([ True, False])
    """
    negatives, pair_scores = scores.masked_fill(positives, -math.inf), scores.diagonal()
    hardest = torch.stack([negatives.amax(dim=1), negatives.amax(dim=0)])
    trusted = positives.diagonal() & pair_scores.isfinite() & (hardest.isfinite() & (pair_scores > hardest)).all(dim=0)
    return trusted, pair_scores, hardest


class RunningMoments:
    """Count, mean and deviation of all values that were added, merged batch by batch without losing digits.

    The sum of squared differences is kept about the mean and merged pairwise (Chan, Golub & LeVeque 1983) in double
    precision: a sum of squares would cancel for scores whose deviation is small beside their mean. The numbers stay on
    the device of the values.

    Attributes:
        state: count, mean and sum of squared differences, as a checkpoint holds them.
    """

    def __init__(self, state: Float64[Tensor, "3"] | None = None) -> None:
        self.state = torch.zeros(3, dtype=torch.float64) if state is None else state.clone()

    def tensors(self, device: torch.device) -> list[Float64[Tensor, ""]]:
        """Count, mean and population deviation on a device, without reading them."""
        self.state = self.state.to(device)
        count, mean, squares = self.state.unbind()
        return [count, mean, (squares / count.clamp(min=1)).sqrt()]

    def add(self, values: Float[Tensor, "*value"], counted: Bool[Tensor, "*value"]) -> None:
        """Merge those values of a batch that are `counted`; there may be none."""
        values = values.detach().double()
        count, mean, squares = self.state.to(values.device).unbind()
        new_count = counted.sum()
        new_mean = values.masked_fill(~counted, 0).sum() / new_count.clamp(min=1)
        new_squares = (values - new_mean).masked_fill_(~counted, 0).square_().sum()
        together, difference = count + new_count, new_mean - mean
        share = new_count / together.clamp(min=1)
        squares = squares + new_squares + difference * difference * count * share
        self.state = torch.stack([together, mean + difference * share, squares])


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

    prior: Annotated[float, (lambda prior: 0 < prior < 1, "between 0 and 1")] = 1e-4
    threshold: Share | None = None
    sharpness: Weight = 0.5
    margin: float = 0.2
    preset: Literal["paper", "released"] = "paper"
    negatives: Literal["hardest", "all"] = "hardest"
    monotone: bool = True
    minimum_positives: Count = 200

    def __post_init__(self) -> None:
        super().__post_init__()
        self.start_epoch(0)

    def start_epoch(self, epoch: int) -> None:
        """Forget the statistics: those of an earlier, weaker model would misplace the posterior."""
        self.positive_moments, self.negative_moments = RunningMoments(), RunningMoments()

    @property
    def ready(self) -> bool:
        """Whether enough trusted pairs have been seen in this epoch for the posterior to be used."""
        return bool(self.running(self.positive_moments.state.device)[1])

    @property
    def statistics(self) -> Statistics:
        """The means and deviations gathered so far in this epoch, as numbers."""
        running, _ = self.running(self.positive_moments.state.device)
        return Statistics(*(getattr(running, field.name).item() for field in fields(running)))

    def running(self, device: torch.device) -> tuple[Statistics, Bool[Tensor, ""]]:
        """`statistics` and `ready` as tensors on a device, without waiting for it."""
        count, mean, std = self.positive_moments.tensors(device)
        other_count, other_mean, other_std = self.negative_moments.tensors(device)
        return Statistics(mean, std, other_mean, other_std), (count >= self.minimum_positives) & (other_count > 0)

    def observe(self, scores: Scores, positives: Mask) -> None:
        """Add one batch's own scores, row i and column i of pair i, once for both directions.

        A pair counts once, however many captions of its image are in the batch.
        """
        if scores.numel() == 0:
            return
        scores = scores.detach()
        trusted, pair_scores, hardest = trusted_pairs(scores, positives)
        self.positive_moments.add(pair_scores, trusted)
        if self.negatives == "hardest":
            self.negative_moments.add(hardest, trusted.expand_as(hardest))
        else:
            self.negative_moments.add(scores, ~positives & scores.isfinite())

    def choose(self, scores: Scores, positives: Mask, positive_scores: PerAnchor, *, generator: Generator) -> Choice:
        statistics, ready = self.running(scores.device)
        can_look = may_be_read(scores)  # what a processor need not compute is left out; a GPU computes it all
        if can_look and not ready:
            return best(scores, usable(scores, positives))
        chosen = self._by_rejection(scores, positives, positive_scores, statistics, generator)
        undecided = chosen < 0
        rows = undecided.nonzero().squeeze(1) if can_look else slice(None)
        weights = self._weights(scores[rows], positives[rows], positive_scores[rows], statistics)
        drawn = draw(weights, generator=generator, wanted=None if can_look else undecided)
        hardest = best(scores[rows], usable(scores[rows], positives[rows]))
        drawn = torch.where(drawn < 0, hardest, drawn)
        if can_look:
            return chosen.index_copy(0, rows, drawn)
        return torch.where(ready, torch.where(undecided, drawn, chosen), hardest)

    def _by_rejection(
        self, scores: Scores, positives: Mask, positive_scores: PerAnchor, statistics: Statistics, generator: Generator
    ) -> Choice:
        """The first of some random candidates that is kept with its weight as probability, -1 where none is.

        No weight is above 1 and most are near it, so a few tries nearly always do, and thousands of weights need not be
        computed. What is kept has the distribution of the weights whatever the number of tries, and so has a draw among
        all candidates for the anchors that are left: the two together have it exactly.
        """
        shape, device = (len(scores), TRIES), generator.device
        tries = torch.randint(scores.shape[1], shape, generator=generator, device=device).to(scores.device)
        luck = torch.rand(shape, generator=generator, device=device).to(scores.device)
        weights = self._weights(scores.gather(1, tries), positives.gather(1, tries), positive_scores, statistics)
        accepted = luck < weights
        first = accepted.to(torch.uint8).argmax(dim=1, keepdim=True)
        return tries.gather(1, first).squeeze(1).masked_fill_(~accepted.any(dim=1), -1)

    def _weights(self, scores: Scores, positives: Mask, positive_scores: PerAnchor, statistics: Statistics) -> Scores:
        """Eq. 13 with 0 for what may not be drawn, and where a NaN made no weight."""
        names = ("prior", "threshold", "sharpness", "margin", "preset", "monotone")
        options = {name: getattr(self, name) for name in names}
        weights = sampling_weights(scores, positive_scores, statistics, **options)
        return torch.where((weights > 0) & (scores > -math.inf) & ~positives, weights, 0)

    def state_dict(self) -> dict[str, Tensor]:
        return {"positive": self.positive_moments.state, "negative": self.negative_moments.state}

    def load_state_dict(self, state: dict[str, Tensor]) -> None:
        self.positive_moments = RunningMoments(state["positive"])
        self.negative_moments = RunningMoments(state["negative"])


def may_be_read(values: Tensor) -> bool:
    """Whether the processor can look at values without waiting for another device."""
    return values.device.type == "cpu"
