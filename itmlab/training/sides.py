"""One direction of a batch: anchors, the candidates that they share, and candidates that each has for itself."""

from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int64
from torch import Tensor


class Extra(NamedTuple):
    """Candidates of one direction that each anchor has for itself, and which of them there are."""

    features: Float[Tensor, "anchor extra dimension"]
    allowed: Bool[Tensor, "anchor extra"]


class Side(NamedTuple):
    """One direction: anchors, the candidates of all of them, each anchor's match, and candidates of its own."""

    anchors: Float[Tensor, "anchor dimension"]
    candidates: Float[Tensor, "candidate dimension"]
    matches: Float[Tensor, "anchor dimension"]
    extra: Extra | None = None

    def scores(self) -> Float[Tensor, "anchor candidate"]:
        """Of every anchor with every candidate, its own last."""
        scores = self.anchors @ self.candidates.T
        if self.extra is None:
            return scores
        own = torch.einsum("ad,aed->ae", self.anchors, self.extra.features)
        return torch.cat([scores, own], dim=1)

    def masked(self, positives: Bool[Tensor, "anchor candidate"]) -> Bool[Tensor, "anchor candidate"]:
        """`positives` of all candidates, those of an anchor's own that are not there counted among them."""
        return positives if self.extra is None else torch.cat([positives, ~self.extra.allowed], dim=1)

    def scores_of(self, columns: Int64[Tensor, "anchor"]) -> Float[Tensor, "anchor"]:
        """Of each anchor with one candidate, a column of `scores`."""
        taken = self.candidates[columns.clamp(max=len(self.candidates) - 1)]
        if self.extra is not None:
            own = columns - len(self.candidates)
            rows = torch.arange(len(columns), device=columns.device)
            taken = torch.where((own >= 0)[:, None], self.extra.features[rows, own.clamp(min=0)], taken)
        return (self.anchors * taken).sum(-1)
