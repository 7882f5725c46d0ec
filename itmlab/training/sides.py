"""One direction of a batch: anchors, the candidates that they share, and candidates that each has for itself."""

from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int64
from torch import Tensor


class Extra(NamedTuple):
    """Candidates of one direction that each anchor has for itself, and which of them there are."""

    features: Float[Tensor, "anchor extra dimension"]
    allowed: Bool[Tensor, "anchor extra"]

    def joined(self, other: "Extra | None") -> "Extra":
        """These, then the other's, if there is one."""
        return self if other is None else Extra(*(torch.cat(both, dim=1) for both in zip(self, other, strict=True)))


class Side(NamedTuple):
    """One direction: anchors, the candidates of all of them, each anchor's match, and candidates of its own.

    Where a model compares parts and not features, `matrix` holds its scores of anchors and candidates, anchor i's match
    being candidate i; then an anchor has no candidates of its own, whose parts nobody knows.
    """

    anchors: Float[Tensor, "anchor dimension"]
    candidates: Float[Tensor, "candidate dimension"]
    matches: Float[Tensor, "anchor dimension"]
    extra: Extra | None = None
    matrix: Float[Tensor, "anchor candidate"] | None = None

    def scores(self) -> Float[Tensor, "anchor candidate"]:
        """Of every anchor with every candidate, its own last."""
        if self.matrix is not None:
            return self.matrix
        scores = self.anchors @ self.candidates.T
        if self.extra is None:
            return scores
        own = torch.einsum("ad,aed->ae", self.anchors, self.extra.features)
        return torch.cat([scores, own], dim=1)

    def masked(self, positives: Bool[Tensor, "anchor candidate"]) -> Bool[Tensor, "anchor candidate"]:
        """`positives` of all candidates, those of an anchor's own that are not there counted among them."""
        return positives if self.extra is None else torch.cat([positives, ~self.extra.allowed], dim=1)

    def positive_scores(self) -> Float[Tensor, "anchor"]:
        """Of each anchor with its match."""
        return (self.anchors * self.matches).sum(-1) if self.matrix is None else self.matrix.diagonal()

    def scores_of(self, columns: Int64[Tensor, "anchor"]) -> Float[Tensor, "anchor"]:
        """Of each anchor with one candidate, a column of `scores`."""
        rows = torch.arange(len(columns), device=columns.device)
        if self.matrix is not None:
            return self.matrix[rows, columns]
        taken, own = self.candidates[columns.clamp(max=len(self.candidates) - 1)], columns - len(self.candidates)
        if self.extra is not None:
            taken = torch.where((own >= 0)[:, None], self.extra.features[rows, own.clamp(min=0)], taken)
        return (self.anchors * taken).sum(-1)
