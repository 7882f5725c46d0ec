"""What all losses of score matrices share: shapes, precision, and the mean over anchors."""

import torch
from jaxtyping import Bool, Float
from torch import Generator, Tensor

from ..components import Component
from ..context import Context, wants_context
from ..errors import ItmlabError

Scores = Float[Tensor, "anchor candidate"]
Mask = Bool[Tensor, "anchor candidate"]
PerAnchor = Float[Tensor, "anchor"]
Scalar = Float[Tensor, ""]


class Loss(Component):
    """A loss of one direction: scores of anchors with candidates in, one number out. Training adds both directions.

    A subclass is a dataclass and implements `forward`. Its fields are its parameters. One that is also a
    `torch.nn.Module` learns: it calls `torch.nn.Module.__init__` in `__post_init__`, and is a `dataclass(eq=False)`.
    """

    def __call__(
        self, scores: Scores, positives: Mask, positive_scores: PerAnchor, *, context: Context | None = None
    ) -> Scalar:
        """The mean over the anchors that have a negative; 0, with a gradient, where none has.

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
        """The loss of every anchor; what it says of an anchor without a negative is not read.

        Add a parameter `context` to receive the `Context`.
        """
        raise NotImplementedError

    def shared_negatives(self, anchors: Float[Tensor, "anchor dimension"], generator: Generator) -> Tensor | None:
        """Vectors, (number, dimension), that are further negatives of all anchors; None for most losses."""
        return None

    def observe(self, scores: Scores, positives: Mask) -> None:
        """Learn from one batch's own scores, (pair, pair); only losses with statistics do anything here."""

    def start_epoch(self, epoch: int) -> None:
        """Note that an epoch begins."""

    def state_dict(self) -> dict[str, Tensor]:
        """What a checkpoint must hold for an exact resume: plain tensors, such as weights."""
        parent = getattr(super(), "state_dict", dict)
        return parent()

    def load_state_dict(self, state: dict[str, Tensor]) -> None:
        """Restore what `state_dict` returned."""
        if state:
            super().load_state_dict(state)


def mean_of(losses: PerAnchor, allowed: Bool[Tensor, "anchor"]) -> Scalar:
    """The mean over the anchors that are `allowed`; 0, with a gradient, where none is."""
    return torch.where(allowed, losses, 0).sum() / allowed.sum().clamp(min=1)


def upcast(values: Float[Tensor, "*any"]) -> Float[Tensor, "*any"]:
    """bf16 and fp16 values in single precision: their own steps are coarser than a hinge near its corner."""
    return values if values.dtype.itemsize >= 4 else values.float()


def check_shapes(scores: Scores, positives: Mask, positive_scores: PerAnchor) -> None:
    """Raise an ItmlabError unless the three have shapes (anchor, candidate) twice, and (anchor,)."""
    if scores.ndim != 2 or positives.shape != scores.shape or positive_scores.shape != scores.shape[:1]:
        raise ItmlabError(
            f"a loss needs scores (anchor, candidate), positives of the same shape and one positive score per anchor; "
            f"got {tuple(scores.shape)}, {tuple(positives.shape)} and {tuple(positive_scores.shape)}"
        )
