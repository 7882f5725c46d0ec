"""What every loss needs of its inputs."""

from jaxtyping import Bool, Float
from torch import Tensor

from itmlab.errors import ItmlabError


def precise(values: Float[Tensor, "*any"]) -> Float[Tensor, "*any"]:
    """bf16 and fp16 values in single precision: their own steps are coarser than a hinge near its corner."""
    return values if values.dtype.itemsize >= 4 else values.float()


def check_shapes(
    scores: Float[Tensor, "anchor candidate"],
    positives: Bool[Tensor, "anchor candidate"],
    positive_scores: Float[Tensor, "anchor"],
) -> None:
    """ItmlabError unless the three fit each other."""
    if scores.ndim != 2 or positives.shape != scores.shape or positive_scores.shape != scores.shape[:1]:
        raise ItmlabError(
            f"a loss needs scores (anchor, candidate), positives of the same shape and one positive score an anchor; "
            f"got {tuple(scores.shape)}, {tuple(positives.shape)} and {tuple(positive_scores.shape)}"
        )
