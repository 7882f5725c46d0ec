"""How relevant the captions of a data set are to its images, for the measures that ask (SAM, Sec. 3)."""

from typing import Literal

from jaxtyping import Float
from torch import Tensor

from ..data.captionset import CaptionSet
from ..errors import ItmlabError
from .fields import did_you_mean

Kind = Literal["cider", "spice"]


def relevance_matrix(data: CaptionSet, kind: Kind = "cider") -> Float[Tensor, "caption image"]:
    """CIDEr-D (document frequencies of `data`) or SPICE of every caption of `data` to the captions of every image.

    An image without captions, and another kind, are an ItmlabError.
    """
    references = [[data.captions[row] for row in own.tolist()] for own in data.captions_of_image]
    if kind == "cider":
        from ..metrics import cider_matrix

        return cider_matrix(data.captions, references)
    if kind == "spice":
        from ..metrics.spice import spice_matrix

        return spice_matrix(data.captions, references)
    raise ItmlabError(f"no relevance {kind!r}", remedy=did_you_mean(kind, ("cider", "spice")))
