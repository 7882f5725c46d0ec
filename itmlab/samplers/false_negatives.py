"""False negative elimination: negatives drawn by how unlikely they are to match (Li et al. 2023, Sec. 3.2)."""

import math

import torch
from jaxtyping import Bool, Float, Int64
from torch import Tensor

from itmlab.errors import ItmlabError
from itmlab.samplers.base import Sampler, best, draw, usable
from itmlab.samplers.statistics import RunningMoments, Statistics, trusted_scores
from itmlab.samplers.weights import PRESETS, sampling_weights

TRIES = 16  # weights of the paper accept three of four candidates: one anchor in billions needs more


class FalseNegativeEliminating(Sampler):
    """Draws each anchor's negative with the weights of Eq. 13, from statistics that `observe` gathers over an epoch.

    prior: p of Eq. 10. threshold: λ, the preset's (0.01; released 0.001) unless given. sharpness: a. margin: of the
    triplet loss, used by `preset="released"` alone. statistics: the negatives that make μ⁻ and σ⁻, each trusted
    anchor's "hardest" in the batch (as the released code) or "all" of the batch. monotone: see `posterior`.
    Until `minimum_positives` have been seen in the epoch, and for an anchor all of whose weights are 0, it takes the
    hardest negative.
    """

    def __init__(
        self,
        prior: float = 1e-4,
        threshold: float | None = None,
        sharpness: float = 0.5,
        margin: float = 0.2,
        preset: str = "paper",
        statistics: str = "hardest",
        monotone: bool = True,
        minimum_positives: int = 200,
    ):
        if not 0 < prior < 1:
            raise ItmlabError(f"FNE's prior must lie between 0 and 1, not {prior}")
        if threshold is not None and not 0 <= threshold <= 1:
            raise ItmlabError(f"FNE's threshold λ must lie between 0 and 1, not {threshold}")
        if not sharpness >= 0:
            raise ItmlabError(f"FNE's sharpness must not be negative, but is {sharpness}")
        if preset not in PRESETS:
            raise ItmlabError(f"no preset {preset!r} of FNE", remedy=f"choose one of {', '.join(PRESETS)}")
        if statistics not in ("hardest", "all"):
            raise ItmlabError(f"no statistics {statistics!r} of FNE", remedy="choose one of hardest, all")
        if minimum_positives < 1:
            raise ItmlabError(f"FNE needs at least 1 positive before it samples, not {minimum_positives}")
        self.options = {
            "prior": prior,
            "threshold": PRESETS[preset].threshold if threshold is None else threshold,
            "sharpness": sharpness,
            "margin": margin,
            "preset": preset,
            "monotone": monotone,
        }
        self.negatives = statistics
        self.minimum_positives = minimum_positives
        self.positive_moments, self.negative_moments = RunningMoments(), RunningMoments()

    @property
    def ready(self) -> bool:
        """Whether enough positives have been seen in this epoch for the posterior to be used."""
        return self.positive_moments.count >= self.minimum_positives and self.negative_moments.count > 0

    @property
    def statistics(self) -> Statistics:
        """The means and deviations gathered so far in this epoch."""
        positive, negative = self.positive_moments, self.negative_moments
        return Statistics(positive.mean, positive.deviation, negative.mean, negative.deviation)

    def start_epoch(self, epoch: int) -> None:
        """Forgets the statistics: those of an earlier, weaker model would misplace the posterior."""
        self.positive_moments, self.negative_moments = RunningMoments(), RunningMoments()

    def observe(self, scores: Float[Tensor, "anchor candidate"], positives: Bool[Tensor, "anchor candidate"]) -> None:
        """Adds one batch's own scores, in which every anchor's positive is present; rows are the anchors.

        For both directions it is called with the matrix and with its transpose, as the sampler is: a positive that
        counts does so once in each.
        """
        if scores.ndim != 2 or positives.shape != scores.shape:
            raise ItmlabError(
                f"FNE's statistics need scores (anchor, candidate) and positives of the same shape; "
                f"got {tuple(scores.shape)} and {tuple(positives.shape)}"
            )
        if scores.numel() == 0:
            return
        scores = scores.detach()
        matched, hardest = trusted_scores(scores, positives)
        self.positive_moments.add(matched)
        if self.negatives == "hardest":
            self.negative_moments.add(hardest)
        else:
            self.negative_moments.add(scores[~positives & scores.isfinite()])

    def choose(
        self,
        scores: Float[Tensor, "anchor candidate"],
        positives: Bool[Tensor, "anchor candidate"],
        positive_scores: Float[Tensor, "anchor"],
        *,
        generator: torch.Generator,
    ) -> Int64[Tensor, "anchor"]:
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

    def _weights(
        self,
        scores: Float[Tensor, "anchor candidate"],
        positives: Bool[Tensor, "anchor candidate"],
        positive_scores: Float[Tensor, "anchor"],
    ) -> Float[Tensor, "anchor candidate"]:
        """Eq. 13 with 0 for what may not be drawn, and where a NaN made no weight."""
        weights = sampling_weights(scores, positive_scores, self.statistics, **self.options)
        return torch.where((weights > 0) & (scores > -math.inf) & ~positives, weights, 0)

    def _by_rejection(
        self,
        scores: Float[Tensor, "anchor candidate"],
        positives: Bool[Tensor, "anchor candidate"],
        positive_scores: Float[Tensor, "anchor"],
        generator: torch.Generator,
    ) -> Int64[Tensor, "anchor"]:
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

    def state_dict(self) -> dict[str, Tensor]:
        return {"positive": self.positive_moments.to_tensor(), "negative": self.negative_moments.to_tensor()}

    def load_state_dict(self, state: dict[str, Tensor]) -> None:
        if set(state) != {"positive", "negative"} or any(value.shape != (3,) for value in state.values()):
            raise ItmlabError("this is no state of FNE's statistics", remedy="resume with the recipe that wrote it")
        self.positive_moments.from_tensor(state["positive"])
        self.negative_moments.from_tensor(state["negative"])
