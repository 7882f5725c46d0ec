"""Running mean and deviation of match and non-match scores (FNE, Sec. 3.2)."""

import math
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Float64
from torch import Tensor


@dataclass(frozen=True)
class Statistics:
    """The normal distributions of match (positive) and non-match (negative) scores that FNE's posterior stands on."""

    positive_mean: float
    positive_deviation: float
    negative_mean: float
    negative_deviation: float


class RunningMoments:
    """Count, mean and deviation of all that was added, merged batch by batch without losing digits.

    The sum of squared differences is kept about the mean and merged pairwise (Chan, Golub & LeVeque 1983) in double
    precision: a sum of squares would cancel for scores whose deviation is small beside their mean.
    """

    def __init__(self) -> None:
        self.count, self.mean, self.squares = 0, 0.0, 0.0

    @property
    def deviation(self) -> float:
        """The population deviation, 0 before anything was added."""
        return math.sqrt(self.squares / self.count) if self.count else 0.0

    def add(self, values: Float[Tensor, "value"]) -> None:
        """Merges the values of one batch; there may be none."""
        count = values.numel()
        if not count:
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


def trusted_scores(
    scores: Float[Tensor, "anchor candidate"], positives: Bool[Tensor, "anchor candidate"]
) -> tuple[Float[Tensor, "trusted"], Float[Tensor, "trusted_anchor"]]:
    """The positives that are mutually best, and the hardest negative of each anchor that has such a positive.

    A positive is mutually best when it scores above every non-match of its row and of its column (last lines before
    Eq. 6); other captions of the same image are no non-matches. A row or a column without a negative, and scores that
    are not finite, count for nothing.
    """
    negatives = scores.masked_fill(positives, -math.inf)
    row, column = negatives.amax(dim=1), negatives.amax(dim=0)
    trusted = positives & (scores > row[:, None]) & (scores > column[None, :])
    trusted &= scores.isfinite() & row.isfinite()[:, None] & column.isfinite()[None, :]
    return scores[trusted], row[trusted.any(dim=1)]
