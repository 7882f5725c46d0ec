"""Other answers to false negatives from the literature, each a few lines beside the four papers' methods."""

import math
from dataclasses import dataclass
from typing import Annotated

import torch
from torch import Tensor
from torch.nn.functional import softplus

from ..fields import BELOW_1, Count, Positive, Weight
from ..samplers.fne import FalseNegativeEliminating, posterior
from .base import Loss, Mask, PerAnchor, Scores
from .contrastive import InfoNCE

Part = Annotated[float, (lambda share: 0 < share <= 1, "above 0, at most 1")]


@dataclass
class DebiasedInfoNCE(InfoNCE):
    """InfoNCE whose sum of negatives is corrected for the share of false ones.

    With N negatives the mean of exp(s⁻/τ) is replaced by g = (mean − τ⁺·exp(s⁺/τ)) / (1 − τ⁺), at least exp(−1/τ).

    Args:
        temperature: τ.
        prior: τ⁺, the probability that a random candidate matches.

    References:
        Chuang et al. (2020), Debiased Contrastive Learning, Eqs. 7 and 8, with one positive (M = 1).
    """

    prior: Annotated[float, BELOW_1] = 0.01

    def forward(self, scores: Scores, positives: Mask, positive_scores: PerAnchor) -> PerAnchor:
        """−log exp(s⁺/τ) / (exp(s⁺/τ) + N·g) per anchor."""
        # all exponentials relative to the match's, so that none overflows
        ratios = ((scores - positive_scores[:, None]) / self.temperature).masked_fill(positives, -math.inf).exp()
        count = (~positives).sum(dim=1)
        mean = ratios.sum(dim=1) / count.clamp(min=1)
        floor = ((-1 - positive_scores) / self.temperature).exp()
        corrected = torch.maximum((mean - self.prior) / (1 - self.prior), floor)
        return torch.log1p(count * corrected)


@dataclass
class HardNegativeNCE(InfoNCE):
    """HN-NCE: InfoNCE that weighs every negative by its own hardness.

    The weights of an anchor's N negatives are N·softmax(β·s⁻/τ), so that β = 0 with α = 1 is InfoNCE.

    Args:
        temperature: τ.
        alpha: α, the weight of the match in the denominator, above 0 and at most 1.
        beta: β, how much harder negatives count more.

    References:
        Radenovic et al. (2023), Filtering, Distillation, and Hard Negatives (DiHT), Sec. 3.3.
    """

    alpha: Part = 1.0
    beta: Weight = 0.25

    def forward(self, scores: Scores, positives: Mask, positive_scores: PerAnchor) -> PerAnchor:
        """−log exp(s⁺/τ) / (α·exp(s⁺/τ) + Σ w·exp(s⁻/τ)) per anchor."""
        match = positive_scores[:, None] / self.temperature
        # an anchor without negatives would have a softmax of nothing: it takes all, and its loss is not read
        none = positives.all(dim=1, keepdim=True)
        barred = positives & ~none
        negatives = (scores / self.temperature).masked_fill(barred, -math.inf)
        hardness = (self.beta * scores / self.temperature).masked_fill(barred, -math.inf)
        count = (~positives).sum(dim=1, keepdim=True).clamp(min=1)
        log_weights = torch.log_softmax(hardness, dim=1) + count.log()
        log_weights = log_weights.masked_fill(barred, 0)
        terms = torch.cat([match + math.log(self.alpha), negatives + log_weights], dim=1)
        return terms.logsumexp(dim=1) - match.squeeze(1)


@dataclass
class SigmoidLoss(Loss):
    """SigLIP's loss: every pair is judged by itself, match or not, without a softmax over the batch.

    Args:
        scale: t, by which similarities are multiplied.
        bias: b, added to every logit; the paper starts both at 10 and −10 and learns them, here they are fixed.

    References:
        Zhai et al. (2023), Sigmoid Loss for Language Image Pre-Training, Algorithm 1.
    """

    scale: Positive = 10.0
    bias: float = -10.0

    def forward(self, scores: Scores, positives: Mask, positive_scores: PerAnchor) -> PerAnchor:
        """−log σ(t·s⁺ + b) − Σ log σ(−t·s⁻ − b) per anchor."""
        match = softplus(-(self.scale * positive_scores + self.bias))
        negatives = (self.scale * scores + self.bias).masked_fill(positives, -math.inf)
        return match + softplus(negatives).sum(dim=1)


@dataclass
class RelabellingInfoNCE(InfoNCE):
    """InfoNCE where candidates that probably match count as positives: FNE's posterior used to relabel.

    Args:
        temperature: τ.
        prior: p of FNE's Eq. 10.
        threshold: candidates with at least this posterior become positives.
        minimum_positives: how many trusted pairs an epoch must have shown before anything is relabelled.

    References:
        The posterior: Li et al. (2023), FNE, Eq. 9. The sum over positives: Khosla et al. (2020), Eq. 3 (L_in).
    """

    prior: float = 1e-3
    threshold: Part = 0.5
    minimum_positives: Count = 200

    def __post_init__(self) -> None:
        super().__post_init__()
        # FNE's sampler keeps the statistics of the epoch; nothing is drawn with it
        self.estimate = FalseNegativeEliminating(self.prior, minimum_positives=self.minimum_positives)

    def forward(self, scores: Scores, positives: Mask, positive_scores: PerAnchor) -> PerAnchor:
        """−log of the share of the match and of the relabelled candidates, per anchor."""
        relabelled = self.relabelled(scores.detach()) & ~positives
        match = positive_scores[:, None] / self.temperature
        others = (scores / self.temperature).masked_fill(positives, -math.inf)
        numerator = torch.cat([match, others.masked_fill(~relabelled, -math.inf)], dim=1)
        return torch.cat([match, others], dim=1).logsumexp(dim=1) - numerator.logsumexp(dim=1)

    def relabelled(self, scores: Scores) -> Mask:
        """Which candidates probably match; none before enough trusted pairs have been seen in the epoch."""
        statistics, ready = self.estimate.running(scores.device)
        return ready & (posterior(scores, statistics, prior=self.prior) >= self.threshold)

    def observe(self, scores: Scores, positives: Mask) -> None:
        """Add the scores of one batch to the statistics of the epoch."""
        self.estimate.observe(scores, positives)

    def start_epoch(self, epoch: int) -> None:
        """Forget the statistics, which belong to an epoch."""
        self.estimate.start_epoch(epoch)

    def state_dict(self) -> dict[str, Tensor]:
        """The statistics."""
        return self.estimate.state_dict()

    def load_state_dict(self, state: dict[str, Tensor]) -> None:
        """Restore the statistics."""
        self.estimate.load_state_dict(state)
