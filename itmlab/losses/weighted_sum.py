"""TAGS-DC's five losses as one."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace

from jaxtyping import Float
from torch import Tensor

from itmlab.errors import ItmlabError


@dataclass(frozen=True)
class LossWeights:
    """λ of Eq. 10; a loss of weight 0 is switched off and need not be computed.

    The default is the paper's for Flickr30K, base size, stage NSGDC; `matching_only()` is the baseline UNITER, and
    `without_words()` its stage NSG.
    """

    retrieved: float = 1.0
    masked_language: float = 0.1
    synthetic: float = 1e-3
    discrimination: float = 1e-3
    correction: float = 1e-3

    def __post_init__(self) -> None:
        for name, weight in self.named().items():
            if not 0 <= weight < math.inf:
                raise ItmlabError(f"the loss weight {name} must be 0 or above, not {weight}")

    def named(self) -> dict[str, float]:
        """Every weight by its loss's name."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @property
    def wanted(self) -> tuple[str, ...]:
        """The losses that must be computed."""
        return tuple(name for name, weight in self.named().items() if weight)

    def without_words(self) -> "LossWeights":
        """Stage NSG: no word discrimination and no word correction."""
        return replace(self, discrimination=0.0, correction=0.0)

    def matching_only(self) -> "LossWeights":
        """Retrieved negatives alone."""
        return LossWeights(self.retrieved, 0.0, 0.0, 0.0, 0.0)


# The appendix's table for stage NSGDC; its λ_ITM is Eq. 10's λ_IRTM. NSG is the same `without_words()`.
PAPER_WEIGHTS: Mapping[tuple[str, str], LossWeights] = {
    ("flickr30k", "base"): LossWeights(1.0, 1e-1, 1e-3, 1e-3, 1e-3),
    ("flickr30k", "large"): LossWeights(1.0, 1e-1, 5e-4, 5e-4, 5e-4),
    ("coco", "base"): LossWeights(1.0, 5e-2, 1e-4, 5e-4, 5e-4),
    ("coco", "large"): LossWeights(1.0, 5e-2, 5e-4, 5e-4, 5e-4),
}


def weighted_sum(losses: Mapping[str, Float[Tensor, ""]], weights: LossWeights) -> Float[Tensor, ""]:
    """Σ λ·L over the losses that are switched on (TAGS-DC, Eq. 10).

    A loss of weight 0 may be missing and is not read (0 times NaN is NaN). ItmlabError: one that is wanted is missing,
    one is unknown, all are switched off.
    """
    known = weights.named()
    if unknown := sorted(set(losses) - set(known)):
        raise ItmlabError(f"no loss is called {', '.join(unknown)}", remedy=f"there are {', '.join(known)}")
    if missing := [name for name in weights.wanted if name not in losses]:
        raise ItmlabError(f"no value for the losses {', '.join(missing)}", remedy="compute them or give weight 0")
    if not weights.wanted:
        raise ItmlabError("all losses are switched off", remedy="give one of them a weight above 0")
    return sum(known[name] * losses[name] for name in weights.wanted)
