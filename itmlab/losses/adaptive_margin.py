"""SAM's margin: how much better the match describes the image than the negative does, instead of a constant."""

import math

from jaxtyping import Float
from torch import Tensor

from itmlab.errors import ItmlabError


def adaptive_margin(
    positive_relevance: Float[Tensor, "anchor"],
    negative_relevance: Float[Tensor, "anchor"],
    temperature: float,
    ceiling: float = 1.0,
) -> Float[Tensor, "anchor"]:
    """(φ⁺ - φ⁻) / τ of each anchor, at most `ceiling` (SAM, Eq. 7): the margin that `sampled_triplet` takes.

    φ⁺ is the relevance of the anchor's match and φ⁻ that of its negative. From an image: of the caption taken, to the
    captions G of the anchor's image. From a caption: of the anchor itself, to the captions of the image taken. The
    printed subscripts of Eq. 7 are swapped; see `methods.md` 2.5. A margin is below 0 where the negative describes the
    image better than the match does, and stays so.
    """
    if positive_relevance.shape != negative_relevance.shape or positive_relevance.ndim != 1:
        raise ItmlabError(
            f"an adaptive margin needs two relevances an anchor; got {tuple(positive_relevance.shape)} and "
            f"{tuple(negative_relevance.shape)}"
        )
    if not 0 < temperature < math.inf:
        raise ItmlabError(f"the temperature of an adaptive margin must be above 0, not {temperature}")
    return ((positive_relevance - negative_relevance) / temperature).clamp(max=ceiling)
