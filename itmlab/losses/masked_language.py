"""TAGS-DC's masked language model: what stood under the mask, told from the picture and the other words."""

from jaxtyping import Float, Int
from torch import Tensor

from itmlab.losses.token_likelihood import token_likelihood


def masked_language(
    logits: Float[Tensor, "row piece vocabulary"] | Float[Tensor, "labelled vocabulary"],
    labels: Int[Tensor, "row piece"],
) -> Float[Tensor, ""]:
    """NLL of the hidden pieces, mean over them all (TAGS-DC, Eq. 1).

    `labels` are the pieces that were hidden, -100 everywhere else, as `mask_pieces` gives them. The logits may be of
    the hidden positions only (see `token_likelihood`).
    """
    return token_likelihood(logits, labels)
