"""SAM, the semantic adaptive margin: triplets whose margin follows how much less a negative describes the image.

Biten et al. (2022), Eq. 7, puts a margin of its own for every anchor and negative in the place of the triplet's α.
"""

import math
from dataclasses import dataclass
from typing import Literal

from ..components import Component
from ..errors import ItmlabError
from .base import PerAnchor


@dataclass
class SemanticAdaptiveMargin(Component):
    """SAM's triplets beside the recipe's loss, or instead of it.

    Args:
        temperature: τ, by which differences of φ are divided.
        negatives: which negatives these triplets take: the farthest from the anchor ("softest", the paper's SN), the
            "hardest" (HN) or "random" ones (RS).
        with_triplet: whether the recipe's own loss is added (Tables 4 and 5).
        ceiling: the largest margin.
        relevance: φ: "cider" (CIDEr-D, 0 to 10, with the document frequencies of the training captions), "spice" (0 to
            1), or "truth" where the data have a world (1 true, 0 false, 0.5 undecided), which is the control.
        tokenise: how captions become words for CIDEr.
        weight: the weight of these triplets beside the recipe's loss.
        rank: how many negatives are passed over before one is taken; None is the preset's (0, released 1).
        reading: what is subtracted in a margin, as Eq. 7's subscripts are swapped (METHODS 2.5): φ of the "pairs" that
            the hinges hold, φ(G_p, c_m) and φ(G_l, c_p); "corrected" φ(G_p, c_m) and φ(G_p, c_l); as "printed",
            φ(G_p, c_l) and φ(G_p, c_m).
        preset: "released" does what the public code does: its own reading, with "softest" and "hardest" for its `soft`
            and `hard`.

    Raises:
        ItmlabError: a parameter out of its range.

    References:
        Biten et al. (2022), Is an Image Worth Five Sentences?, Eq. 7, Tables 4 and 5.
    """

    temperature: float = 10.0
    negatives: Literal["softest", "hardest", "random"] = "softest"
    with_triplet: bool = True
    ceiling: float = 1.0
    relevance: Literal["cider", "spice", "truth"] = "cider"
    tokenise: Literal["whitespace", "penn"] = "whitespace"
    weight: float = 1.0
    rank: int | None = None
    reading: Literal["pairs", "corrected", "printed"] = "pairs"
    preset: Literal["paper", "released"] = "paper"

    def __post_init__(self) -> None:
        for name in ("temperature", "ceiling", "weight"):
            if not 0 < getattr(self, name) < math.inf:
                raise ItmlabError(f"the {name} of an adaptive margin must be above 0, not {getattr(self, name)}")
        if self.rank is not None and self.rank < 0:
            raise ItmlabError(f"the rank of a negative counts from 0, not {self.rank}")
        if self.preset == "released" and self.reading != "pairs":
            remedy = "leave reading at 'pairs': the released preset has its own"
            raise ItmlabError(f"the released adaptive margin has no reading {self.reading!r}", remedy=remedy)


def adaptive_margin(
    positive_relevance: PerAnchor, negative_relevance: PerAnchor, temperature: float, ceiling: float = 1.0
) -> PerAnchor:
    """(φ⁺ − φ⁻) / τ per anchor, at most `ceiling`: the margin of SAM.

    Args:
        positive_relevance: φ⁺, how well the match's caption describes the anchor's image.
        negative_relevance: φ⁻, the same of the negative. From an image: of the caption taken, to the captions of the
            anchor's image. From a caption: of the anchor itself, to the captions of the image taken. The printed
            subscripts are swapped; for the other readings see METHODS 2.5.
        temperature: τ.
        ceiling: the largest margin. A negative that describes the image better than the match does has a margin below
            0, and keeps it.

    References:
        Biten et al. (2022), SAM, Eq. 7.

    >>> import torch
    >>> adaptive_margin(torch.tensor([3.0, 1.0]), torch.tensor([1.0, 2.0]), temperature=4.0)
    tensor([ 0.5000, -0.2500])
    """
    return ((positive_relevance - negative_relevance) / temperature).clamp(max=ceiling)
