"""InfoCMR term by term: whose are the shares of its denominator, and with them the gradient."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int64
from numpy import ndarray
from torch import Tensor

from ..losses import gaussian_noise
from ..synthesis import SynHNC
from .kernel_memory import SynthesisBatch

TERMS = ("match", "negatives of the batch", "synthetic negatives", "Gaussian noise")


@dataclass(frozen=True, eq=False)
class Terms:
    """One anchor's terms of Eq. 7, the largest first: cosine, share of the denominator, and what each is of.

    `kind` is one of `TERMS`; `index` is the candidate of the batch, the cluster or the noise vector. The gradient of
    the loss by a negative's score is its share over τ, and by the match's its share less 1, over τ.
    """

    score: Float[ndarray, "term"]
    share: Float[ndarray, "term"]
    kind: list[str]
    index: Int64[ndarray, "term"]
    temperature: float


def terms(
    batch: SynthesisBatch,
    anchor: int,
    synthesis: SynHNC | None = None,
    *,
    temperature: float = 0.05,
    noise: int = 128,
    seed: int = 0,
) -> Terms:
    """Everything that stands in one anchor's denominator."""
    scores, kinds = _terms(batch, synthesis, noise, seed)
    share = (scores[anchor] / temperature).softmax(0)
    order = share.argsort(descending=True, stable=True)
    order = order[scores[anchor][order].isfinite()]
    starts = torch.tensor([int((kinds < kind).sum()) for kind in range(len(TERMS))])
    index = torch.where(kinds[order] == 0, anchor, order - starts[kinds[order]])
    names = [TERMS[kind] for kind in kinds[order].tolist()]
    return Terms(scores[anchor][order].numpy(), share[order].numpy(), names, index.numpy(), temperature)


def term_names(batch: SynthesisBatch, terms: Terms) -> list[str]:
    """What each term is of, in words: a caption or a picture's id, or the number of a cluster or of a noise vector."""
    others = {"synthetic negatives": "synthetic, cluster", "Gaussian noise": "noise vector"}
    return [
        f"{others[kind]} {index + 1}" if kind in others else batch.candidate_name(index)
        for kind, index in zip(terms.kind, terms.index.tolist(), strict=True)
    ]


def shares_by_temperature(
    batch: SynthesisBatch,
    temperatures: Sequence[float],
    synthesis: SynHNC | None = None,
    *,
    noise: int = 128,
    seed: int = 0,
) -> dict[str, Float[ndarray, "temperature"]]:
    """The share of each of `TERMS` in the denominator, mean over the anchors, in percent, at each temperature."""
    scores, kinds = _terms(batch, synthesis, noise, seed)
    rows = []
    for temperature in temperatures:
        share = 100 * (scores / temperature).softmax(1).mean(0)
        rows.append([float(share[kinds == kind].sum()) for kind in range(len(TERMS))])
    return dict(zip(TERMS, np.array(rows).T, strict=True))


def _terms(
    batch: SynthesisBatch, synthesis: SynHNC | None, noise: int, seed: int
) -> tuple[Float[Tensor, "anchor term"], Int64[Tensor, "term"]]:
    """All scores of each anchor, −∞ where there is none, and the kind of each column."""
    generator = torch.Generator().manual_seed(seed)
    made = (synthesis or SynHNC())(batch.anchors, batch.candidates, batch.positives, generator=generator)
    random = gaussian_noise(noise, batch.anchors, generator=generator)
    columns = [
        batch.positive_scores[:, None],
        batch.scores.masked_fill(batch.positives, -torch.inf),
        made.scores(batch.anchors).masked_fill(~made.allowed, -torch.inf),
        batch.anchors @ random.T,
    ]
    kinds = [torch.full((column.shape[1],), kind) for kind, column in enumerate(columns)]
    return torch.cat(columns, dim=1), torch.cat(kinds)
