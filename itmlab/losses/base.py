"""What all losses of score matrices share: shapes, precision, and the mean over anchors."""

import torch
from jaxtyping import Bool, Float
from torch import Generator, Tensor

from ..components import Component
from ..context import Context, wants_context
from ..fields import check_fields
from ..samplers.base import Mask, PerAnchor, Scores, check_shapes

Scalar = Float[Tensor, ""]


class Loss(Component):
    """A loss of one direction: scores of anchors with candidates in, one number out. Training adds both directions.

    A subclass is a dataclass and implements `forward`. Its fields are its parameters. One that is also a
    `torch.nn.Module` learns (see `Component`).
    """

    def __post_init__(self) -> None:
        check_fields(self, "loss")

    def __call__(
        self, scores: Scores, positives: Mask, positive_scores: PerAnchor, *, context: Context | None = None
    ) -> Scalar:
        """Return the mean over the anchors that have a negative; 0, with a gradient, if none has.

        Args:
            scores: similarity of every anchor with every candidate.
            positives: which candidates are not negatives: the anchor's own, and padding.
            positive_scores: similarity of every anchor with its match.
            context: where training stands, for losses that ask.

        Raises:
            ItmlabError: the shapes do not fit.
        """
        check_shapes(scores, positives, positive_scores)
        if scores.shape[1] == 0:
            return positive_scores.sum() * 0
        more = {"context": context or Context()} if wants_context(type(self).forward) else {}
        values = self.forward(upcast(scores), positives, upcast(positive_scores), **more)
        return mean_of(values, ~positives.all(dim=1))

    def forward(self, scores: Scores, positives: Mask, positive_scores: PerAnchor) -> PerAnchor:
        """Return the loss of every anchor; the value of an anchor without a negative is ignored.

        Add a parameter `context` to receive the `Context`.
        """
        raise NotImplementedError

    def shared_negatives(self, anchors: Float[Tensor, "anchor dimension"], generator: Generator) -> Tensor | None:
        """Vectors, (number, dimension), that are further negatives of all anchors; None for most losses."""
        return None


def mean_of(losses: PerAnchor, allowed: Bool[Tensor, "anchor"]) -> Scalar:
    """Return the mean over the anchors that are `allowed`; 0, with a gradient, if none is."""
    return torch.where(allowed, losses, 0).sum() / allowed.sum().clamp(min=1)


def upcast(values: Float[Tensor, "*any"]) -> Float[Tensor, "*any"]:
    """Return bf16 and fp16 values in single precision, as their steps are coarser than a hinge near its corner."""
    return values if values.dtype.itemsize >= 4 else values.float()
